-- The buffer of a conversation: Markdown, folded by hand of the plugin, not to be written in.
if vim.b.did_ftplugin then
  return
end
vim.b.did_ftplugin = true

local buf = vim.api.nvim_get_current_buf()
vim.treesitter.language.register('markdown', 'countersign')
if not pcall(vim.treesitter.start, buf, 'markdown') then
  vim.bo[buf].syntax = 'markdown'
end

local function windows()
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local options = {
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
    }
    for name, value in pairs(options) do
      vim.api.nvim_set_option_value(name, value, { win = win, scope = 'local' })
    end
  end
end
windows()
vim.api.nvim_create_autocmd('BufWinEnter', {
  buffer = buf,
  callback = function()
    windows()
    require('countersign.chat').entered(buf)
  end,
})
vim.api.nvim_create_autocmd('BufEnter', {
  buffer = buf,
  callback = function()
    require('countersign.chat').entered(buf)
  end,
})

if require('countersign.config').get().maps and not vim.g.no_plugin_maps then
  local function map(keys, plug, desc)
    vim.keymap.set('n', keys, ('<Plug>(countersign-%s)'):format(plug), { buffer = buf, remap = true, desc = desc })
  end
  map('i', 'compose', 'Write to the conversation')
  map('a', 'compose', 'Write to the conversation')
  map('<CR>', 'act', 'Open what is under the cursor')
  map(']]', 'next-turn', 'Next message')
  map('[[', 'prev-turn', 'Previous message')
  map('<C-c>', 'stop', 'Stop the running turn')
end
