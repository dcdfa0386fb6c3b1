-- The command, the <Plug> maps and what must be heard before anything else is loaded. All else is loaded when it is used.
if vim.g.loaded_countersign or vim.fn.has('nvim-0.10') == 0 then
  return
end
vim.g.loaded_countersign = true

vim.api.nvim_create_user_command('Countersign', function(given)
  require('countersign.commands').command(given)
end, {
  nargs = '*',
  range = true,
  bang = true,
  desc = 'Talk to the agent, decide on its changes',
  complete = function(lead, line)
    return require('countersign.commands').complete(lead, line)
  end,
})

-- <Plug>(countersign-NAME) for each of these; bind what you like.
for _, name in ipairs({ 'chat', 'toggle', 'new', 'stop', 'answer', 'diff', 'inline', 'hunks', 'next', 'prev', 'edit', 'threads', 'undo', 'changes', 'files', 'add', 'setup', 'send', 'queue', 'resume', 'model', 'mode' }) do
  vim.keymap.set('n', ('<Plug>(countersign-%s)'):format(name), ('<Cmd>Countersign %s<CR>'):format(name), { desc = 'Countersign: ' .. name })
end
for _, scope in ipairs({ 'hunk', 'file', 'all' }) do
  for _, decision in ipairs({ 'accept', 'reject', 'reset' }) do
    vim.keymap.set('n', ('<Plug>(countersign-%s-%s)'):format(decision, scope), ('<Cmd>Countersign %s %s<CR>'):format(decision, scope), { desc = ('Countersign: %s %s'):format(decision, scope) })
  end
end
vim.keymap.set('n', '<Plug>(countersign-reject-with-words)', '<Cmd>Countersign! reject<CR>', { desc = 'Countersign: reject with comment' })
for _, name in ipairs({ 'ask', 'fix', 'rewrite', 'actions' }) do
  vim.keymap.set({ 'n', 'x' }, ('<Plug>(countersign-%s)'):format(name), (':Countersign %s<CR>'):format(name), { silent = true, desc = 'Countersign: ' .. name })
end
vim.keymap.set('i', '<Plug>(countersign-send)', '<Cmd>Countersign send<CR>', { desc = 'Countersign: send' })
vim.keymap.set('i', '<Plug>(countersign-queue)', '<Cmd>Countersign queue<CR>', { desc = 'Countersign: queue' })
vim.keymap.set({ 'n', 'i' }, '<Plug>(countersign-history-prev)', function()
  require('countersign.composer').history(1)
end, { desc = 'Countersign: what was typed before' })
vim.keymap.set({ 'n', 'i' }, '<Plug>(countersign-history-next)', function()
  require('countersign.composer').history(-1)
end, { desc = 'Countersign: what was typed after' })
vim.keymap.set('n', '<Plug>(countersign-compose)', function()
  local id = require('countersign.chat').thread_of(vim.api.nvim_get_current_buf())
  if id then
    require('countersign.composer').open(id)
  end
end, { desc = 'Countersign: write to the conversation' })
vim.keymap.set('n', '<Plug>(countersign-next-turn)', function()
  require('countersign.chat.window').move(1)
end, { desc = 'Countersign: next message' })
vim.keymap.set('n', '<Plug>(countersign-prev-turn)', function()
  require('countersign.chat.window').move(-1)
end, { desc = 'Countersign: previous message' })
vim.keymap.set('n', '<Plug>(countersign-act)', function()
  require('countersign.chat.window').act()
end, { desc = 'Countersign: open what is under the cursor' })

require('countersign.colors').define()

local group = vim.api.nvim_create_augroup('countersign', {})
vim.api.nvim_create_autocmd('ColorScheme', {
  group = group,
  callback = function()
    require('countersign.colors').define()
  end,
})

--- Brings a conversation back into a buffer that has its name.
local function bring_back(buf)
  local id = vim.api.nvim_buf_get_name(buf):match('^countersign://thread/(.+)$')
  if id then
    require('countersign.chat').buffer(id, buf)
    require('countersign.chat').resume(id)
  end
  local composer = vim.api.nvim_buf_get_name(buf):match('^countersign://composer/(.+)$')
  if composer then
    require('countersign.composer').buffer(composer)
  end
end

vim.api.nvim_create_autocmd('BufReadCmd', {
  group = group,
  pattern = { 'countersign://thread/*', 'countersign://composer/*' },
  callback = function(event)
    bring_back(event.buf)
  end,
})
-- A session holds the windows with their buffers' names; what was in them is the server's.
vim.api.nvim_create_autocmd('SessionLoadPost', {
  group = group,
  callback = function()
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      if vim.api.nvim_buf_get_name(buf):match('^countersign://') and #vim.fn.win_findbuf(buf) > 0 then
        bring_back(buf)
      end
    end
  end,
})
