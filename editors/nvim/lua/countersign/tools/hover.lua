--- Type and documentation of a name.
local lsp = require('countersign.tools.lsp')

local M = {}

--- Whether a name is defined in a file that is kept from the model: what is said of it stands there.
---@return boolean
local function is_kept(clients, params, buf)
  local able = vim.tbl_filter(function(one)
    return lsp.able(one, 'textDocument/definition', buf)
  end, clients)
  local paths = {}
  for _, answer in ipairs(lsp.ask(able, 'textDocument/definition', params, buf)) do
    local list = answer.result
    if list.uri or list.targetUri then
      list = { list }
    end
    for _, place in ipairs(list) do
      paths[#paths + 1] = lsp.path_of_uri(place.uri or place.targetUri)
    end
  end
  local reasons = lsp.kept(paths)
  for _, path in ipairs(paths) do
    if reasons[path] then
      return true
    end
    lsp.tells(path)
  end
  return false
end

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
  if #parts > 0 and is_kept(clients, params, buf) then
    lsp.refuse(('%s is defined in a file that the person keeps from you.'):format(arguments.symbol))
  end
  return #parts > 0 and table.concat(parts, '\n\n') or ('The language server says nothing of %s.'):format(arguments.symbol)
end

return M
