--- The editor's own intelligence as tools of the model: declared with each conversation, carried out through the language
--- servers that run here. None changes anything: a rename is a proposal of the conversation. What the person keeps from the
--- model is shown by none of them.
local config = require('countersign.config')
local events = require('countersign.events')

local M = {}

--- Characters of an answer; the rest is counted.
local MOST = 20000

local function position(more)
  local properties = {
    path = { type = 'string', description = 'The file, absolute or from the folder of the conversation.' },
    line = { type = 'integer', minimum = 1, description = 'The line, from 1.' },
    symbol = { type = 'string', description = 'The name on that line which is meant; its first occurrence counts.' },
  }
  local required = { 'path', 'line', 'symbol' }
  for name, property in pairs(more or {}) do
    properties[name] = property
    required[#required + 1] = name
  end
  return { type = 'object', properties = properties, required = required, additionalProperties = false }
end

---@type table<string, { switch: string, spec: table, changes?: boolean }>
local tools = {
  editor_diagnostics = {
    switch = 'diagnostics',
    spec = {
      description = "The problems that the person's editor shows now, by language servers and linters, unsaved text included: of one file, or of all open ones.",
      inputSchema = {
        type = 'object',
        properties = { path = { type = 'string', description = 'Only of this file.' } },
        additionalProperties = false,
      },
    },
  },
  editor_definition = {
    switch = 'definition',
    spec = { description = 'Where a name is defined, by the language server of its file. More exact than a text search.', inputSchema = position() },
  },
  editor_references = {
    switch = 'references',
    spec = { description = 'Every place where a name is used, by the language server of its file. More exact than a text search.', inputSchema = position() },
  },
  editor_hover = {
    switch = 'hover',
    spec = { description = 'Type and documentation of a name, by the language server of its file.', inputSchema = position() },
  },
  editor_symbols = {
    switch = 'symbols',
    spec = {
      description = 'The outline of one file (path), or the names of the whole workspace that match (query), by the language servers. Give one of the two.',
      inputSchema = {
        type = 'object',
        properties = {
          path = { type = 'string', description = 'The file whose outline is wanted.' },
          query = { type = 'string', description = 'Letters of a name that is looked for in the whole workspace.' },
        },
        additionalProperties = false,
      },
    },
  },
  editor_rename = {
    switch = 'rename',
    changes = true,
    spec = {
      description = 'Renames something everywhere, by the language server of its file. The person is asked about the change like about any patch of yours; the answer says what they took.',
      inputSchema = position({ newName = { type = 'string', description = 'The new name.' } }),
    },
  },
}

--- What is declared with a conversation: the tools that the person has not switched off.
---@return table[]
function M.specs()
  local list, switches = {}, config.get().tools
  for name, tool in pairs(tools) do
    if switches[tool.switch] then
      list[#list + 1] = vim.tbl_extend('force', { name = name, readOnly = not tool.changes }, tool.spec)
    end
  end
  table.sort(list, function(a, b)
    return a.name < b.name
  end)
  return list
end

local function result(text, success, paths)
  if #text > MOST then
    local cut = text:sub(1, MOST):match('^(.*)\n') or text:sub(1, MOST)
    text = ('%s\n… and %d characters more; ask for less.'):format(cut, #text - #cut)
  end
  return { contentItems = { { type = 'inputText', text = text, paths = paths and #paths > 0 and paths or nil } }, success = success }
end

---@type table<string, countersign.ToolCall> Those that run, by the id of their item.
local running = {}

--- Answers `tool/call`. Runs in a coroutine, so that a language server can be waited for.
---@param params table
---@param id integer
---@return table
function M.call(params, id)
  local tool = tools[params.tool]
  if not tool then
    return result(('There is no tool %s in this editor.'):format(params.tool), false)
  end
  if not config.get().tools[tool.switch] then
    return result(('The person has switched %s off.'):format(params.tool), false)
  end
  local arguments = type(params.arguments) == 'table' and params.arguments or {}
  local lsp = require('countersign.tools.lsp')
  local thread = require('countersign.threads').get(params.threadId)
  local cwd = thread and thread.cwd ~= '' and thread.cwd or vim.uv.cwd() or '/'
  local call = lsp.begin(params.threadId, params.turnId, id)
  running[params.callId] = call
  local good, text, patch = pcall(require('countersign.tools.' .. tool.switch).run, arguments, cwd)
  running[params.callId] = nil
  local paths = lsp.told()
  lsp.finish()
  if good then
    local answer = result(text, true, paths)
    if patch then
      table.insert(answer.contentItems, { type = 'patch', patch = patch })
    end
    return answer
  end
  -- A table is a reason in words; a text is a fault with its place.
  return result(type(text) == 'table' and text.reason or ('The editor could not do this: ' .. tostring(text)), false, paths)
end

-- A call that the server has taken back: Neovim does not tell which request a `$/cancelRequest` means, but the server tells at
-- once that the call's item, or its turn, is over.
events.on('changed', function(data)
  if data.kind == 'item/completed' and running[data.params.item.id] then
    running[data.params.item.id].cancel()
  elseif data.kind == 'turn/completed' then
    for _, call in pairs(running) do
      if call.turn == data.params.turn.id then
        call.cancel()
      end
    end
  end
end)

events.on('lost', function(data)
  for _, call in pairs(running) do
    if call.client == data.client then
      call.cancel()
    end
  end
end)

return M
