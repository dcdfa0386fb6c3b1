-- What may help after a turn that failed.
local T = ...
local tests = {}

local function hear(method, params, id)
  require('countersign.handlers').table()['countersign/' .. method](nil, vim.tbl_extend('force', { threadId = 't' }, params), { client_id = id })
end

local function turn(id, status, error)
  return { id = id, kind = 'regular', status = status, items = {}, error = error }
end

--- A conversation whose last turn failed so.
local function failed(actions)
  local said = {}
  local id = T.countersign({
    ['countersign/turn/start'] = function(params)
      said[#said + 1] = params.input[1].text
      return { turnId = 'next' }
    end,
    ['countersign/turn/interrupt'] = { interrupted = false },
  })
  local thread = require('countersign.threads').ensure('t', id)
  hear('turn/started', { turn = turn('u', 'inProgress') }, id)
  hear('turn/completed', { turn = turn('u', 'failed', { message = 'It went wrong.\nMore of it.', kind = 'other', actions = actions }) }, id)
  return thread, said, id
end

local function lines(thread)
  return vim.tbl_map(function(chunk)
    return chunk[1]
  end, require('countersign.recover').lines(thread))
end

local function run(words)
  require('countersign.commands').run(words:match('^(%S+)%s*(.*)$'))
end

local function last()
  return T.messages[#T.messages][1]
end

tests['what may help stands below the conversation, most helpful first, until another turn begins'] = function()
  for _, row in ipairs({
    { nil, { '→ Continue: :Countersign retry' } },
    { { { type = 'compact' }, { type = 'changeModel' } }, { '→ Compact the conversation: :Countersign compact', '→ Choose another model: :Countersign model', '→ Continue: :Countersign retry' } },
    { { { type = 'logIn' } }, { '→ Sign in: :Countersign login', '→ Continue: :Countersign retry' } },
    { { { type = 'somethingNew' } }, { '→ Continue: :Countersign retry' } },
  }) do
    T.fresh()
    local thread, _, id = failed(row[1])
    T.equal(lines(thread), row[2])
    if row[1] then
      T.equal(last():find(':Countersign recover', 1, true) ~= nil, #row[2] > 1, last())
    end
    hear('turn/started', { turn = turn('v', 'inProgress') }, id)
    T.equal(lines(thread), {})
    hear('turn/completed', { turn = turn('v', 'completed') }, id)
    T.equal(lines(thread), {})
    run('retry')
    T.has(last(), 'has not failed')
    run('recover')
    T.has(last(), 'has not failed')
  end
end

tests['it is asked again at a wish'] = function()
  local _, said = failed()
  run('retry soon')
  T.has(last(), 'say nothing more, or wait')
  run('retry wait')
  T.has(last(), 'has not said until when')
  T.equal(said, {})
  local choices, prompt
  vim.ui.select = function(items, options, done)
    choices, prompt = items, options.prompt
    done(items[#items])
  end
  run('recover')
  T.equal({ #choices, prompt }, { 1, 'It went wrong.' })
  T.wait('the question', function()
    return #said == 1
  end)
  T.equal(said, { 'Continue.' })
  vim.ui.select = T.ui.select
end

tests['a message on which nothing was done is sent again, whole, in its own place'] = function()
  for _, row in ipairs({
    { { thread = { id = 't', turns = {} }, message = 'Dropped.' }, nil },
    -- Where it cannot be dropped it is sent all the same.
    { nil, { code = -32603, message = 'busy' } },
  }) do
    T.fresh()
    local said = {}
    local id = T.countersign({
      ['countersign/thread/rollback'] = function(params)
        said[#said + 1] = { params.numTurns, params.expectedTurnId }
        return row[1], row[2]
      end,
      ['countersign/turn/start'] = function(params)
        said[#said + 1] = params.input
        return { turnId = 'next' }
      end,
    })
    local thread = require('countersign.threads').ensure('t', id)
    local content = { { type = 'text', text = 'Look at this' }, { type = 'localImage', path = '/p.png' } }
    hear('turn/started', { turn = turn('u', 'inProgress') }, id)
    hear('item/completed', { turnId = 'u', item = { type = 'userMessage', id = 'i', content = content } }, id)
    hear('turn/completed', { turn = turn('u', 'failed', { message = 'No.', kind = 'other' }) }, id)
    T.equal(lines(thread), { '→ Try again: :Countersign retry' })
    -- Pressed twice, it is sent once.
    run('retry')
    run('retry')
    T.wait('the message', function()
      return #said == 2
    end)
    vim.wait(100, function() end)
    T.equal(said, { { 1, 'u' }, content })
  end
end

tests['a turn that is no longer the last one is not dropped, and nothing is sent in its place'] = function()
  for _, words in ipairs({ 'retry', 'rollback' }) do
    T.fresh()
    local asked = 0
    local id = T.countersign({
      ['countersign/thread/rollback'] = function(params)
        asked = asked + 1
        T.equal(params.expectedTurnId, 'u')
        return nil, { code = -32803, message = 'not the last one', data = { kind = 'turnMismatch' } }
      end,
    })
    local thread = require('countersign.threads').ensure('t', id)
    hear('turn/started', { turn = turn('u', 'inProgress') }, id)
    hear('item/completed', { turnId = 'u', item = { type = 'userMessage', id = 'i', content = { { type = 'text', text = 'Look' } } } }, id)
    hear('turn/completed', { turn = turn('u', 'failed', { message = 'No.', kind = 'other' }) }, id)
    for time = 1, 2 do
      run(words)
      T.wait('the answer', function()
        return asked == time and last():find('has changed meanwhile', 1, true)
      end)
      T.equal(T.messages[#T.messages][2], vim.log.levels.INFO)
      table.insert(T.messages, { '' })
    end
    T.equal(thread.last, 'u')
  end
end

tests['a message that could not be sent again is in the composer, with all that belongs to it'] = function()
  local content = { { type = 'text', text = 'Look at this' }, { type = 'image', url = 'data:image/png;base64,AA==' }, { type = 'localImage', path = '/p.png' } }
  local said = {}
  local id = T.countersign({
    ['countersign/thread/rollback'] = { thread = { id = 't', turns = {} }, message = 'Dropped.' },
    ['countersign/turn/start'] = function(params)
      said[#said + 1] = params.input
      if #said == 1 then
        return nil, { code = -32603, message = 'busy' }
      end
      return { turnId = 'next' }
    end,
  })
  require('countersign.threads').ensure('t', id)
  hear('turn/started', { turn = turn('u', 'inProgress') }, id)
  hear('item/completed', { turnId = 'u', item = { type = 'userMessage', id = 'i', content = content } }, id)
  hear('turn/completed', { turn = turn('u', 'failed', { message = 'No.', kind = 'other' }) }, id)
  run('retry')
  local composer = require('countersign.composer')
  T.wait('the words', function()
    return vim.api.nvim_buf_get_lines(composer.buffer('t'), 0, -1, false)[1] == 'Look at this'
  end)
  composer.send('t')
  T.wait('the message', function()
    return #said == 2
  end)
  T.equal(said, { content, content })
end

tests['it is asked again once the provider lets it, unless that is given up or something else is said'] = function()
  local now = os.time() * 1000
  for _, row in ipairs({
    { function() end, 1 },
    { function()
      run('stop')
      T.has(last(), 'not retried')
    end, 0 },
    { function(id)
      hear('turn/started', { turn = turn('v', 'inProgress') }, id)
    end, 0 },
    { function()
      -- A second wish does not ask twice.
      run('retry wait')
    end, 1 },
  }) do
    T.fresh()
    local thread, said, id = failed({ { type = 'waitUntil', at = now + 1500 }, { type = 'changeModel' } })
    T.has(lines(thread)[1], '→ Retry at')
    run('retry wait')
    T.has(last(), 'retries at')
    T.has(lines(thread)[1], '◷ retries at')
    row[1](id)
    vim.wait(4000, function()
      return #said > 0
    end, 20)
    vim.wait(1200, function() end)
    T.equal(#said, row[2])
    now = os.time() * 1000
  end
end

tests['it is not asked again where the turn that failed is gone'] = function()
  for _, row in ipairs({
    function(thread)
      -- As a rollback leaves it.
      require('countersign.threads').adopt({ id = 't', turns = { turn('before', 'completed') } }, thread.client)
    end,
    function(thread)
      hear('thread/deleted', {}, thread.client)
    end,
  }) do
    T.fresh()
    local thread, said = failed({ { type = 'waitUntil', at = (os.time() + 1) * 1000 } })
    run('retry wait')
    row(thread)
    T.wait('it to be given up', function()
      return not require('countersign.recover').stop(thread)
    end)
    vim.wait(2300, function() end)
    T.equal(said, {})
  end
end

tests['with its server goes what may help, and what is waited for'] = function()
  local thread, said, id = failed({ { type = 'waitUntil', at = (os.time() + 1) * 1000 } })
  local trouble = require('countersign.recover')
  local chosen
  vim.ui.select = function(items, _, done)
    chosen = function()
      done(items[#items])
    end
  end
  trouble.pick(thread)
  run('retry wait')
  require('countersign.threads').lost(id)
  T.has(last(), 'the server has ended, so it is not retried')
  T.equal(lines(thread), {})
  chosen()
  T.has(last(), 'the server of this conversation has ended')
  vim.wait(2300, function() end)
  T.equal(said, {})
  vim.ui.select = T.ui.select
end

tests['what helps is done to the conversation that it was chosen for'] = function()
  local thread, _, id = failed()
  local threads = require('countersign.threads')
  vim.ui.select = function(items, _, done)
    threads.use(threads.ensure('other', id))
    done(items[#items])
  end
  require('countersign.recover').pick(thread)
  T.equal(threads.current(id).id, 't')
  vim.ui.select = T.ui.select
end

return tests
