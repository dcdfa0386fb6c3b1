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
  T.equal(require('countersign').statusline(), '')
end

return tests
