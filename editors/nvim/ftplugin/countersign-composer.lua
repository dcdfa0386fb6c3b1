-- Where the person writes to a conversation.
if vim.b.did_ftplugin then
  return
end
vim.b.did_ftplugin = true

local buf = vim.api.nvim_get_current_buf()
vim.bo[buf].omnifunc = "v:lua.require'countersign.complete'.omnifunc"
vim.bo[buf].completefunc = "v:lua.require'countersign.complete'.omnifunc"
vim.bo[buf].textwidth = 0

require('countersign.look').windows(buf, {
  wrap = true,
  linebreak = true,
  number = false,
  relativenumber = false,
  signcolumn = 'no',
  foldcolumn = '0',
  winfixheight = true,
  fillchars = 'eob: ',
  statusline = " %{v:lua.require'countersign.context'.label()}%=:w sends · @file · /prompt · !command ",
})
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

require('countersign.look').keys(buf, {
  { 'n', '<CR>', 'send', 'Send' },
  { 'i', '<C-s>', 'send', 'Send' },
  { { 'n', 'i' }, '<M-q>', 'queue', 'Send after the running turn' },
  { { 'n', 'i' }, '<M-Up>', 'history-prev', 'What you typed before' },
  { { 'n', 'i' }, '<M-Down>', 'history-next', 'What you typed after' },
  { 'n', '<C-c>', 'stop', 'Stop the running turn' },
})
