-- Commands beside all conversations, and what they print.
local T = ...
local tests = {}

tests['what a command prints is shown without its colors, and what hides in it is written out'] = function()
  T.fresh()
  for _, row in ipairs({
    { { 'one\ntwo\n' }, 'one\ntwo\n' },
    { { 'one\r', '\ntwo' }, 'one\ntwo' },
    { { '\27[31mred\27', '[0', 'm plain' }, 'red plain' },
    { { 'a\226\128\174b\n\tc' }, 'a<U+202E>b\n\tc' },
    { { '\27]0;title' }, '<U+001B>]0;title' },
  }) do
    local _, wire = T.countersign({ ['countersign/command/exec'] = T.later })
    local exec, id = require('countersign.exec'), nil
    exec.run('make')
    T.wait('the command', function()
      for _, one in ipairs(wire) do
        id = one.method == 'countersign/command/exec' and one.params.processId or id
      end
      return id
    end)
    local buf = vim.api.nvim_get_current_buf()
    for _, delta in ipairs(row[1]) do
      exec.output({ processId = id, delta = delta })
    end
    T.equal(table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n'), '$ make\n' .. row[2])
    vim.cmd('bwipeout!')
    T.fresh()
  end
end

return tests
