--- The problems that the editor shows.
local lsp = require('countersign.tools.lsp')

local M = {}

local names = { 'error', 'warning', 'information', 'hint' }

---@param arguments table
---@param cwd string
---@return string
function M.run(arguments, cwd)
  local buf
  if arguments.path ~= nil and arguments.path ~= vim.NIL then
    buf = lsp.buffer(arguments.path, cwd)
    -- A file that was loaded just now is looked at by its language server first.
    lsp.wait(1500, function()
      return #vim.diagnostic.get(buf) > 0
    end)
  end
  local found = vim.tbl_filter(function(one)
    return not vim.startswith(one.source or '', 'countersign')
  end, vim.diagnostic.get(buf))
  found = lsp.readable(found, function(one)
    return vim.api.nvim_buf_get_name(one.bufnr)
  end)
  table.sort(found, function(a, b)
    if a.bufnr ~= b.bufnr then
      return a.bufnr < b.bufnr
    end
    return a.lnum < b.lnum
  end)
  local lines = {}
  for _, one in ipairs(found) do
    local path = lsp.short(vim.api.nvim_buf_get_name(one.bufnr), cwd)
    local from = one.source and (' [%s%s]'):format(one.source, one.code and ' ' .. tostring(one.code) or '') or ''
    lines[#lines + 1] = ('%s:%d:%d: %s: %s%s'):format(path, one.lnum + 1, one.col + 1, names[one.severity] or 'problem', one.message:gsub('%s+', ' '), from)
  end
  return #lines > 0 and table.concat(lines, '\n') or 'The editor shows no problems.'
end

return M
