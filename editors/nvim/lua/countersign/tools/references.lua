--- Where a name is used.
local lsp = require('countersign.tools.lsp')

local M = {}

---@param arguments table
---@param cwd string
---@return string
function M.run(arguments, cwd)
  local buf, params = lsp.position(arguments, cwd)
  local clients = lsp.clients(buf, 'textDocument/references')
  local answers = lsp.ask(clients, 'textDocument/references', function(one)
    return vim.tbl_extend('force', params(one), { context = { includeDeclaration = true } })
  end, buf)
  local lines = lsp.places(answers, cwd)
  return #lines > 0 and table.concat(lines, '\n') or ('The language server knows no place where %s is used.'):format(arguments.symbol)
end

return M
