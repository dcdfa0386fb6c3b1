--- `:Countersign` and its sub-commands.
local client = require('countersign.client')

local M = {}

---@class countersign.Call
---@field words string What stands behind the sub-command.
---@field range? { [1]: integer, [2]: integer }
---@field bang boolean

---@class countersign.Command
---@field desc string
---@field run fun(call: countersign.Call)
---@field complete? string[]|fun(): string[]
---@field composer? boolean Also after a slash in the composer.
---@field range? boolean

---@type table<string, countersign.Command>
M.list = {}
for _, room in ipairs({ 'talk', 'changes', 'threads', 'account' }) do
  M.list = vim.tbl_extend('error', M.list, require('countersign.commands.' .. room))
end

--- Runs a sub-command.
---@param name string
---@param words string
---@param range? { [1]: integer, [2]: integer }
---@param bang? boolean
function M.run(name, words, range, bang)
  local command = M.list[name]
  if not command then
    local near = vim.tbl_filter(function(one)
      return vim.startswith(one, name)
    end, M.names())
    if #near == 1 then
      command = M.list[near[1]]
    else
      return client.tell(('there is no sub-command %s. There are: %s.'):format(name, table.concat(#near > 0 and near or M.names(), ', ')), vim.log.levels.ERROR)
    end
  end
  command.run({ words = vim.trim(words or ''), range = command.range and range or nil, bang = bang or false })
end

---@return string[]
function M.names()
  local names = vim.tbl_keys(M.list)
  table.sort(names)
  return names
end

--- Takes `:Countersign …`; without a sub-command it opens the chat.
---@param given vim.api.keyset.create_user_command.command_args
function M.command(given)
  local name, words = given.args:match('^(%S*)%s*(.*)$')
  local range = given.range > 0 and { given.line1, given.line2 } or nil
  -- The mark may stand behind either word.
  local plain = name:gsub('!$', '')
  M.run(plain == '' and 'chat' or plain, words, range, given.bang or plain ~= name)
end

--- Completes `:Countersign …`.
---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local words = line:gsub("^.-Countersign!?%s+", '', 1)
  local name = words:match('^(%S+)%s')
  local offered
  if not name then
    offered = M.names()
  else
    local command = M.list[name]
    local complete = command and command.complete
    if complete == 'file' then
      return vim.fn.getcompletion(lead, 'file')
    end
    offered = type(complete) == 'function' and complete() or complete or {}
  end
  return vim.tbl_filter(function(one)
    return vim.startswith(one, lead)
  end, offered)
end

--- Whether a word after a slash in the composer is one of ours.
---@param name string
---@return boolean
function M.from_composer(name)
  return M.list[name] ~= nil and M.list[name].composer == true
end

--- The sub-commands for the composer, by name.
---@return { name: string, desc: string }[]
function M.for_composer()
  local list = {}
  for _, name in ipairs(M.names()) do
    if M.list[name].composer then
      list[#list + 1] = { name = name, desc = M.list[name].desc }
    end
  end
  return list
end

return M
