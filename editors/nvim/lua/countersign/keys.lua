--- Whether the keys are the person's: nothing of ours that takes them comes while they type.
local config = require('countersign.config')

local M = {}

--- Between two looks (ms).
local PACE = 150

--- How long somebody needs to see something and to press a key for it (ms).
local REACTION = 250

local last_key = 0
---@type { from: integer, to: integer } The last command line: when it was opened, and when it was left.
local line = { from = 0, to = 0 }

local group = vim.api.nvim_create_augroup('countersign.keys', {})
vim.api.nvim_create_autocmd('CmdlineEnter', {
  group = group,
  callback = function()
    line.from = vim.uv.now()
  end,
})
vim.api.nvim_create_autocmd('CmdlineLeave', {
  group = group,
  callback = function()
    line.to = vim.uv.now()
  end,
})

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
  return vim.api.nvim_win_get_config(0).relative == '' or require('countersign.chat.place').is_float(0)
end

--- Whether they are free and have rested for a while.
---@return boolean
function M.are_still()
  return M.are_free() and vim.uv.now() - last_key >= config.get().questions.pause
end

--- Whether a command that is carried out now can mean what came at a time: it was there to be seen before the command was
--- typed, or its key pressed.
---@param came integer As of `vim.uv.now`.
---@return boolean
function M.can_mean(came)
  local now = vim.uv.now()
  local begun = now - line.to < 50 and line.from or now
  return came <= begun - REACTION
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
