-- The buffer of a conversation: Markdown, folded by hand of the plugin, not to be written in.
if vim.b.did_ftplugin then
  return
end
vim.b.did_ftplugin = true

local buf = vim.api.nvim_get_current_buf()
-- Its colors are painted by the plugin (`chat/paint.lua`): a parser of the whole buffer would read all of it for each word that comes.
if not pcall(vim.treesitter.get_string_parser, '', 'markdown') then
  vim.bo[buf].syntax = 'markdown'
end

local function entered()
  require('countersign.chat').entered(buf)
end
require('countersign.look').windows(buf, {
  wrap = true,
  linebreak = true,
  breakindent = true,
  number = false,
  relativenumber = false,
  signcolumn = 'no',
  foldcolumn = '0',
  foldmethod = 'manual',
  foldenable = true,
  foldtext = "v:lua.require'countersign.chat'.foldtext()",
  fillchars = 'fold: ,eob: ',
  spell = false,
  list = false,
  conceallevel = 2,
  concealcursor = 'nc',
  winfixwidth = true,
  statusline = ' Countersign%=%l/%L ',
}, entered)
vim.api.nvim_create_autocmd('BufEnter', { buffer = buf, callback = entered })

require('countersign.look').keys(buf, {
  { 'n', 'i', 'compose', 'Write to the conversation' },
  { 'n', 'a', 'compose', 'Write to the conversation' },
  { 'n', '<CR>', 'act', 'Open what is under the cursor' },
  { 'n', ']]', 'next-turn', 'Next message' },
  { 'n', '[[', 'prev-turn', 'Previous message' },
  { 'n', '<C-c>', 'stop', 'Stop the running turn' },
})
