--- The outline of a file, or names of the whole workspace.
local lsp = require('countersign.tools.lsp')

local M = {}

local function kind(number)
  return (vim.lsp.protocol.SymbolKind[number] or 'symbol'):lower()
end

local function outline(symbols, depth, lines)
  for _, symbol in ipairs(symbols) do
    local range = symbol.range or (symbol.location or {}).range
    local span = range and (' %d-%d'):format(range.start.line + 1, range['end'].line + 1) or ''
    lines[#lines + 1] = ('%s%s %s%s'):format(('  '):rep(depth), kind(symbol.kind), symbol.name, span)
    outline(symbol.children or {}, depth + 1, lines)
  end
  return lines
end

local function of_workspace(query, cwd)
  local clients = lsp.clients(nil, 'workspace/symbol')
  local symbols = {}
  local answers = lsp.ask(clients, 'workspace/symbol', function()
    return { query = query }
  end, vim.api.nvim_get_current_buf())
  for _, answer in ipairs(answers) do
    vim.list_extend(symbols, answer.result)
  end
  symbols = lsp.readable(symbols, function(symbol)
    return lsp.path_of_uri(symbol.location.uri)
  end)
  return vim.tbl_map(function(symbol)
    local range, uri = symbol.location.range, symbol.location.uri
    local path = lsp.short(lsp.path_of_uri(uri) or uri, cwd)
    return ('%s%s: %s %s'):format(path, range and ':' .. (range.start.line + 1) or '', kind(symbol.kind), symbol.name)
  end, symbols)
end

---@param arguments table
---@param cwd string
---@return string
function M.run(arguments, cwd)
  local lines
  if type(arguments.query) == 'string' and arguments.query ~= '' then
    lines = of_workspace(arguments.query, cwd)
  elseif type(arguments.path) == 'string' then
    local buf = lsp.buffer(arguments.path, cwd)
    local clients = lsp.clients(buf, 'textDocument/documentSymbol')
    local answers = lsp.ask(clients, 'textDocument/documentSymbol', function()
      return { textDocument = { uri = vim.uri_from_bufnr(buf) } }
    end, buf)
    lines = {}
    for _, answer in ipairs(answers) do
      outline(answer.result, 0, lines)
    end
  else
    lsp.refuse('Give path, for the outline of a file, or query, for names of the workspace.')
  end
  return #lines > 0 and table.concat(lines, '\n') or 'The language server knows no such names.'
end

return M
