--- How the plugin's own buffers look in their windows, and their keys, for the files in ftplugin/.
local M = {}

--- Gives each window that shows the buffer, now or later, these options; there and for this buffer only.
---@param buf integer
---@param options table<string, any>
---@param shown? fun() Each time that a window begins to show it.
function M.windows(buf, options, shown)
  local function apply()
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      for name, value in pairs(options) do
        vim.api.nvim_set_option_value(name, value, { win = win, scope = 'local' })
      end
    end
  end
  apply()
  vim.api.nvim_create_autocmd('BufWinEnter', {
    buffer = buf,
    callback = function()
      apply()
      if shown then
        shown()
      end
    end,
  })
end

--- Binds keys of the buffer to <Plug> maps, unless the person wants none.
---@param buf integer
---@param maps { [1]: string|string[], [2]: string, [3]: string, [4]: string }[] Modes, keys, map, description.
function M.keys(buf, maps)
  if not require('countersign.config').get().maps or vim.g.no_plugin_maps then
    return
  end
  for _, map in ipairs(maps) do
    vim.keymap.set(map[1], map[2], ('<Plug>(countersign-%s)'):format(map[3]), { buffer = buf, remap = true, desc = map[4] })
  end
end

return M
