--- Type and documentation of a name.
local lsp = require('countersign.tools.lsp')

local M = {}

---@param arguments table
---@param cwd string
---@return string
function M.run(arguments, cwd)
  local buf, params = lsp.position(arguments, cwd)
  local clients = lsp.clients(buf, 'textDocument/hover')
  local parts = {}
  for _, answer in ipairs(lsp.ask(clients, 'textDocument/hover', params, buf)) do
    local text = answer.result.contents and table.concat(vim.lsp.util.convert_input_to_markdown_lines(answer.result.contents), '\n') or ''
    if vim.trim(text) ~= '' then
      parts[#parts + 1] = vim.trim(text)
    end
  end
  return #parts > 0 and table.concat(parts, '\n\n') or ('The language server says nothing of %s.'):format(arguments.symbol)
end

return M
