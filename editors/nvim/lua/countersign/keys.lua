--- Whether the keys are the person's: nothing of ours that takes them comes while they type.
local config = require('countersign.config')

local M = {}

--- Between two looks (ms).
local PACE = 150

local last_key = 0

vim.on_key(function(_, typed)
  -- Keys of mappings and of the plugin itself do not count.
  if typed == nil or typed ~= '' then
    last_key = vim.uv.now()
  end
end, vim.api.nvim_create_namespace('countersign.keys'))

--- Whether the next key would be a command, of nobody else's window or picker.
---@return boolean
function M.are_free()
  local mode = vim.api.nvim_get_mode()
  if mode.blocking or mode.mode ~= 'n' or vim.fn.getcmdwintype() ~= '' or vim.fn.pumvisible() == 1 then
    return false
  end
  return vim.api.nvim_win_get_config(0).relative == ''
end

--- Whether they are free and have rested for a while.
---@return boolean
function M.are_still()
  return M.are_free() and vim.uv.now() - last_key >= config.get().questions.pause
end

--- Does something as soon as `look` says that it may, if it is still wanted then.
---@param look fun(): boolean
---@param wanted fun(): boolean
---@param deed fun()
function M.when(look, wanted, deed)
  if not wanted() then
    return
  end
  if look() then
    return deed()
  end
  vim.defer_fn(function()
    M.when(look, wanted, deed)
  end, PACE)
end

return M
