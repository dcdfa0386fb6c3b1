--- Which file the person means where they are: the one in the buffer, or the one under the cursor of a list of files.
local M = {}

--- By the filetype of the list. Each asks the plugin whose list it is.
local lists = {
  oil = function()
    local oil = require('oil')
    local entry = oil.get_cursor_entry()
    return entry and oil.get_current_dir() .. entry.name
  end,
  NvimTree = function()
    local node = require('nvim-tree.api').tree.get_node_under_cursor()
    return node and node.absolute_path
  end,
  minifiles = function()
    local entry = require('mini.files').get_fs_entry()
    return entry and entry.path
  end,
  netrw = function()
    return vim.b.netrw_curdir .. '/' .. vim.fn.expand('<cfile>')
  end,
}

---@return string? path
function M.path()
  local list = lists[vim.bo.filetype]
  if list then
    local good, path = pcall(list)
    return good and path or nil
  end
  local name = vim.api.nvim_buf_get_name(0)
  return vim.bo.buftype == '' and name ~= '' and name or nil
end

return M
