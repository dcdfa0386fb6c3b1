local T = ...
local tests = {}

local open

local function pickers()
  open = nil
  vim.ui.select = function(items, options, done)
    open = { items = items, options = options, done = done }
  end
end

local function command(id)
  return {
    id = id,
    threadId = 't',
    turnId = 'u',
    itemId = 'i',
    command = { 'bash', '-lc', 'make test' },
    display = "bash -lc 'make test'",
    cwd = '/shop',
    actions = { { type = 'test', command = 'make test' } },
    reason = 'It is not known to be safe.',
    confined = 'outside',
    sessionScope = 'make test',
    availableDecisions = { 'accept', 'acceptForSession', 'decline', 'cancel' },
  }
end

--- Waits until a question is open, another one than that.
local function opens(before)
  T.wait('the question', function()
    return open ~= nil and open ~= before
  end)
end

--- The questions' windows that take no keys.
local function cards()
  local list = {}
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(win).relative ~= '' then
      list[#list + 1] = table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false), '\n')
    end
  end
  return list
end

tests['a question waits for still keys, is put once, and its first choice is a no'] = function()
  pickers()
  T.fresh({ questions = { pause = 10 } })
  local ask = require('countersign.ask')
  local got = T.asked('approval/command', command('a'))
  opens()
  T.equal(open.items[1].decision, 'decline')
  T.has(open.options.prompt, 'make test')
  -- A picker of others has one line for it: all of it stands in a window beside.
  T.check(not open.options.prompt:find('\n', 1, true), open.options.prompt)
  T.has(cards()[1], 'OUTSIDE')
  local second = T.asked('approval/command', command('b'))
  local first = open
  vim.wait(100, function() end)
  T.equal(open, first, 'two questions at once')
  first.done(first.items[2])
  T.ends(got)
  T.equal(got.result.decision, 'accept')
  opens(first)
  open.done(nil)
  T.ends(second)
  T.equal(second.result.decision, 'decline')
  T.equal(#ask.waiting(), 0)
end

tests['a question that is settled elsewhere is taken back, and a late choice counts for nothing'] = function()
  pickers()
  T.fresh({ questions = { pause = 10 } })
  local got = T.asked('approval/command', command('a'))
  opens()
  require('countersign.ask').approval_resolved({ approvalId = 'a', decision = 'accept' })
  T.ends(got)
  T.equal(got.result.decision, 'decline')
  open.done(open.items[2])
  vim.wait(50, function() end)
  T.equal(got.result.decision, 'decline')
end

tests['words go with a no, and closing their prompt is a no without'] = function()
  pickers()
  T.fresh({ questions = { pause = 10 } })
  for _, said in ipairs({ 'not now', false }) do
    open = nil
    vim.ui.input = function(_, done)
      done(said or nil)
    end
    local got = T.asked('approval/command', command('a'))
    opens()
    for _, choice in ipairs(open.items) do
      if choice.words then
        open.done(choice)
      end
    end
    T.ends(got)
    T.equal({ got.result.decision, got.result.feedback }, { 'decline', said or nil })
  end
end

tests['a question that is put aside holds no other up, and opens at a wish'] = function()
  pickers()
  T.fresh({ questions = { pause = 10 } })
  local ask = require('countersign.ask')
  local first, second = T.asked('approval/command', command('a')), T.asked('approval/command', command('b'))
  opens()
  local before = open
  ask.put_aside(ask.waiting()[1])
  ask.open()
  T.check(open ~= before, 'the other is asked')
  open.done(nil)
  T.ends(second)
  T.check(not first.there)
  before = open
  vim.wait(200, function() end)
  T.equal(open, before, 'the one aside does not open by itself')
  ask.open()
  T.check(open ~= before)
  open.done(open.items[2])
  T.ends(first)
  T.equal(first.result.decision, 'accept')
end

tests['one that comes while another is put aside is asked by itself'] = function()
  pickers()
  T.fresh({ questions = { pause = 10 } })
  local ask = require('countersign.ask')
  T.asked('approval/command', command('a'))
  opens()
  local before = open
  ask.put_aside(ask.waiting()[1])
  local second = T.asked('approval/command', command('b'))
  opens(before)
  open.done(nil)
  T.ends(second)
  ask.answer(nil, { decision = 'decline' })
end

local function labels()
  return vim.tbl_map(function(choice)
    return choice.label
  end, open.items)
end

--- Chooses to read all of it, which is all that is offered beside a no; gives the question that was open.
local function reads_first()
  T.equal(labels()[2], 'Read all of it, then decide…')
  for _, choice in ipairs(open.items) do
    T.check(choice.decision ~= 'accept' and choice.decision ~= 'acceptForSession', choice.label)
  end
  local before = open
  open.done(open.items[2])
  return before
end

tests['what hides in a question is written by its number'] = function()
  pickers()
  T.fresh({ questions = { pause = 10 } })
  local params = command('a')
  params.display = 'rm a\u{3164}b' .. (' '):rep(300) .. 'c'
  params.justification = 'as\u{202e}ked'
  local got = T.asked('approval/command', params)
  opens()
  T.has(table.concat(cards(), '\n'), 'a<U+3164>b<300 blanks>c')
  T.has(table.concat(cards(), '\n'), 'as<U+202E>ked')
  open.done(nil)
  T.ends(got)
end

tests['what a yes for longer covers is shown whole, or there is none'] = function()
  pickers()
  T.fresh({ questions = { pause = 10 } })
  local params = command('a')
  params.sessionScope = ('x'):rep(200) .. ' and everything else'
  params.alwaysRule = { title = 'make', text = ('y'):rep(300) .. ' and everything else', toml = '', file = '/f' }
  params.availableDecisions = { 'accept', 'acceptForSession', 'acceptAlways', 'decline' }
  local got = T.asked('approval/command', params)
  opens()
  for _, choice in ipairs(open.items) do
    T.check(choice.decision ~= 'acceptForSession' and choice.decision ~= 'acceptAlways', choice.label)
  end
  open.done(nil)
  T.ends(got)
end

tests['a command that does not fit its prompt is shown to its end before there is a yes'] = function()
  vim.o.columns, vim.o.lines = 100, 40
  for _, row in ipairs({
    -- What hides at the end, and whether a window can hold it.
    { ('echo %s; rm -rf /'):format(('x'):rep(400)), true },
    { ('echo %s; rm -rf /'):format(('\u{200b}'):rep(60)), true },
    { 'echo fine # \nrm -rf /', true },
    { 'echo fine\r\27[2Krm -rf /', true },
    { ('echo x; '):rep(800) .. 'rm -rf /', false },
  }) do
    pickers()
    T.fresh({ questions = { pause = 10 } })
    local params = command('a')
    params.display = row[1]
    local got = T.asked('approval/command', params)
    opens()
    if row[2] then
      T.equal(#cards(), 1)
      T.has(cards()[1], 'rm -rf /')
      T.check(not cards()[1]:find('\27', 1, true), 'what hides text is made visible')
    else
      T.check(not (cards()[1] or ''):find('rm -rf', 1, true), cards())
      local before = reads_first()
      T.equal(#vim.api.nvim_list_tabpages(), 2)
      T.check(vim.endswith(vim.api.nvim_buf_get_lines(0, 0, 1, false)[1], 'rm -rf /?'))
      vim.wait(400, function() end)
      T.equal(open, before, 'asked again while it is read')
      vim.cmd.tabclose()
      opens(before)
    end
    for _, choice in ipairs(open.items) do
      if choice.decision == 'accept' then
        open.done(choice)
      end
    end
    T.ends(got)
    T.equal(got.result.decision, 'accept')
    T.equal(cards(), {})
  end
  vim.o.columns, vim.o.lines = 80, 24
end

tests['whatever is asked, what stands beside it goes when it is settled elsewhere'] = function()
  vim.o.columns, vim.o.lines = 100, 40
  local long = ('why '):rep(40)
  for _, row in ipairs({
    { 'userInput/request', { questions = { { id = '1', header = 'H', question = long, options = { { label = 'a' } } } } }, 'input_resolved', 'id', long },
    { 'userInput/request', { questions = { { id = '1', header = 'H', question = long } } }, 'input_resolved', 'id', long },
    { 'mcp/elicitation', { server = 's', message = long, mode = 'form', requestedSchema = {} }, 'elicitation_resolved', 'elicitationId', long },
    { 'mcp/elicitation', { server = 's', message = 'm', mode = 'url', url = 'https://example.org/' .. ('x'):rep(200) .. 'end' }, 'elicitation_resolved', 'elicitationId', 'xend' },
  }) do
    pickers()
    vim.ui.input = function() end
    T.fresh({ questions = { pause = 10 } })
    local got = T.asked(row[1], vim.tbl_extend('force', { id = 'q', threadId = 't', turnId = 'u', itemId = 'i' }, row[2]))
    T.wait('the question', function()
      return #cards() == 1
    end)
    T.has((cards()[1]:gsub('\n', '')), vim.trim(row[5]))
    require('countersign.ask')[row[3]]({ [row[4]] = 'q' })
    T.ends(got)
    T.equal(cards(), {})
  end
  vim.o.columns, vim.o.lines = 80, 24
end

tests['what shows a question goes when it is settled elsewhere'] = function()
  vim.o.columns, vim.o.lines = 100, 40
  pickers()
  T.fresh({ questions = { pause = 10 } })
  local params = command('a')
  params.display = 'a\nb'
  local got = T.asked('approval/command', params)
  T.wait('the question', function()
    return #cards() == 1
  end)
  require('countersign.ask').approval_resolved({ approvalId = 'a', decision = 'accept' })
  T.ends(got)
  T.equal(cards(), {})
  vim.o.columns, vim.o.lines = 80, 24
end

tests['a denial is overruled by its own number, whatever was denied since'] = function()
  pickers()
  T.fresh()
  vim.o.columns = 100
  local id, wire = T.countersign({ ['countersign/guardian/approveDenied'] = { taken = true } })
  local notices = require('countersign.notices')
  local function deny(assessment, line)
    local action = { type = 'command', command = { 'bash', '-lc', line }, display = line, cwd = '/', confined = 'workspace', reason = '' }
    notices.assessment({ threadId = 't', id = assessment, itemId = 'i', status = 'denied', action = action, rationale = 'No.' }, id)
  end
  deny('first', 'make test')
  T.has(T.messages[#T.messages][1], ':Countersign overrule 1 — the automatic reviewer denied make test')
  deny('second', 'rm -rf /')
  local commands = require('countersign.commands')
  T.equal(commands.complete('', 'Countersign overrule '), { '1', '2' })
  local function approved()
    local list = {}
    for _, one in ipairs(wire) do
      if one.method == 'countersign/guardian/approveDenied' then
        list[#list + 1] = one.params.assessmentId
      end
    end
    return list
  end
  commands.run('overrule', '1')
  T.equal(approved(), { 'first' })
  -- Once.
  commands.run('overrule', '1')
  T.equal(approved(), { 'first' })
  T.has(T.messages[#T.messages][1], 'has the number 1')
  -- Without a number it is chosen by its words, and the first choice is a no.
  commands.run('overrule', '')
  T.equal(open.items[1].label, 'Leave Denied')
  T.equal(open.items[2].label, 'Allow Once: rm -rf /')
  open.done(open.items[1])
  T.equal(approved(), { 'first' })
  commands.run('overrule', '')
  open.done(open.items[2])
  T.equal(approved(), { 'first', 'second' })
  -- Neither allows what its message or its entry has cut before all of it was shown.
  deny('third', ('x'):rep(90) .. '; rm -rf /')
  deny('fourth', ('x'):rep(300) .. '; rm -rf /')
  for number, part in pairs({ ['3'] = 'third', ['4'] = 'fourth' }) do
    open = nil
    commands.run('overrule', number)
    T.check(not vim.tbl_contains(approved(), part), part)
    T.has((cards()[1]:gsub('\n', '')), '; rm -rf /')
    T.equal(open.items[1].label, 'Leave Denied')
    open.done(open.items[2])
    T.check(vim.tbl_contains(approved(), part), part)
  end
  vim.o.columns = 80
end

tests['what is asked in words is answered by choices or words, and nothing is no answer'] = function()
  T.fresh({ questions = { pause = 10 } })
  local params = { id = 'q', threadId = 't', turnId = 'u', itemId = 'i', questions = {
    { id = 'one', header = 'H', question = 'Q?', isOther = true, options = { { label = 'A\nB', description = 'd' } } },
    { id = 'two', header = 'H', question = 'R?', isOther = false, options = {} },
  } }
  vim.ui.select = function(items, _, done)
    done(items[1])
  end
  vim.ui.input = function(_, done)
    done('mine')
  end
  local got = T.asked('userInput/request', params)
  T.ends(got)
  T.equal(got.result, { answers = { one = { answers = { 'A\nB' } }, two = { answers = { 'mine' } } } })
  vim.ui.select = function(_, _, done)
    done(nil)
  end
  vim.ui.input = function(_, done)
    done(nil)
  end
  got = T.asked('userInput/request', params)
  T.ends(got)
  T.equal(got.result, vim.NIL)
end

tests['a form is filled in as its schema wants'] = function()
  local form = require('countersign.ask.elicitation')
  for _, row in ipairs({
    { { type = 'integer' }, '7', 7 },
    { { type = 'integer' }, '7.5', nil },
    { { type = 'number', maximum = 3 }, '4', nil },
    { { type = 'number' }, 'x', nil },
    { { type = 'string', minLength = 2 }, 'a', nil },
    { { type = 'string', maxLength = 2 }, 'äö', 'äö' },
  }) do
    T.equal((form.read(row[1], row[2])), row[3], row[2])
  end
  local schema = { type = 'object', required = { 'branch' }, properties = {
    branch = { type = 'string' },
    force = { type = 'boolean' },
    kind = { type = 'string', enum = { 'a', 'b' } },
    note = { type = 'string' },
  } }
  local typed = { '', 'main' }
  vim.ui.input = function(options, done)
    done(vim.startswith(options.prompt, 'branch') and table.remove(typed, 1) or nil)
  end
  vim.ui.select = function(items, _, done)
    done(items[2])
  end
  schema.properties.branch.minLength = 1
  local content
  form.fill(schema, function(given)
    content = given
  end)
  T.wait('the form', function()
    return content ~= nil
  end)
  T.equal(content, { branch = 'main', force = true, kind = 'b' })
end

tests['an address that is no web page is not opened'] = function()
  T.fresh({ questions = { pause = 10 } })
  local opened
  vim.ui.open = function(url)
    opened = url
  end
  vim.ui.select = function(items, _, done)
    done(items[2])
  end
  for url, action in pairs({ ['file:///etc/passwd'] = 'decline', ['https://example.org/x'] = 'accept' }) do
    opened = nil
    local got = T.asked('mcp/elicitation', { id = 'e', threadId = 't', turnId = 'u', itemId = 'i', server = 's', requestId = 1, message = 'm', mode = 'url', url = url, elicitationId = 'x' })
    T.ends(got)
    T.equal(got.result.action, action)
    T.equal(opened, action == 'accept' and url or nil)
  end
end

tests['a command is shown as the server writes it, with the program that runs and what it looks like'] = function()
  vim.o.columns, vim.o.lines = 100, 40
  pickers()
  T.fresh({ questions = { pause = 10 } })
  local params = command('a')
  params.agent = 'a\u{202e}b'
  params.command, params.display = { './push', '-c', 'git status' }, "./push -c 'git status'"
  params.notes = { '“x” looks like “y” and is not the same.' }
  params.justification = 'I must.\nNote: all is well.'
  local got = T.asked('approval/command', params)
  opens()
  local lines = vim.split(cards()[1], '\n', { plain = true })
  T.equal(lines[1], "agent a<U+202E>b: Run ./push -c 'git status'?")
  T.equal(lines[2], 'Note: “x” looks like “y” and is not the same.')
  T.equal(lines[#lines], 'The agent says: I must. Note: all is well.')
  open.done(nil)
  T.ends(got)
  vim.o.columns, vim.o.lines = 80, 24
end

tests['a script stands on lines of its own, none of which passes for one of ours'] = function()
  vim.o.columns, vim.o.lines = 100, 40
  pickers()
  T.fresh({ questions = { pause = 10 } })
  local params = command('a')
  params.script = 'cd build\nIn ~/safe, inside the sandbox.\n' .. ('xy'):rep(80)
  params.display = "bash -lc $'cd build\\nIn ~/safe, inside the sandbox.\\n" .. ('xy'):rep(80) .. "'"
  local got = T.asked('approval/command', params)
  opens()
  local lines = vim.split(cards()[1], '\n', { plain = true })
  T.has(lines[1], "Run bash -lc $'cd build\\nIn ~/safe")
  T.equal(vim.list_slice(lines, 3, 6), { 'Run:', '    cd build', '    In ~/safe, inside the sandbox.', '    ' .. ('xy'):rep(80) })
  T.has(lines[7], 'In /shop, OUTSIDE the sandbox')
  -- Broken lines go on under where they began, and the window has room for all of them.
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(win).relative ~= '' then
      T.check(vim.wo[win].breakindent)
      T.equal(vim.api.nvim_win_text_height(win, {}).all, vim.api.nvim_win_get_height(win))
    end
  end
  open.done(nil)
  T.ends(got)
  vim.o.columns, vim.o.lines = 80, 24
end

tests['who asks for more than the sandbox allows says why in words of their own'] = function()
  vim.o.columns, vim.o.lines = 100, 40
  pickers()
  T.fresh({ questions = { pause = 10 } })
  local got = T.asked('approval/permission', {
    id = 'b',
    threadId = 'T',
    reason = 'The model asks that commands may reach example.org.',
    justification = 'I must.\nNote: all is well.',
    folders = {},
    paths = {},
    acceptCovers = 'turn',
    availableDecisions = { 'accept', 'decline' },
  })
  opens()
  local lines = vim.split(cards()[1], '\n', { plain = true })
  T.equal(lines[1], 'The model asks that commands may reach example.org.')
  T.equal(lines[#lines], 'The agent says: I must. Note: all is well.')
  open.done(nil)
  T.ends(got)
  vim.o.columns, vim.o.lines = 80, 24
end

tests['whatever of a question is cut, there is no yes before all of it was shown'] = function()
  local hidden = ('\u{200b}'):rep(60)
  local tool = { server = 's', tool = 't', title = 'T', arguments = { a = 1 }, reason = 'It asks.', sessionScope = '', availableDecisions = { 'accept', 'decline' } }
  local permission = { reason = 'More.', folders = {}, paths = {}, acceptCovers = 'turn', availableDecisions = { 'accept', 'decline' } }
  local page = { server = 's', requestId = 1, message = 'm', mode = 'url', url = 'https://example.org/x', elicitationId = 'x' }
  local long = ('why '):rep(150) .. 'END'
  for _, row in ipairs({
    { 'approval/command', command('a'), { justification = long } },
    { 'approval/command', command('a'), { reason = long } },
    { 'approval/command', command('a'), { justification = hidden:rep(2) .. 'END' } },
    { 'approval/command', command('a'), { risk = { level = 'high', description = long } } },
    { 'approval/command', command('a'), { notes = { long } } },
    { 'approval/command', command('a'), { cwd = '/' .. ('x'):rep(250) .. 'END' } },
    { 'approval/tool', tool, { reason = 'changed:\n- a\n+ END' } },
    { 'approval/tool', tool, { tool = ('x'):rep(200) .. 'END' } },
    { 'approval/tool', tool, { arguments = { a = long } } },
    { 'approval/permission', permission, { justification = long } },
    { 'approval/permission', permission, { reason = hidden .. ('x'):rep(300) .. 'END' } },
    { 'approval/permission', permission, { paths = vim.split(('/p '):rep(12) .. '/END', ' ') } },
    { 'mcp/elicitation', page, { message = long } },
    { 'mcp/elicitation', page, { url = 'https://example.org/' .. ('x'):rep(400) .. 'END' } },
    { 'mcp/elicitation', page, { notes = { long } } },
  }) do
    for _, room in ipairs({ true, false }) do
      vim.o.columns, vim.o.lines = 100, room and 60 or 15
      pickers()
      T.fresh({ questions = { pause = 10 } })
      local params = vim.tbl_extend('force', { id = 'a', threadId = 't', turnId = 'u', itemId = 'i' }, row[2], row[3])
      local got = T.asked(row[1], params)
      opens()
      local function is_yes(one)
        return one.decision == 'accept' or one.action == 'accept'
      end
      if not room then
        T.check(not vim.iter(open.items):any(is_yes), labels())
        local before = reads_first()
        T.has(table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n'), 'END')
        vim.cmd.tabclose()
        opens(before)
      else
        T.has((table.concat(cards(), ''):gsub('\n', '')), 'END')
      end
      T.check(vim.iter(open.items):any(is_yes), labels())
      open.done(nil)
      T.ends(got)
    end
  end
  vim.o.columns, vim.o.lines = 80, 24
end

tests['names of conversations and first lines of changes show what hides in them'] = function()
  local hidden = 'a\u{202e}b'
  T.has(require('countersign.chat.bar').text({ name = hidden }), 'a<U+202E>b')
  local proposals = require('countersign.proposals')
  local hunk = { newText = hidden .. '\n', oldText = '' }
  T.equal(proposals.headline(hunk), 'a<U+202E>b')
  T.has(proposals.summary({ files = { { path = '/' .. hidden, kind = { type = 'update' }, hunks = { hunk } } } }), 'a<U+202E>b')
  T.fresh()
  require('countersign.client').tell(hidden)
  T.has(T.messages[#T.messages][1], 'a<U+202E>b')
end

tests['a prompt that the screen cannot hold is read before there is a yes'] = function()
  vim.o.columns, vim.o.lines = 60, 18
  pickers()
  T.fresh({ questions = { pause = 10 } })
  local params = command('a')
  params.reason, params.justification = ('why '):rep(70) .. 'END', ('because '):rep(30)
  local got = T.asked('approval/command', params)
  opens()
  local before = reads_first()
  T.has(table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n'), 'END')
  vim.cmd.tabclose()
  opens(before)
  T.equal(open.items[2].decision, 'accept')
  -- What stands beside the picker leaves it its room.
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    local config = vim.api.nvim_win_get_config(win)
    T.check(config.relative == '' or config.height <= 4, config)
  end
  open.done(open.items[2])
  T.ends(got)
  T.equal(got.result.decision, 'accept')
  vim.o.columns, vim.o.lines = 80, 24
end

local two_questions = { id = 'q', threadId = 't', turnId = 'u', itemId = 'i', questions = {
  { id = 'one', header = 'H', question = 'Q?', options = { { label = 'A' } } },
  { id = 'two', header = 'H', question = 'R?', options = { { label = 'B' } } },
} }

tests['what is said to a question that was settled elsewhere is told to be lost, and no more is asked'] = function()
  local function told()
    return vim.tbl_filter(function(one)
      return one[1]:find('was settled elsewhere', 1, true) ~= nil
    end, T.messages)
  end
  for _, row in ipairs({
    { 'userInput/request', two_questions, 'input_resolved', 'id' },
    { 'mcp/elicitation', { id = 'q', threadId = 't', turnId = 'u', itemId = 'i', server = 's', message = 'm', mode = 'form', requestedSchema = { properties = { a = { type = 'boolean' }, b = { type = 'boolean' } } } }, 'elicitation_resolved', 'elicitationId' },
  }) do
    pickers()
    T.fresh({ questions = { pause = 10 } })
    local got = T.asked(row[1], row[2])
    opens()
    if row[1] == 'mcp/elicitation' then
      local before = open
      open.done(open.items[2])
      opens(before)
    end
    require('countersign.ask')[row[3]]({ [row[4]] = 'q' })
    T.ends(got)
    local before = open
    before.done(before.items[1])
    T.wait('the word about it', function()
      return #told() == 1
    end)
    vim.wait(100, function() end)
    T.equal(open, before, 'asked on')
  end
  -- Who says nothing has lost nothing.
  T.fresh({ questions = { pause = 10 } })
  open = nil
  local got = T.asked('userInput/request', two_questions)
  opens()
  require('countersign.ask').input_resolved({ id = 'q' })
  T.ends(got)
  open.done(nil)
  vim.wait(100, function() end)
  T.equal(told(), {})
end

tests['what is said to a question whose server has ended is told to be lost with it'] = function()
  for _, finish in ipairs({
    function(wire)
      wire.exit(1)
    end,
    -- Also where the person has ended it.
    function()
      require('countersign.commands').run('restart', '')
    end,
  }) do
    pickers()
    T.fresh({ cmd = { '/no/such/server' }, questions = { pause = 10 } })
    local id, wire = T.countersign({})
    require('countersign.threads').ensure('t', id)
    local got = T.asked('approval/command', command('a'))
    opens()
    finish(wire)
    T.ends(got)
    T.equal(got.result.decision, 'decline')
    open.done(open.items[2])
    local function told(part)
      return vim.tbl_filter(function(one)
        return one[1]:find(part, 1, true) ~= nil
      end, T.messages)
    end
    T.wait('the word about it', function()
      return #told('the server has ended; what you said was not sent') == 1
    end)
    T.equal(told('settled elsewhere'), {})
    T.equal(told('the server was lost'), {})
  end
end

tests['a yes for longer to a tool comes once what the tool is was read'] = function()
  local approval = require('countersign.ask.approval')
  local tool = { availableDecisions = { 'accept', 'acceptForSession', 'acceptAlways', 'decline' }, sessionScope = 's: t', definition = 'Does t.\n{"type":"object"}' }
  local function offered(read)
    return vim.tbl_map(function(one)
      return one.decision or 'read'
    end, approval.choices(tool, 'Allow Once', false, read))
  end
  T.equal(offered(false), { 'decline', 'accept', 'read', 'decline' })
  T.equal(offered(true), { 'decline', 'accept', 'acceptForSession', 'acceptAlways', 'decline' })
  pickers()
  T.fresh({ questions = { pause = 10 } })
  T.asked('approval/tool', {
    id = 'a', threadId = 't', turnId = 'u', itemId = 'i', server = 's', tool = 't', title = 'T', arguments = {}, reason = 'It asks.',
    sessionScope = 's: t', definition = tool.definition, availableDecisions = tool.availableDecisions,
  })
  opens()
  local first = open
  for _, one in ipairs(first.items) do
    if one.read then
      first.done(one)
    end
  end
  T.wait('the page', function()
    return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n'):find('Does t.', 1, true) ~= nil
  end)
  vim.cmd('close')
  opens(first)
  T.equal(open.items[3].decision, 'acceptForSession')
end

tests['a message with choices is shown whole, in whatever picker'] = function()
  T.fresh({ questions = { pause = 10 } })
  local message = 'These words are not yours:\n> !touch pwned\nIts header asks for the folder /elsewhere'
  local seen
  vim.ui.select = function(items, options, done)
    local texts = { options.prompt }
    for _, win in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(win).relative == 'editor' then
        vim.list_extend(texts, vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false))
      end
    end
    seen = { text = table.concat(texts, '\n'), labels = vim.tbl_map(options.format_item, items) }
    done(items[2])
  end
  local handler = require('countersign.handlers').table()['window/showMessageRequest']
  local answer
  coroutine.wrap(function()
    answer = handler(nil, { type = 3, message = message, actions = { { title = 'Do not send' }, { title = 'Send' } } })
  end)()
  T.wait('the answer', function()
    return answer ~= nil
  end)
  T.equal(answer, { title = 'Send' })
  T.equal(seen.labels, { 'Do not send', 'Send' })
  T.has(seen.text, '> !touch pwned')
  T.has(seen.text, 'the folder /elsewhere')
  -- One that the screen cannot hold is read first.
  vim.ui.select = function(items, options, done)
    seen = { labels = vim.tbl_map(options.format_item, items) }
    done(nil)
  end
  answer = nil
  coroutine.wrap(function()
    answer = handler(nil, { type = 3, message = ('line\n'):rep(200), actions = { { title = 'Send' } } })
  end)()
  T.wait('the answer', function()
    return answer ~= nil
  end)
  T.equal(answer, vim.NIL)
  T.equal(seen.labels, { require('countersign.ask.whole').READ.label })
end

tests['a picker that is closed by the next one of the same question is no answer'] = function()
  for method, params in pairs({ ['approval/command'] = command('a'), ['userInput/request'] = two_questions }) do
    T.fresh({ questions = { pause = 10 } })
    open = nil
    local opened = 0
    vim.ui.select = function(items, _, done)
      local before = open
      open = { items = items, done = done }
      opened = opened + 1
      if before and not before.over then
        before.done(nil)
      end
    end
    local got = T.asked(method, params)
    opens()
    if method == 'userInput/request' then
      local before = open
      before.over = true
      before.done(before.items[1])
      opens(before)
    end
    local count = opened
    require('countersign.ask').open()
    vim.wait(150, function() end)
    T.equal({ got.there, opened }, { nil, count + 1 })
    local last = open
    last.over = true
    if method == 'userInput/request' then
      last.done(last.items[1])
      opens(last)
      open.over = true
      open.done(open.items[1])
      T.ends(got)
      T.equal(got.result, { answers = { one = { answers = { 'A' } }, two = { answers = { 'B' } } } })
    else
      last.done(last.items[2])
      T.ends(got)
      T.equal(got.result.decision, 'accept')
    end
  end
end

return tests
