--- Completion in the composer: files after `@`, prompts and commands after `/`. As 'omnifunc', and by itself while typing.
local client = require('countersign.client')
local config = require('countersign.config')
local threads = require('countersign.threads')

local M = {}

--- How long an asked-for completion may hold the editor up (ms).
local PATIENCE = 800

--- What is being completed before the cursor.
---@param line string Text before the cursor.
---@param first boolean It is the first line.
---@return 'file'|'prompt'|nil kind
---@return integer? from Byte at which the word begins, from 0, its mark included.
---@return string? word Without its mark.
function M.token(line, first)
  local at, word = line:match('()@([^%s@"]*)$')
  if at and (at == 1 or line:sub(at - 1, at - 1):match('[%s%(%[{,;:]')) then
    return 'file', at - 1, word
  end
  if first then
    local name = line:match('^/([%w_-]*)$')
    if name then
      return 'prompt', 0, name
    end
  end
end

local function here()
  local id = require('countersign.chat').thread_of(vim.api.nvim_get_current_buf())
  return id and threads.get(id)
end

local function quoted(path)
  return path:find('%s') and '"' .. path .. '"' or path
end

local function files(result)
  local items = {}
  for _, file in ipairs(result.files) do
    local folder = file.matchType == 'directory'
    items[#items + 1] = { word = '@' .. quoted(file.path .. (folder and '/' or '')), abbr = file.path .. (folder and '/' or ''), kind = folder and 'd' or 'f', icase = 1, dup = 0 }
  end
  return items
end

local marks = { { word = '@selection', menu = 'what you have selected' }, { word = '@diagnostics', menu = 'the problems that the editor shows' } }

local function with_marks(items, word)
  for _, mark in ipairs(marks) do
    if vim.startswith(mark.word, '@' .. word) then
      table.insert(items, word == '' and #items + 1 or 1, mark)
    end
  end
  return items
end

local function prompts(result, word)
  local items = {}
  for _, prompt in ipairs(result.data) do
    if vim.startswith(prompt.name, word) then
      items[#items + 1] = { word = '/' .. prompt.name .. ' ', abbr = '/' .. prompt.name .. ' ' .. prompt.argumentHint, menu = prompt.description or '', info = prompt.content, kind = 'p' }
    end
  end
  for _, command in ipairs(require('countersign.commands').for_composer()) do
    if vim.startswith(command.name, word) then
      items[#items + 1] = { word = '/' .. command.name .. ' ', abbr = '/' .. command.name, menu = command.desc, kind = 'c' }
    end
  end
  return items
end

--- Asks the server for what fits and calls back with completion items.
---@param thread countersign.Thread
---@param kind 'file'|'prompt'
---@param word string
---@param done fun(items: table[])
function M.items(thread, kind, word, done)
  if kind == 'file' then
    if word == '' then
      -- An empty search finds nothing; what is open is what is meant most often.
      local open = {}
      for _, info in ipairs(vim.fn.getbufinfo({ buflisted = 1 })) do
        local path = info.name
        if vim.startswith(path, thread.cwd .. '/') then
          open[#open + 1] = { word = '@' .. quoted(path:sub(#thread.cwd + 2)), kind = 'f', menu = 'open' }
        end
      end
      return done(with_marks(open, ''))
    end
    client.request(thread.client, 'file/search', { query = word, limit = 40, cancellationToken = 'nvim-composer' }, function(result)
      done(with_marks(files(result), word))
    end, function()
      done({})
    end)
  else
    client.request(thread.client, 'prompt/list', { cwd = thread.cwd }, function(result)
      done(prompts(result, word))
    end, function()
      done(prompts({ data = {} }, word))
    end)
  end
end

--- 'omnifunc' and 'completefunc' of the composer.
---@param findstart integer
---@param base string
---@return integer|table
function M.omnifunc(findstart, base)
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  if findstart == 1 then
    local kind, from = M.token(vim.api.nvim_get_current_line():sub(1, column), row == 1)
    return kind and from or -3
  end
  local thread = here()
  local kind = base:sub(1, 1) == '@' and 'file' or 'prompt'
  if not thread then
    return {}
  end
  local found
  M.items(thread, kind, base:sub(2):gsub('^"', ''), function(items)
    found = items
  end)
  vim.wait(PATIENCE, function()
    return found ~= nil
  end, 10)
  return found or {}
end

local round = 0

--- Offers what fits while the person types.
function M.typed()
  local mode = vim.fn.mode()
  if not config.get().chat.autocomplete or mode:sub(1, 1) ~= 'i' then
    return
  end
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local line = vim.api.nvim_get_current_line()
  local kind, from, word = M.token(line:sub(1, column), row == 1)
  local thread = kind and here()
  if not thread then
    return
  end
  round = round + 1
  local mine, buf = round, vim.api.nvim_get_current_buf()
  M.items(thread, kind --[[@as 'file']], word --[[@as string]], function(items)
    vim.schedule(function()
      -- Only where nothing was typed since.
      local now = vim.api.nvim_win_get_cursor(0)
      local same = mine == round and vim.api.nvim_get_current_buf() == buf and now[1] == row and now[2] == column
      if same and vim.fn.mode():sub(1, 1) == 'i' and #items > 0 then
        vim.fn.complete(from + 1, items)
      end
    end)
  end)
end

--- Hears `file/searchUpdated`. The composer asks without `stream`, so only a plugin of the person's own would cause it; what
--- comes is in the autocommand.
function M.search_updated() end

return M
