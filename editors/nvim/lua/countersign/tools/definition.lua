--- Where a name is defined.
local lsp = require('countersign.tools.lsp')

local M = {}

---@param arguments table
---@param cwd string
---@return string
function M.run(arguments, cwd)
  local buf, params = lsp.position(arguments, cwd)
  local clients = lsp.clients(buf, 'textDocument/definition')
  local answers = lsp.ask(clients, 'textDocument/definition', params, buf)
  local lines = lsp.places(answers, cwd)
  return #lines > 0 and table.concat(lines, '\n') or ('The language server knows no place where %s is defined.'):format(arguments.symbol)
end

return M
