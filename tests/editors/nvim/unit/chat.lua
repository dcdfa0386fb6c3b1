local T = ...
local tests = {}

local function shown(buf)
  return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n')
end

local function transcript()
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_win_set_buf(0, buf)
  return require('countersign.chat.transcript').new(buf, true), buf
end

tests['a text that grows is only added to'] = function()
  local view, buf = transcript()
  local touched = {}
  view:put('a', { lines = { 'first' } })
  vim.api.nvim_buf_attach(buf, false, {
    on_bytes = function(_, _, _, row, column, _, _, _, old)
      touched[#touched + 1] = { row, column, old }
    end,
  })
  local text = ''
  for word in ('one two\nthree four\n\nfive'):gmatch('.') do
    text = text .. word
    view:put('b', { lines = vim.split(text, '\n') })
  end
  T.equal(shown(buf), 'first\n\none two\nthree four\n\nfive\n')
  local removed = 0
  for _, one in ipairs(touched) do
    removed = removed + (type(one[3]) == 'number' and one[3] or 0)
  end
  T.check(removed <= 3, 'text was written over: ' .. vim.inspect(touched))
end

tests['blocks keep their places, whichever grows'] = function()
  local view, buf = transcript()
  math.randomseed(3)
  local texts = {}
  for round = 1, 400 do
    local id = tostring(math.random(1, 12))
    local lines = {}
    for i = 1, math.random(1, 5) do
      lines[i] = ('%s %d %s'):format(id, i, ('x'):rep(math.random(0, 4)))
    end
    if not texts[id] then
      texts[#texts + 1] = id
    end
    texts[id] = lines
    view:put(id, { lines = lines, status = { { ' s', 'Comment' } }, fold = { 1, #lines } }, nil, round % 3 == 0)
  end
  local wanted = {}
  for _, id in ipairs(texts) do
    vim.list_extend(wanted, texts[id])
    wanted[#wanted + 1] = ''
  end
  T.equal(vim.api.nvim_buf_get_lines(buf, 0, -1, false), wanted)
  for _, one in ipairs(view.shown) do
    T.equal(vim.api.nvim_buf_get_lines(buf, one.row, one.row + 1, false)[1], one.lines[1])
  end
end

tests['a window at the end follows, any other stays'] = function()
  local view, buf = transcript()
  for i = 1, 30 do
    view:put(tostring(i), { lines = { 'line ' .. i } })
  end
  T.equal(vim.api.nvim_win_get_cursor(0)[1], vim.api.nvim_buf_line_count(buf))
  vim.cmd('split')
  local reader = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_cursor(reader, { 5, 2 })
  local top = vim.fn.line('w0')
  vim.cmd('wincmd w')
  view:put('31', { lines = { 'more', 'and more' } })
  view:put('2', { lines = { 'line 2', 'grew', 'above' } })
  T.equal(vim.api.nvim_win_get_cursor(0)[1], vim.api.nvim_buf_line_count(buf))
  vim.api.nvim_set_current_win(reader)
  T.equal(vim.api.nvim_get_current_line(), 'line 3')
  T.check(vim.fn.line('w0') >= top)
  T.equal(vim.bo[buf].modifiable, false)
end

tests['a chat that is written anew moves no reader and opens nothing that is folded'] = function()
  T.fresh()
  local threads, chats = require('countersign.threads'), require('countersign.chat')
  local function told(turns)
    local list = {}
    for i = 1, turns do
      list[i] = { id = 'u' .. i, status = 'completed', kind = 'regular', items = {
        { type = 'userMessage', id = 'm' .. i, content = { { type = 'text', text = 'question ' .. i } } },
        { type = 'commandExecution', id = 'c' .. i, command = 'make ' .. i, status = 'completed', confined = 'workspace', aggregatedOutput = 'one\ntwo\nthree' },
        { type = 'agentMessage', id = 'a' .. i, text = 'answer ' .. i },
      } }
    end
    return { id = 't', cwd = '/shop', turns = list }
  end
  threads.adopt(told(12), 1)
  local chat = chats.buffer('t')
  vim.api.nvim_win_set_buf(0, chat.buf)
  T.wait('the chat', function()
    return shown(chat.buf):find('answer 12', 1, true) ~= nil
  end)
  local function folds()
    local closed = {}
    for line = 1, vim.fn.line('$') do
      if vim.fn.foldclosed(line) == line then
        closed[#closed + 1] = vim.fn.getline(line)
      end
    end
    return closed
  end
  T.equal(#folds(), 12)
  vim.fn.search('make 3')
  vim.cmd('normal! zo')
  vim.fn.search('answer 5')
  local top = vim.fn.getline(vim.fn.line('w0'))
  -- As after a rollback and as after the server was started again.
  for turns, folded in pairs({ [10] = 9, [14] = nil }) do
    threads.adopt(told(turns), 1)
    T.wait('the chat', function()
      return not chat.pending
    end)
    T.equal(vim.api.nvim_get_current_line(), 'answer 5')
    T.equal(vim.fn.getline(vim.fn.line('w0')), top)
    T.equal(#folds(), folded or #folds())
  end
  threads.adopt(told(14), 1)
  T.wait('the chat', function()
    return shown(chat.buf):find('answer 14', 1, true) ~= nil
  end)
  T.equal(vim.api.nvim_get_current_line(), 'answer 5')
  local list = folds()
  T.check(not vim.tbl_contains(list, '`$ make 3`') and vim.tbl_contains(list, '`$ make 14`'), list)
end

local function composed(id)
  return shown(require('countersign.composer').buffer(id))
end

--- Writes into the composer and sends it.
local function send(id, text)
  local buf = require('countersign.composer').buffer(id)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(text, '\n'))
  require('countersign.composer').send(id)
  return buf
end

tests['who saves all files sends nothing'] = function()
  T.fresh()
  local sent = {}
  local id = T.countersign({ ['countersign/turn/start'] = function(params)
    sent[#sent + 1] = params.input[1].text
    return { turn = {}, steered = false }
  end })
  require('countersign.threads').adopt({ id = 't', cwd = '/shop', turns = {} }, id)
  local function types(keys)
    vim.api.nvim_feedkeys(vim.keycode(keys), 'tx', false)
  end
  -- The file is saved before the composer, and its save waits: what is scheduled runs in between.
  local file = vim.fn.tempname()
  vim.cmd.edit(file)
  local waited
  vim.api.nvim_create_autocmd('BufWritePre', { buffer = 0, callback = function()
    vim.schedule(function()
      waited = true
    end)
    vim.wait(1000, function()
      return waited
    end)
  end })
  local buf = require('countersign.composer').buffer('t')
  T.check(buf > vim.api.nvim_get_current_buf())
  -- Also where the composer was deleted in between: it is one that sends once.
  vim.cmd('bdelete! ' .. buf)
  T.equal(require('countersign.composer').buffer('t'), buf)
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'mine' })
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, { 'half a word' })
  types(':wa<CR>')
  T.equal({ vim.fn.readfile(file), waited }, { { 'mine' }, true })
  vim.cmd('sbuffer ' .. buf)
  types(':silent! wall<CR>')
  types(':w<Esc>')
  vim.wait(50, function() end)
  T.equal({ sent, shown(buf), vim.bo[buf].modified }, { {}, 'half a word', true })
  T.has(T.messages[#T.messages][1], 'was not sent')
  local before = #T.messages
  types(':w<CR>')
  T.wait('the message', function()
    return #sent > 0
  end)
  vim.wait(50, function() end)
  T.equal({ sent, shown(buf), #T.messages }, { { 'half a word' }, '', before })
  -- Who has saved all files and then writes the composer by a key of theirs means it; between the two the editor waits for keys.
  vim.cmd('bdelete! ' .. vim.fn.bufnr(file))
  types(':wa<CR>')
  vim.api.nvim_exec_autocmds('SafeState', {})
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, { 'by a key' })
  types('<Cmd>write<CR>')
  T.wait('the second message', function()
    return #sent > 1
  end)
  T.equal({ sent[2], shown(buf), #T.messages }, { 'by a key', '', before })
  vim.fn.delete(file)
end

tests['an empty composer keeps nobody from quitting'] = function()
  T.fresh()
  local id = T.countersign({})
  require('countersign.threads').adopt({ id = 't', cwd = '/shop', turns = {} }, id)
  local buf = require('countersign.composer').buffer('t')
  vim.cmd('sbuffer ' .. buf)
  for _, command in ipairs({ 'wa', 'w' }) do
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, { 'a word' })
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, { ' ', '' })
    T.equal(vim.bo[buf].modified, true)
    vim.api.nvim_feedkeys(vim.keycode(':' .. command .. '<CR>'), 'tx', false)
    T.equal({ vim.bo[buf].modified, #T.messages }, { false, 0 }, command)
  end
end

tests['a chat that is deleted or read anew while an answer comes is as it was'] = function()
  local chats, threads = require('countersign.chat'), require('countersign.threads')
  local told = { id = 't', cwd = '/shop', turns = { { id = '1', status = 'inProgress', items = { { type = 'userMessage', id = 'u', content = { { type = 'text', text = 'question' } } }, { type = 'agentMessage', id = 'a', text = 'answer' } } } } }
  local id = T.countersign({ ['countersign/thread/resume'] = function()
    return { thread = told }
  end })
  local thread = threads.adopt(told, id)
  local function written(buf)
    T.wait('the conversation', function()
      return shown(buf):find('answer', 1, true) ~= nil
    end)
    return shown(buf)
  end
  local chat = chats.buffer('t')
  vim.api.nvim_win_set_buf(0, chat.buf)
  local before = written(chat.buf)
  vim.v.errmsg = ''
  for _, leave in ipairs({ 'bdelete', 'edit!' }) do
    vim.cmd('silent ' .. leave)
    chats.touch(chat, thread.items[2])
    T.check(pcall(vim.wait, 200, function() end), leave)
    chat = chats.buffer('t')
    vim.api.nvim_win_set_buf(0, chat.buf)
    T.equal(written(chat.buf), before, leave)
    T.check(vim.bo[chat.buf].filetype == 'countersign' and vim.bo[chat.buf].buflisted and not vim.bo[chat.buf].modifiable, leave)
    -- What comes then is put in its place.
    thread = threads.get('t')
    thread.items[2].text = 'answer of ' .. leave
    chats.touch(chat, thread.items[2])
    T.wait('what comes', function()
      return shown(chat.buf) == before:gsub('answer', 'answer of ' .. leave)
    end)
    thread.items[2].text = 'answer'
    chats.touch(chat, thread.items[2])
    T.wait('the text as before', function()
      return shown(chat.buf) == before
    end)
  end
  T.equal(vim.v.errmsg, '')
end

tests['what was typed is not lost where there is no server'] = function()
  T.fresh({ cmd = { '/no/such/countersign' } })
  local buf = send('t', 'one\ntwo')
  T.wait('the words', function()
    return composed('t') == 'one\ntwo'
  end)
  T.equal(vim.bo[buf].modified, true)
  T.has(T.messages[#T.messages][1], '/no/such/countersign')
end

tests['what was typed is not lost where the conversation cannot be brought back'] = function()
  T.fresh()
  local answer
  T.countersign({ ['countersign/thread/resume'] = function()
    -- The person types on meanwhile.
    vim.api.nvim_buf_set_lines(require('countersign.composer').buffer('t'), 0, -1, false, { 'and three' })
    answer = true
    return nil, { code = -32603, message = 'the file is broken' }
  end })
  local picture = vim.fn.tempname()
  vim.fn.writefile({ 'x' }, picture)
  local buf = send('t', 'one\ntwo')
  T.wait('the answer', function()
    return answer and T.messages[#T.messages] and T.messages[#T.messages][1]:find('is broken')
  end)
  T.equal(shown(buf), 'one\ntwo\nand three')
  vim.fn.delete(picture)
end

tests['what was typed is not lost where the server ends before it answers'] = function()
  T.fresh()
  local id, wire = T.countersign({ ['countersign/turn/start'] = T.later })
  require('countersign.threads').adopt({ id = 't', cwd = '/shop', turns = {} }, id)
  local buf = send('t', 'Do it')
  T.equal(shown(buf), '')
  wire.exit(0)
  T.wait('the words', function()
    return shown(buf) == 'Do it'
  end)
  T.has(T.messages[#T.messages][1], 'the server ended before it answered')
end

tests['what was typed is not lost where a turn is refused, and goes once where the conversation was away'] = function()
  T.fresh()
  local starts = 0
  local id = T.countersign({
    ['countersign/turn/start'] = function()
      starts = starts + 1
      return nil, { code = -32803, message = 'not loaded', data = { kind = 'threadNotLoaded' } }
    end,
    ['countersign/thread/resume'] = function()
      return nil, { code = -32803, message = 'the file is locked' }
    end,
  })
  require('countersign.threads').adopt({ id = 't', cwd = '/shop', turns = {} }, id)
  local buf = send('t', 'Do it')
  T.wait('the words', function()
    return shown(buf) == 'Do it'
  end)
  T.equal(starts, 1)
  T.has(T.messages[#T.messages][1], 'the file is locked')
end

tests['nothing that the agent says is loaded by being shown, and what hides is written out'] = function()
  local words = require('countersign.chat.words')
  for _, row in ipairs({
    { '![](https://x/?q=1)', '![]\\(https://x/?q=1)' },
    { '![a\nb](u)', '![a\nb]\\(u)' },
    { '[![x](a)](b)', '[![x]\\(a)]\\(b)' },
    { '![a][b]\n\n[b]: https://x', '![a]\\[b]\n\n[b]\\: https://x' },
    { 'a <IMG src=x>', 'a \\<IMG src=x>' },
    { 'a <img\nsrc=x>', 'a \\<img\nsrc=x>' },
    { '<style>@import', '\\<style>@import' },
    { "a <span style='background:url(//x)'>", "a \\<span style='background:url(//x)'>" },
    { '[x](data:text/html,a)', '[x]\\(data:text/html,a)' },
    { '[x](\\\\host\\share)', '[x]\\(\\\\host\\share)' },
    { '[x](//host/share)', '[x]\\(//host/share)' },
    { '[x](https://e.org/?q=' .. ('s'):rep(60) .. ')', '[x]\\(https://e.org/?q=' .. ('s'):rep(60) .. ')' },
    { '- a\n\n  ```\n![](u)', '- a\n\n  ```\n![]\\(u)\n\n-\n  ```\n-\n  ~~~\n\n<!-- -->' },
    { ' ```\nx\n```\n![](u)', ' ```\nx\n```\n![]\\(u)\n\n-\n  ```\n-\n  ~~~\n\n<!-- -->' },
    { '```\n![](u)\n   ```\n![](u)', '```\n![](u)\n   ```\n![]\\(u)' },
    { '<div>\n```\n\n![](u)', '\\<div>\n```\n\n![](u)\n```' },
    { '\u{202e}b\u{3164}', '<U+202E>b<U+3164>' },
    -- What people write stays.
    { 'See [the docs](https://docs.rs/a?q=b#c), [this](src/main.rs:12).', 'See [the docs](https://docs.rs/a?q=b#c), [this](src/main.rs:12).' },
    { '`Vec<u8>`, a<b, <https://example.org>', '`Vec<u8>`, a<b, <https://example.org>' },
    { '```ts\n[key: string]: number\n<div class=x>\n```', '```ts\n[key: string]: number\n<div class=x>\n```' },
  }) do
    local block = words.block({ type = 'agentMessage', id = 'i', text = row[1] })
    T.equal(table.concat(block.lines, '\n'), row[2])
  end
end

tests['nothing that one block leaves open takes in the next'] = function()
  local words = require('countersign.chat.words')
  local function message(text)
    return { type = 'agentMessage', id = 'i', text = text }
  end
  local list = '\n\n-\n  %s\n-\n  %s\n\n<!-- -->'
  for _, row in ipairs({
    { message('```\nx'), '```\nx\n```' },
    { message('~~~~sh\nx\n~~~'), '~~~~sh\nx\n~~~\n~~~~' },
    { message('a\n  ```\nx'), 'a\n  ```\nx\n```' },
    { message('- one\n  ~~~\n  x'), '- one\n  ~~~\n  x\n  ~~~' },
    { message('- one\n  ~~~\n  x\n\nI look.'), '- one\n  ~~~\n  x\n\nI look.' .. list:format('```', '~~~') },
    { message('1. a\n   ```sh\n   x\n   ```\n2. b'), '1. a\n   ```sh\n   x\n   ```\n2. b' },
    { message('  ```\nx\n`````'), '  ```\nx\n`````' .. list:format('`````', '~~~') },
    { message('```\nx\n```\nend'), '```\nx\n```\nend' },
    -- The person's own words, and parts of one quotation, which are one text.
    { { type = 'userMessage', id = 'u', content = { { type = 'text', text = '```\nx <!-- y' }, { type = 'localImage', path = '/x/y.png' } } }, '## You\n```\nx <!-- y\n```\n![y.png](/x/y.png)' },
    { { type = 'userMessage', id = 'u', content = { { type = 'text', text = 'x <!-- ![](u)' } } }, '## You\nx \\<!-- ![]\\(u)' },
    { { type = 'reasoning', id = 'r', summary = { 'Look:\n\n```\nx', '```\n![](u)\n```' } }, '> Look:\n>\n> ```\n> x\n>\n> ```\n> ![]\\(u)\n> ```' },
    { { type = 'agentMail', id = 'm', author = 'ann', text = '```\n\t```\n![](u)' }, '**From ann**\n> ```\n>     ```\n> ![](u)' },
    { { type = 'exitedReviewMode', id = 'e', review = '```\nx' }, '```\nx\n```' },
    { { type = 'toolCall', id = 't', tool = 'a ![](u)', title = '', arguments = {}, status = 'completed' }, '**a ![]\\(u)** ' },
  }) do
    T.equal(table.concat(words.block(row[1]).lines, '\n'), row[2])
  end
  local ended = words.ending({ status = 'failed', error = { message = 'no\n```\n![](u)' } })
  T.equal(ended.lines, { '**Failed:** no', '```', '![](u)', '```' })
end

tests['the words of others cannot break out of their block'] = function()
  local words = require('countersign.chat.words')
  local output = 'a\27[31mred\27[0m\r\n~~~~\n~~~~~~~ x\n10%\r20%\n\27]0;title\7b\0c'
  local block = words.block({ type = 'commandExecution', id = 'i', command = 'x`y`\nrm -rf /', status = 'completed', confined = 'workspace', aggregatedOutput = output })
  local fence
  for _, line in ipairs(block.lines) do
    T.check(not line:find('[%z\1-\8\11-\31]'), vim.inspect(line))
    fence = fence or line:match('^(~+)output')
  end
  T.check(#fence > 7, fence)
  T.equal(block.lines[#block.lines], fence)
  T.check(vim.tbl_contains(block.lines, 'ared'), block.lines)
  T.check(vim.tbl_contains(block.lines, '20%'), block.lines)
  T.equal(block.fold, { 1, #block.lines })
end

tests['an item of any kind and shape is shown'] = function()
  local words = require('countersign.chat.words')
  for _, item in ipairs({
    { type = 'userMessage', id = '1', content = { { type = 'text', text = 'a\nb' }, { type = 'localImage', path = '/x/y.png' }, { type = 'mention', path = '/a/b', lineRange = { start = 0, ['end'] = 2 } } } },
    { type = 'agentMessage', id = '2', text = '', partial = true },
    { type = 'reasoning', id = '3', summary = { 'a', '', 'b' }, content = {} },
    { type = 'plan', id = '4', steps = { { step = 'x', status = 'inProgress' } } },
    { type = 'commandExecution', id = '5', command = '', status = 'failed', confined = 'outside', exitCode = 3, durationMs = 61000, reason = 'why' },
    { type = 'fileChange', id = '6', changes = { { path = '/a', kind = { type = 'add' }, diff = '+x' } }, status = 'inProgress', proposalId = 'p' },
    { type = 'mcpToolCall', id = '7', server = 's', tool = 't', title = '', arguments = {}, status = 'failed', error = 'broken', result = { content = { { type = 'image' } } } },
    { type = 'toolCall', id = '8', tool = 't', title = 'x', arguments = {}, status = 'completed', output = 'o' },
    { type = 'collabAgentToolCall', id = '9', tool = 'spawnAgent', status = 'completed', agentsStates = { x = { name = 'ann' } }, prompt = 'do\nit' },
    { type = 'agentMail', id = '10', author = 'ann', text = 'hi' },
    { type = 'enteredReviewMode', id = '11', review = 'Review of x' },
    { type = 'exitedReviewMode', id = '12', review = '' },
    { type = 'undo', id = '13', turns = {}, files = { { path = '/a', result = 'restored' } }, status = 'completed' },
    { type = 'contextCompaction', id = '14', reason = 'limit', status = 'completed', summary = 's' },
    { type = 'of a later server', id = '15' },
  }) do
    local block = words.block(item)
    T.check(block and #block.lines > 0, item.type)
    for _, line in ipairs(block.lines) do
      T.check(not line:find('\n'), item.type)
    end
  end
  T.equal(words.block({ type = 'reasoning', id = 'x', summary = {}, content = {} }), nil)
end

tests['deltas and the final form come to the same'] = function()
  local threads = require('countersign.threads')
  local at = { threadId = 't', turnId = 'u', seq = 1 }
  local function hear(kind, params)
    threads.apply(kind, vim.tbl_extend('force', at, params), 1)
  end
  hear('thread/started', { thread = { id = 't', preview = 'p', cwd = '/x', status = 'idle' } })
  hear('turn/started', { turn = { id = 'u', kind = 'regular', status = 'inProgress' } })
  hear('item/started', { item = { type = 'agentMessage', id = 'm', text = '' } })
  hear('item/agentMessage/delta', { itemId = 'm', delta = 'Hel' })
  hear('item/agentMessage/delta', { itemId = 'm', delta = 'lo' })
  hear('item/reasoning/textDelta', { itemId = 'nobody', index = 3, delta = 'x' })
  hear('item/agentMessage/delta', { itemId = 'm', delta = '!', subscriptionId = 'other' })
  local thread = threads.get('t')
  T.equal(thread.by_id.m.text, 'Hello')
  local chat = require('countersign.chat').buffer('t')
  T.wait('the text', function()
    return shown(chat.buf):find('Hello', 1, true) ~= nil
  end)
  hear('item/completed', { item = { type = 'agentMessage', id = 'm', text = 'Hello there.' } })
  hear('item/agentMessage/delta', { itemId = 'm', delta = ' late' })
  hear('turn/completed', { turn = { id = 'u', kind = 'regular', status = 'failed', items = {}, error = { message = 'No key. Set one.', kind = 'missingKey' } }, unanswered = {} })
  T.wait('the end', function()
    return shown(chat.buf):find('No key. Set one.', 1, true) ~= nil
  end)
  T.equal(thread.turn, nil)
  T.equal(shown(chat.buf), '## Countersign\n\nHello there.\n\n**Failed:** No key. Set one.\n')
end

tests['what is said beside an answer stands where it came'] = function()
  local threads = require('countersign.threads')
  local at = { threadId = 'n', turnId = 'u', seq = 1 }
  local function hear(kind, params)
    threads.apply(kind, vim.tbl_extend('force', at, params), 1)
  end
  hear('thread/started', { thread = { id = 'n', preview = 'p', cwd = '/x', status = 'idle' } })
  hear('turn/started', { turn = { id = 'u', kind = 'regular', status = 'inProgress' } })
  hear('item/completed', { item = { type = 'userMessage', id = 'w', content = { { type = 'text', text = 'Question' } } } })
  local chat = require('countersign.chat').buffer('n')
  T.wait('the question', function()
    return shown(chat.buf):find('Question', 1, true) ~= nil
  end)
  hear('warning', { message = 'Nobody knows its window.' })
  hear('item/completed', { item = { type = 'agentMessage', id = 'm', text = 'Answer' } })
  hear('warning', { message = 'It is over.' })
  T.wait('all of it', function()
    return shown(chat.buf):find('It is over.', 1, true) ~= nil
  end)
  T.check(shown(chat.buf):find('Question.*Nobody knows.*Answer.*It is over'), shown(chat.buf))
end

--- Without the blank lines at its end.
local function trimmed(lines)
  lines = vim.list_slice(lines)
  while #lines > 0 and (lines[#lines] == '' or lines[#lines] == '>') do
    lines[#lines] = nil
  end
  return lines
end

tests['an answer that is still coming is made into lines as the whole would be'] = function()
  local words = require('countersign.chat.words')
  local parts = { 'word ', 'two\n', '\n', '```lua\n', '```\n', '~~~', '- item\n', '  ```\n', '> quoted\n', '![a](http://x/y)', '<img src=x>', '[a]: /b\n', '[a](', '\n', 'b)', '\t', '\r\n', 'ü\226\128\174', '# ', '`code` ', '1. ', '$$\n', '<scr', 'ipt>\n' }
  math.randomseed(11)
  for round = 1, 150 do
    local item, thought = { id = 'a', type = 'agentMessage', text = '' }, { id = 'b', type = 'reasoning', summary = { '' } }
    for _ = 1, math.random(1, 60) do
      local part = parts[math.random(#parts)]
      item.text = item.text .. part
      thought.summary[1] = thought.summary[1] .. part
      if math.random(3) > 1 then
        local coming, whole = words.block(item).lines, words.block({ id = 'a', type = 'agentMessage', text = item.text, complete = true }).lines
        T.equal(trimmed(coming), trimmed(whole), ('round %d: %q'):format(round, item.text))
        coming, whole = words.block(thought).lines, words.block({ id = 'b', type = 'reasoning', summary = thought.summary, complete = true }).lines
        T.equal(trimmed(coming), trimmed(whole), ('round %d, a thought: %q'):format(round, item.text))
      end
    end
  end
end

tests['what came before is not looked at again for each word that comes'] = function()
  local view, buf = transcript()
  local words, inert = require('countersign.chat.words'), require('countersign.inert')
  local looked, written, coming = 0, 0, inert.coming
  inert.coming = function()
    local one = coming()
    return { take = function(_, text)
      looked = looked + #text
      return one:take(text)
    end, rest = function(_, text)
      looked = looked + #text
      return one:rest(text)
    end }
  end
  vim.api.nvim_buf_attach(buf, false, {
    on_bytes = function(_, _, _, _, _, _, _, _, _, _, _, bytes)
      written = written + bytes
    end,
  })
  local read, get = 0, vim.treesitter.get_string_parser
  vim.treesitter.get_string_parser = function(text, ...)
    read = math.max(read, #text)
    return get(text, ...)
  end
  local item = { id = 'a', type = 'agentMessage', text = '' }
  local good, why = pcall(function()
    for i = 1, 1200 do
      item.text = item.text .. (i % 300 == 1 and '```lua\n' or i % 300 == 299 and '```\n' or ('local line = %d\n'):format(i))
      view:put('a', words.block(item))
      if i % 50 == 0 then
        vim.wait(5)
      end
    end
  end)
  vim.treesitter.get_string_parser = get
  T.check(good, why)
  T.equal(shown(buf), item.text)
  T.check(looked < #item.text * 4, looked .. ' bytes were looked at, of ' .. #item.text)
  T.check(written < #item.text * 4, written .. ' bytes were written, of ' .. #item.text)
  T.check(read < 16000, read .. ' bytes were read by a parser at once')
end

--- The groups that a conversation's painter has put on a line.
local function colors(buf, row)
  local space = vim.api.nvim_get_namespaces()['countersign.paint']
  return vim.tbl_map(function(one)
    return one[4].hl_group or ''
  end, vim.api.nvim_buf_get_extmarks(buf, space, { row, 0 }, { row, -1 }, { details = true }))
end

tests['a conversation has its colors, and no parser has its buffer'] = function()
  require('countersign.threads').adopt({ id = 'x', turns = { { id = 't', status = 'completed', items = {
    { id = 'a', type = 'userMessage', content = { { type = 'text', text = 'Hello' } } },
    { id = 'b', type = 'agentMessage', text = 'It is **so**.\n\n```lua\nlocal a = 1\n```' },
  } } } }, 1)
  local chat = require('countersign.chat').buffer('x')
  vim.api.nvim_win_set_buf(0, chat.buf)
  T.wait('the text', function()
    return shown(chat.buf):find('local a', 1, true)
  end)
  vim.cmd('redraw')
  local row = vim.fn.search('local a', 'nw') - 1
  T.wait('the colors', function()
    return vim.tbl_contains(colors(chat.buf, row), '@keyword.lua')
  end)
  T.check(vim.tbl_contains(colors(chat.buf, 0), '@markup.heading.2.markdown'), colors(chat.buf, 0))
  T.check(vim.tbl_contains(colors(chat.buf, row - 3), '@markup.strong.markdown_inline'), colors(chat.buf, row - 3))
  T.equal(vim.treesitter.highlighter.active[chat.buf], nil)
end

tests['what comes to a painted text is painted with it'] = function()
  local view, buf = transcript()
  local words = require('countersign.chat.words')
  local item = { id = 'a', type = 'agentMessage', text = 'First.\n\n' }
  view:put('a', words.block(item))
  vim.cmd('redraw')
  T.wait('the first of it', function()
    return view.shown[1].painted
  end)
  item.text = item.text .. 'Then **more**.'
  view:put('a', words.block(item))
  T.check(vim.tbl_contains(colors(buf, 2), '@markup.strong.markdown_inline'), colors(buf, 2))
  item.text = item.text .. '\n\n```lua\nlocal a = 1\nlocal b'
  view:put('a', words.block(item))
  T.check(vim.tbl_contains(colors(buf, 6), '@keyword.lua'), colors(buf, 6))
end

tests['the composer completes what stands before the cursor'] = function()
  local complete = require('countersign.complete')
  for _, row in ipairs({
    { '@', true, 'file', 0, '' },
    { 'see @src/m', false, 'file', 4, 'src/m' },
    { '(@a', false, 'file', 1, 'a' },
    { 'ada@example', false, nil },
    { '@a b', false, nil },
    { '/', true, 'prompt', 0, '' },
    { '/rev', true, 'prompt', 0, 'rev' },
    { '/rev', false, nil },
    { 'a /rev', true, nil },
    { '', true, nil },
  }) do
    local kind, from, word = complete.token(row[1], row[2])
    T.equal({ kind, from, word }, { row[3], row[4], row[5] }, row[1])
  end
end

--- Conversations that can be opened, by their numbers.
local function conversations(count)
  local id = T.countersign({})
  for i = 1, count do
    require('countersign.threads').adopt({ id = 'c' .. i, turns = {}, preview = '' }, id)
  end
  return id
end

local function width_of(id)
  return vim.api.nvim_win_get_width(vim.fn.win_findbuf(require('countersign.chat').buffer(id).buf)[1])
end

tests['chats side by side have the same width, and leave room for files'] = function()
  for _, position in ipairs({ 'right', 'left' }) do
    T.fresh({ chat = { position = position } })
    vim.cmd('silent! only')
    local columns = vim.o.columns
    vim.o.columns = 150
    conversations(4)
    local window = require('countersign.chat.window')
    local file = vim.api.nvim_get_current_win()
    for i, wanted in ipairs({ 63, 49, 32, 30 }) do
      window.open('c' .. i, i > 1 and 'split' or nil)
      vim.cmd('stopinsert')
      for k = 1, i do
        T.check(math.abs(width_of('c' .. k) - wanted) <= 1, ('%s: %d of %d has %d columns, not %d'):format(position, k, i, width_of('c' .. k), wanted))
      end
      T.check(vim.api.nvim_win_get_width(file) >= 20, position .. ': the file has ' .. vim.api.nvim_win_get_width(file))
    end
    window.close()
    vim.o.columns = columns
  end
end

tests['a chat can be at the bottom, or above all with its composer, which goes with it'] = function()
  T.fresh({ chat = { position = 'bottom', height = 10 } })
  vim.cmd('silent! only')
  conversations(1)
  local window = require('countersign.chat.window')
  local lines = vim.o.lines
  vim.o.lines = 40
  window.open('c1')
  vim.cmd('stopinsert')
  local win = vim.fn.win_findbuf(require('countersign.chat').buffer('c1').buf)[1]
  T.equal(vim.api.nvim_win_get_width(win), vim.o.columns)
  T.equal(vim.api.nvim_win_get_position(win)[1] > 15, true)
  window.close()
  T.equal(#vim.api.nvim_list_wins(), 1)

  T.fresh({ chat = { position = 'float' } })
  conversations(1)
  window = require('countersign.chat.window')
  window.open('c1')
  vim.cmd('stopinsert')
  vim.wait(10)
  T.equal(#vim.api.nvim_list_wins(), 3)
  T.equal(vim.bo.filetype, 'countersign-composer')
  T.check(require('countersign.keys').are_free() or vim.fn.mode() ~= 'n', 'a question may open where the person is in a chat')
  -- They do not lie over each other.
  local chat = vim.fn.win_findbuf(require('countersign.chat').buffer('c1').buf)[1]
  local upper, lower = vim.api.nvim_win_get_config(chat), vim.api.nvim_win_get_config(0)
  T.check(upper.row + upper.height + 2 <= lower.row and lower.row + lower.height + 2 <= vim.o.lines, { upper.row, upper.height, lower.row, lower.height })
  vim.api.nvim_win_close(chat, true)
  T.wait('the composer to go', function()
    return #vim.api.nvim_list_wins() == 1
  end)
  vim.o.lines = lines
end

tests['the answer about a selection is shown, and the person stays where they are'] = function()
  vim.cmd('silent! only')
  local path = vim.fn.tempname()
  vim.fn.writefile({ 'a', 'b' }, path)
  vim.cmd.edit(path)
  local here, sent = vim.api.nvim_get_current_win(), nil
  local id = T.countersign({ ['countersign/turn/start'] = function(params)
    sent = params
    return { turn = { id = 'u' } }
  end }, vim.fs.dirname(vim.api.nvim_buf_get_name(0)))
  require('countersign.threads').adopt({ id = 'c1', turns = {}, preview = '' }, id)
  require('countersign.actions').ask({ 1, 2 }, 'What is this?')
  T.wait('the words', function()
    return sent
  end)
  T.equal(sent.input[1].text, 'What is this?')
  T.equal(vim.api.nvim_get_current_win(), here)
  T.equal(vim.api.nvim_get_mode().mode, 'n')
  T.check(require('countersign.chat').is_visible('c1'), 'the chat is shown')
  T.equal(#vim.api.nvim_list_wins(), 2)
  require('countersign.commands').run('ask', 'And this?', { 1, 1 }, true)
  T.wait('the person to go there', function()
    return vim.bo.filetype == 'countersign-composer'
  end)
  vim.cmd('stopinsert')
  vim.cmd.close()
  vim.api.nvim_set_current_win(here)
  -- In the place of another chat, where one is shown; and in each place that chats can have, but for a tab.
  require('countersign.threads').adopt({ id = 'c2', turns = {}, preview = '' }, id)
  local window = require('countersign.chat.window')
  T.equal(window.reveal('c2'), true)
  T.check(not require('countersign.chat').is_visible('c1') and require('countersign.chat').is_visible('c2'))
  for position, wanted in pairs({ left = true, bottom = true, float = true, tab = false }) do
    window.close()
    require('countersign.config').get().chat.position = position
    T.equal(window.reveal('c1'), wanted, position)
    T.equal(vim.api.nvim_get_current_win(), here)
    T.equal(require('countersign.chat').is_visible('c1'), wanted, position)
  end
end

--- The text of the closed folds of the window, which shows a buffer, by their first lines.
local function folds(buf)
  local list = {}
  T.equal(vim.api.nvim_win_get_buf(0), buf)
  vim.api.nvim_win_call(0, function()
    local line = 1
    vim.wo.foldtext = "v:lua.require'countersign.chat'.foldtext()"
    while line <= vim.fn.line('$') do
      if vim.fn.foldclosed(line) == line then
        list[#list + 1] = { line, vim.fn.foldtextresult(line) }
        line = vim.fn.foldclosedend(line)
      end
      line = line + 1
    end
  end)
  return list
end

tests['what tools did in a row stands close together, and is one line once it is done'] = function()
  local function run(i, more)
    return vim.tbl_extend('force', { id = 'c' .. i, type = 'commandExecution', command = 'make ' .. i, status = 'completed', exitCode = 0, confined = 'workspace', durationMs = 1500, aggregatedOutput = 'one\ntwo' }, more or {})
  end
  local function read(i)
    return { id = 'r' .. i, type = 'toolCall', tool = 'read_file', title = 'f' .. i, arguments = {}, status = 'completed', output = 'text' }
  end
  vim.cmd('silent! only')
  local threads = require('countersign.threads')
  local at = { threadId = 't', turnId = 'u' }
  local function hear(kind, params)
    threads.apply(kind, vim.tbl_extend('force', at, params), 1)
  end
  threads.adopt({ id = 't', turns = { { id = 'u', status = 'inProgress', items = { { id = 'q', type = 'userMessage', content = { { type = 'text', text = 'Go' } } } } } } }, 1)
  local chat = require('countersign.chat').buffer('t')
  vim.api.nvim_win_set_buf(0, chat.buf)
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  for _, item in ipairs({ read(1), run(1), read(2), run(2, { status = 'completed', exitCode = 1 }) }) do
    hear('item/completed', { item = item })
    vim.wait(70)
  end
  -- While more may come each has its row, without blank lines between.
  local rows = folds(chat.buf)
  T.equal(#rows, 4)
  for i = 2, 4 do
    local closed = vim.api.nvim_win_call(0, function()
      return vim.fn.foldclosedend(rows[i - 1][1])
    end)
    T.equal(closed + 1, rows[i][1], 'no blank line before row ' .. i)
  end
  T.has(rows[2][2], '✓ ▸ $ make 1')
  T.has(rows[4][2], '✗ ▸ $ make 2')
  hear('item/started', { item = { id = 'a', type = 'agentMessage', text = 'Done.' } })
  T.wait('the answer', function()
    return shown(chat.buf):find('Done.', 1, true)
  end)
  local group = folds(chat.buf)
  T.equal(#group, 1)
  T.has(group[1][2], '✗ ▸ 1 failed · Read 2 files, ran 2 commands · 3 s')
  T.check(shown(chat.buf):find('\n\nDone.', 1, true), shown(chat.buf))
  -- Opened, each has its row again.
  vim.cmd(group[1][1] .. 'foldopen')
  T.equal(#folds(chat.buf), 4)
  -- A window that comes to show it later has it so too; and so has a conversation that is read again.
  vim.cmd('new')
  vim.api.nvim_win_set_buf(0, chat.buf)
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  vim.cmd('normal! zE')
  require('countersign.chat').entered(chat.buf)
  T.equal(#folds(chat.buf), 1)
  hear('item/completed', { item = { id = 'a', type = 'agentMessage', text = 'Done.' } })
  hear('turn/completed', { turn = { id = 'u', kind = 'regular', status = 'completed', items = {} } })
  vim.wait(80)
  local before = shown(chat.buf)
  local again = { { id = 'q', type = 'userMessage', content = { { type = 'text', text = 'Go' } } }, read(1), run(1), read(2), run(2, { exitCode = 1 }), { id = 'a', type = 'agentMessage', text = 'Done.' } }
  threads.adopt({ id = 't', turns = { { id = 'u', status = 'completed', items = again } } }, 1)
  vim.wait(80)
  T.equal(shown(chat.buf), before)
  T.equal(#folds(chat.buf), 1)
end

tests['rows of tools keep their places among other blocks, whichever grows, and after they are read again'] = function()
  math.randomseed(5)
  for _ = 1, 30 do
    local view, buf = transcript()
    local kinds, order, blocks = {}, {}, {}
    local function wanted()
      local lines = {}
      for i, id in ipairs(order) do
        vim.list_extend(lines, blocks[id].lines)
        local next_one = order[i + 1]
        if not (kinds[id] and next_one and kinds[next_one]) then
          lines[#lines + 1] = ''
        end
      end
      return lines
    end
    for round = 1, 60 do
      local id = tostring(math.random(1, 14))
      if not blocks[id] then
        order[#order + 1], kinds[id] = id, math.random(3) > 1
      end
      local lines = {}
      for k = 1, math.random(1, 4) do
        lines[k] = ('%s %d %s'):format(id, k, ('x'):rep(math.random(0, 4)))
      end
      blocks[id] = { lines = lines, fold = { 1, #lines }, state = kinds[id] and { '✓', 'Comment' } or nil, deed = kinds[id] and { kind = 'run', ms = 0, failed = false } or nil }
      view:put(id, blocks[id], 't', round % 3 == 0)
      T.equal(vim.api.nvim_buf_get_lines(buf, 0, -1, false), wanted())
    end
    for _, one in ipairs(view.shown) do
      T.equal(vim.api.nvim_buf_get_lines(buf, one.row, one.row + 1, false)[1], one.lines[1])
    end
    local all = vim.tbl_map(function(id)
      return { id = id, block = blocks[id], turn = 't', complete = true }
    end, order)
    view:rebuild(all)
    T.equal(vim.api.nvim_buf_get_lines(buf, 0, -1, false), wanted())
    view:put('last', { lines = { 'end' } }, 't', true)
    order[#order + 1], blocks.last = 'last', { lines = { 'end' } }
    T.equal(vim.api.nvim_buf_get_lines(buf, 0, -1, false), wanted())
  end
end

tests['the whole row of what failed has its color, and a diff has those of what it adds and takes away'] = function()
  local view, buf = transcript()
  local words = require('countersign.chat.words')
  view:put('a', words.block({ type = 'commandExecution', id = 'a', command = 'make', status = 'failed', exitCode = 2, complete = true }), 't', true)
  view:put('b', words.block({ type = 'fileChange', id = 'b', status = 'completed', complete = true, changes = { { path = '/x', kind = { type = 'update' }, diff = '@@ -1 +1 @@\n-a\n+b' } } }), 't', true)
  local space = vim.api.nvim_get_namespaces()['countersign.chat.signs']
  local sign, row
  for _, one in ipairs(vim.api.nvim_buf_get_extmarks(buf, space, { 0, 0 }, { 0, -1 }, { details = true })) do
    sign, row = one[4].virt_text or sign, one[4].hl_group and one[4] or row
  end
  T.equal({ sign[1][1], row.hl_group, row.end_col }, { '✗ ', 'CountersignFailed', #'`$ make`' })
  vim.cmd('normal! zR')
  vim.cmd('redraw')
  local at = vim.fn.search('^-a$', 'nw') - 1
  T.wait('the colors', function()
    return vim.tbl_contains(colors(buf, at), 'CountersignDiffDelete')
  end)
  T.check(vim.tbl_contains(colors(buf, at + 1), 'CountersignDiffAdd'), colors(buf, at + 1))
end

tests['a window that follows shows what stands below the last line'] = function()
  local view, buf = transcript()
  vim.cmd('silent! only')
  vim.cmd('belowright 20split')
  vim.api.nvim_win_set_buf(0, buf)
  local lines = {}
  for i = 1, 60 do
    lines[i] = 'line ' .. i
  end
  view:put('a', { lines = lines })
  vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(buf), 0 })
  vim.cmd('redraw')
  local function rows()
    return vim.api.nvim_win_text_height(0, { start_row = vim.fn.line('w0') - 1, start_vcol = 0 }).all
  end
  view:tail({ { { 'one', 'Comment' } }, { { 'two', 'Comment' } }, { { 'three', 'Comment' } } })
  vim.cmd('redraw')
  T.check(rows() <= vim.api.nvim_win_get_height(0), rows())
  T.check(rows() >= vim.api.nvim_win_get_height(0) - 1, rows())
  -- One who reads further up is not moved.
  vim.api.nvim_win_set_cursor(0, { 10, 0 })
  vim.cmd('redraw')
  local top = vim.fn.line('w0')
  view:tail({ { { 'one', 'Comment' } }, { { 'two', 'Comment' } }, { { 'three', 'Comment' } }, { { 'four', 'Comment' } } })
  vim.cmd('redraw')
  T.equal(vim.fn.line('w0'), top)
end

tests['of an output that is still coming so much is kept as is shown, and its lines are counted right'] = function()
  local threads, words = require('countersign.threads'), require('countersign.chat.words')
  for _, wide in ipairs({ 20, 3000 }) do
    T.fresh()
    threads = require('countersign.threads')
    words = require('countersign.chat.words')
    local at, sum = { threadId = 't', turnId = 'u', itemId = 'c' }, 0
    threads.apply('item/started', vim.tbl_extend('force', at, { item = { id = 'c', type = 'commandExecution', command = 'make', status = 'inProgress' } }), 1)
    for i = 1, 300 do
      local lines = {}
      for k = 1, math.floor(10000 / wide) do
        sum = sum + 1
        lines[k] = ('%d %s'):format(sum, ('x'):rep(wide))
      end
      threads.apply('item/commandExecution/outputDelta', vim.tbl_extend('force', at, { delta = table.concat(lines, '\n') .. '\n' }), 1)
    end
    local item = threads.get('t').by_id.c
    T.check(#item.aggregatedOutput <= 131000, #item.aggregatedOutput)
    local block, shown_lines, left = words.block(item), 0, 0
    for _, line in ipairs(block.lines) do
      shown_lines = shown_lines + (line:find('^%d+ x') and 1 or 0)
      left = tonumber(line:match('^… (%d+) lines left out …$')) or left
    end
    T.equal(shown_lines + left, sum, wide .. ' wide')
    T.check(vim.startswith(block.lines[3], '1 x') and vim.startswith(block.lines[#block.lines - 1], sum .. ' x'), block.lines[3]:sub(1, 30))
  end
end

tests['what a command changed is kept or undone, file by file'] = function()
  local undone = {}
  local id = T.countersign({ ['countersign/turn/undo'] = function(params)
    undone[#undone + 1] = params
    return { turnId = 'z' }
  end })
  local function change(name)
    return { path = '/p/' .. name, kind = { type = 'update' }, added = 1, removed = 2, diff = '--- a/' .. name }
  end
  local item = { id = 'c', type = 'commandChanges', changes = { change('a.py'), change('b.py'), change('d.py') } }
  local thread = require('countersign.threads').adopt({ id = 't', turns = { { id = 'u', status = 'completed', items = { item } } } }, id)
  local chat = require('countersign.chat').buffer('t')
  local offered, choose = nil, nil
  vim.ui.select = function(items, options, done)
    offered = vim.tbl_map(options.format_item, items)
    for _, one in ipairs(items) do
      if choose and vim.startswith(one.label, choose) then
        return done(one)
      end
    end
    done(nil)
  end
  local function files(what)
    choose = what
    require('countersign.commands').run('files')
  end
  files(nil)
  T.equal(undone, {}, 'a closed list undoes nothing')
  T.equal({ offered[1], offered[3], offered[4], #offered }, { 'Close', 'Keep all 3 files', 'Undo all 3 files', 10 })
  files('Keep /p/a.py')
  files('Undo /p/b.py')
  T.wait('the undo', function()
    return #undone == 1
  end)
  T.equal({ undone[1].itemId, undone[1].paths, undone[1].conflicts }, { 'c', { '/p/b.py' }, 'keep' })
  require('countersign.threads').apply('item/completed', { threadId = 't', turnId = 'z', item = { type = 'undo', id = 'x', itemId = 'c', status = 'completed', turns = {}, files = { { path = '/p/b.py', result = 'restored' } } } }, id)
  T.wait('the row', function()
    return shown(chat.buf):find('/p/a.py +1 −2 (kept), /p/b.py +1 −2 (undone), /p/d.py +1 −2\n', 1, true)
  end)
  files('Undo /p/d.py')
  T.wait('the undo', function()
    return #undone == 2
  end)
  T.equal(undone[2].paths, { '/p/d.py' })
  -- While a turn runs nothing is undone under it.
  thread.turn = 'u'
  files('Undo /p/d.py')
  vim.wait(30)
  T.equal(#undone, 2)
  vim.ui.select = T.ui.select
end

tests['the bar tells what is left'] = function()
  local bar = require('countersign.chat.bar')
  T.equal(bar.tokens(999), '999')
  T.equal(bar.tokens(1500), '1.5k')
  T.equal(bar.tokens(272000), '272k')
  local thread = { name = '100% sure', preview = '', settings = { model = 'm%0', mode = 'plan' }, usage = { last = { totalTokens = 30 }, modelContextWindow = 100 } }
  T.equal({ bar.left(thread) }, { 70, 70 })
  T.has(bar.text(thread), '100%% sure')
  T.has(bar.text(thread), 'm%%0 · plan')
  T.has(bar.text(thread), '70 tokens left (70%%)')
  T.check(not bar.text(thread):find('$', 1, true))
  for _, case in ipairs({ { 0.0012, false, '$0.0012' }, { 1.234, false, '$1.23' }, { 0.05, true, '> $0.05' } }) do
    thread.usage.cost = { usd = case[1], isPartial = case[2] }
    T.has(bar.text(thread), case[3])
  end
  T.equal(require('countersign').statusline(), '')
end

tests['the bar is not cut in a narrow window: what matters least is left out, whole'] = function()
  local bar = require('countersign.chat.bar')
  local function thread(mode, total)
    return { turn = 't', name = 'Rounding of prices in the cart of the shop', preview = '', settings = { model = 'gpt-5.1-codex', effort = 'high', mode = mode }, usage = { last = { totalTokens = total }, modelContextWindow = 100000 } }
  end
  local function shown(given, width)
    return (bar.text(given, width):gsub('%%#%w+#', ''):gsub('%%[*=<]', ''):gsub('%%%%', '%%'))
  end
  for width = 24, 130 do
    local text = vim.trim(shown(thread('plan', 30000), width))
    T.check(vim.fn.strdisplaywidth(text) <= width, ('%d columns: %s'):format(width, text))
    T.check(text:find('^● Round'), text)
  end
  T.has(shown(thread('plan', 30000), 130), 'gpt-5.1-codex high · plan · 70k tokens left (70%)')
  T.has(shown(thread('plan', 30000), 64), '70% left')
  -- A mode in which less is done, and little room, stay longer than the model.
  T.has(shown(thread('plan', 30000), 34), 'plan')
  T.has(shown(thread('agent', 90000), 34), '10% left')
  T.check(not shown(thread('agent', 90000), 34):find('gpt', 1, true))
end

return tests
