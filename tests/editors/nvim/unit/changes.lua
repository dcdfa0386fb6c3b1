-- What the agent changed, as it is looked at.
local T = ...
local tests = {}

tests['the diff of a turn shows what hides in it'] = function()
  T.fresh()
  local id = T.countersign({ ['countersign/turn/diff'] = { turnId = 'u', diff = '--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\r\n+a\226\128\174b\r\n' } })
  require('countersign.threads').adopt({ id = 't', cwd = '/shop', turns = {} }, id)
  require('countersign.commands').run('changes', '')
  T.wait('the diff', function()
    return vim.bo.filetype == 'diff'
  end)
  T.equal(vim.api.nvim_buf_get_lines(0, 0, -1, false), { '--- a/f', '+++ b/f', '@@ -1 +1 @@', '-a', '+a<U+202E>b' })
  vim.cmd('tabclose')
end

return tests
