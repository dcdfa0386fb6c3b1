-- Where the person writes to a conversation.
if vim.b.did_ftplugin then
  return
end
vim.b.did_ftplugin = true

local buf = vim.api.nvim_get_current_buf()
vim.bo[buf].omnifunc = "v:lua.require'countersign.complete'.omnifunc"
vim.bo[buf].completefunc = "v:lua.require'countersign.complete'.omnifunc"
vim.bo[buf].textwidth = 0

local function windows()
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local options = {
      wrap = true,
      linebreak = true,
      number = false,
      relativenumber = false,
      signcolumn = 'no',
      foldcolumn = '0',
      winfixheight = true,
      fillchars = 'eob: ',
      statusline = " %{v:lua.require'countersign.context'.label()}%=:w sends · @file · /prompt · !command ",
    }
    for name, value in pairs(options) do
      vim.api.nvim_set_option_value(name, value, { win = win, scope = 'local' })
    end
  end
end
windows()
vim.api.nvim_create_autocmd('BufWinEnter', { buffer = buf, callback = windows })
-- What is offered while typing must not be put in by itself. The option is the editor's, so it is lent.
local lent
vim.api.nvim_create_autocmd({ 'InsertEnter', 'InsertLeave', 'BufLeave' }, {
  buffer = buf,
  callback = function(event)
    if event.event == 'InsertEnter' then
      lent = lent or vim.o.completeopt
      vim.o.completeopt = 'menuone,noinsert,noselect'
    elseif lent then
      vim.o.completeopt = lent
      lent = nil
    end
  end,
})
vim.api.nvim_create_autocmd('TextChangedI', {
  buffer = buf,
  callback = function()
    require('countersign.complete').typed()
  end,
})

if require('countersign.config').get().maps and not vim.g.no_plugin_maps then
  local function map(modes, keys, plug, desc)
    vim.keymap.set(modes, keys, ('<Plug>(countersign-%s)'):format(plug), { buffer = buf, remap = true, desc = desc })
  end
  map('n', '<CR>', 'send', 'Send')
  map('i', '<C-s>', 'send', 'Send')
  map({ 'n', 'i' }, '<M-q>', 'queue', 'Send after the running turn')
  map({ 'n', 'i' }, '<M-Up>', 'history-prev', 'What you typed before')
  map({ 'n', 'i' }, '<M-Down>', 'history-next', 'What you typed after')
  map('n', '<C-c>', 'stop', 'Stop the running turn')
end
