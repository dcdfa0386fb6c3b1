-- A chat of so many lines ($BENCH_LINES), beside a file, with an answer that streams into it as from the server: 100 deltas a second.
local here = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p')))
vim.opt.runtimepath:prepend(vim.fs.normalize(here .. '/../../../../editors/nvim'))
vim.o.swapfile = false
vim.cmd('filetype plugin on | runtime plugin/countersign.lua')

local threads = require('countersign.threads')
local handlers = require('countersign.handlers').table()
local LINES, THREAD = tonumber(vim.env.BENCH_LINES), '0195c0de-0000-7000-8000-000000000001'

-- One turn in twelve or so lines of prose, code and output, as conversations are.
local turns = {}
for i = 1, math.floor(LINES / 40) do
  local id = 'turn-' .. i
  turns[i] = { id = id, status = 'completed', kind = 'regular', items = {
    { id = 'user-' .. i, type = 'userMessage', content = { { type = 'text', text = 'What does part ' .. i .. ' do?' } } },
    { id = 'run-' .. i, type = 'commandExecution', status = 'completed', exitCode = 0, command = 'grep -rn part' .. i .. ' src', confined = 'workspace', durationMs = 30, aggregatedOutput = ('src/part.rs: fn part()\n'):rep(10) },
    { id = 'said-' .. i, type = 'agentMessage', text = 'It **adds** `one`:\n\n```lua\nlocal function add(a)\n  return a + 1\nend\n```\n\n- first\n- [second](src/part.lua)\n\n```rust\nfn add(a: u32) -> u32 {\n    a + 1\n}\n```\n\nThat is all.' },
  } }
end
turns[#turns + 1] = { id = 'now', status = 'inProgress', kind = 'regular', items = { { id = 'asked', type = 'userMessage', content = { { type = 'text', text = 'Go on.' } } } } }

vim.cmd('enew')
threads.adopt({ id = THREAD, cwd = '/', preview = 'bench', turns = turns }, 1)
require('countersign.chat.window').open(THREAD)
vim.cmd('startinsert')

local parts = { 'It ', 'goes ', '**on** ', 'and `on`', '.\n', '\n```lua\n', 'local a = 1\n', 'return a\n', '```\n\n', '- and ', 'on\n' }
local at, timer = 0, assert(vim.uv.new_timer())
vim.defer_fn(function()
  handlers['countersign/item/started'](nil, { threadId = THREAD, turnId = 'now', item = { id = 'answer', type = 'agentMessage', text = '' } }, { client_id = 1 })
  timer:start(0, 10, vim.schedule_wrap(function()
    at = at + 1
    handlers['countersign/item/agentMessage/delta'](nil, { threadId = THREAD, turnId = 'now', itemId = 'answer', delta = parts[at % #parts + 1] }, { client_id = 1 })
  end))
  vim.fn.writefile({ tostring(vim.api.nvim_buf_line_count(vim.fn.bufnr('countersign://thread/'))) }, vim.env.BENCH_READY)
end, 3000)
