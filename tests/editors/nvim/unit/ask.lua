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
    cwd = '/shop',
    actions = { { type = 'test', command = 'make test' } },
    reason = 'It is not known to be safe.',
    confined = 'outside',
    sessionScope = 'make test',
    availableDecisions = { 'accept', 'acceptForSession', 'decline', 'cancel' },
  }
end

--- Asks as a handler does; the answer is in the table once there is one.
local function asked(method, params)
  local got = {}
  local handler = require('countersign.handlers').table()['countersign/' .. method]
  coroutine.wrap(function()
    got.result, got.error = handler(nil, params, { client_id = 1 })
    got.there = true
  end)()
  return got
end

tests['a question waits for still keys, is put once, and its first choice is a no'] = function()
  pickers()
  T.fresh({ questions = { pause = 10 } })
  local ask = require('countersign.ask')
  local got = asked('approval/command', command('a'))
  T.wait('the question', function()
    return open ~= nil
  end)
  T.equal(open.items[1].decision, 'decline')
  T.has(open.options.prompt, 'make test')
  T.has(open.options.prompt, 'OUTSIDE')
  local second = asked('approval/command', command('b'))
  local first = open
  vim.wait(100, function() end)
  T.equal(open, first, 'two questions at once')
  first.done(first.items[2])
  T.wait('the answer', function()
    return got.there
  end)
  T.equal(got.result.decision, 'accept')
  T.wait('the next question', function()
    return open ~= first
  end)
  open.done(nil)
  T.wait('its answer', function()
    return second.there
  end)
  T.equal(second.result.decision, 'decline')
  T.equal(#ask.waiting(), 0)
end

tests['a question that is settled elsewhere is taken back, and a late choice counts for nothing'] = function()
  pickers()
  T.fresh({ questions = { pause = 10 } })
  local got = asked('approval/command', command('a'))
  T.wait('the question', function()
    return open ~= nil
  end)
  require('countersign.ask').approval_resolved({ approvalId = 'a', decision = 'accept' })
  T.wait('the end', function()
    return got.there
  end)
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
    local got = asked('approval/command', command('a'))
    T.wait('the question', function()
      return open ~= nil
    end)
    for _, choice in ipairs(open.items) do
      if choice.words then
        open.done(choice)
      end
    end
    T.wait('the answer', function()
      return got.there
    end)
    T.equal({ got.result.decision, got.result.feedback }, { 'decline', said or nil })
  end
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
  local got = asked('userInput/request', params)
  T.wait('the answers', function()
    return got.there
  end)
  T.equal(got.result, { answers = { one = { answers = { 'A\nB' } }, two = { answers = { 'mine' } } } })
  vim.ui.select = function(_, _, done)
    done(nil)
  end
  vim.ui.input = vim.ui.select and function(_, done)
    done(nil)
  end
  got = asked('userInput/request', params)
  T.wait('no answer', function()
    return got.there
  end)
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
    local got = asked('mcp/elicitation', { id = 'e', threadId = 't', turnId = 'u', itemId = 'i', server = 's', requestId = 1, message = 'm', mode = 'url', url = url, elicitationId = 'x' })
    T.wait('the answer', function()
      return got.there
    end)
    T.equal(got.result.action, action)
    T.equal(opened, action == 'accept' and url or nil)
  end
end

tests['a command is shown as it would be typed'] = function()
  local line = require('countersign.ask.approval').command_line
  T.equal(line({ 'bash', '-lc', 'make test | tail' }), 'make test | tail')
  T.equal(line({ 'git', 'commit', '-m', "it's" }), "git commit -m 'it'\\''s'")
end

return tests
