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
  T.has(last(), 'only wait can stand there')
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
    vim.ui.select = function(items, _, done)
      done(items[2])
    end
    local id = T.countersign({
      ['countersign/turn/diff'] = { diff = '' },
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
  vim.ui.select = T.ui.select
end

tests['what a rollback would delete and undo is shown first, and only what is chosen is done'] = function()
  local diff = '--- a/cart.py\n+++ b/cart.py\n@@ -1,2 +1,3 @@\n a\n--- b\n+++ c\n+d\n--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x\n'
  for _, row in ipairs({
    { nil, {} },
    { 'Cancel', {} },
    { 'Conversation only', { 'rollback 1 u' } },
    { 'Files only', { 'undo u' } },
    { 'Conversation and files', { 'undo u', 'rollback 1 undo' } },
    { 'Conversation and files', { 'undo u' }, 'failed' },
  }) do
    T.fresh()
    vim.cmd('silent! tabonly')
    local did, offered, shown = {}, nil, nil
    local id
    id = T.countersign({
      ['countersign/turn/diff'] = { diff = diff, turnId = 'u' },
      ['countersign/thread/rollback'] = function(params)
        did[#did + 1] = ('rollback %d %s'):format(params.numTurns, params.expectedTurnId)
        return { thread = { id = 't', turns = {} }, message = 'Dropped.' }
      end,
      ['countersign/turn/undo'] = function(params)
        did[#did + 1] = 'undo ' .. params.turnId
        vim.defer_fn(function()
          hear('turn/started', { turn = turn('undo', 'inProgress') }, id)
          hear('item/completed', { turnId = 'undo', item = { type = 'undo', id = 'z', status = 'completed', turns = { 'u' }, files = { { path = '/cart.py', result = 'conflict' } } } }, id)
          hear('turn/completed', { turn = turn('undo', row[3] or 'completed') }, id)
        end, 20)
        return { turnId = 'undo' }
      end,
    })
    require('countersign.threads').ensure('t', id)
    hear('turn/started', { turn = turn('u', 'inProgress') }, id)
    hear('item/completed', { turnId = 'u', item = { type = 'userMessage', id = 'i', content = { { type = 'text', text = 'Look' } } } }, id)
    hear('turn/completed', { turn = turn('u', 'completed') }, id)
    vim.ui.select = function(items, options, done)
      offered = vim.tbl_map(options.format_item, items)
      shown = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
      T.equal(did, {}, 'nothing is done before the choice')
      for _, item in ipairs(items) do
        if row[1] and vim.startswith(item.label, row[1]) then
          return done(item)
        end
      end
      done(nil)
    end
    run('rollback')
    T.wait('the question', function()
      return offered
    end)
    local function told()
      return table.concat(require('countersign.client').told(), '\n')
    end
    T.wait('the end', function()
      return #did == #row[2] and (row[1] ~= 'Files only' or told():find('files as before', 1, true))
    end)
    vim.wait(60)
    T.equal(did, row[2], row[1])
    T.equal(offered[1], 'Cancel')
    T.equal(offered[4], 'Conversation and files: delete 1 message, undo 2 files')
    T.has(shown, '1. Look')
    T.has(shown, '- cart.py +2 −1')
    T.has(shown, '- new.py +1 −0')
    T.has(shown, '+++ c')
    if row[3] then
      T.has(told(), 'nothing was undone, and no message is deleted')
    elseif row[1] == 'Conversation and files' then
      T.has(told(), '1 message deleted, files as before. 1 file changed since and left as it is')
    end
    T.equal(#vim.api.nvim_list_tabpages(), 1)
  end
  vim.ui.select = T.ui.select
end

tests['a provider that does not answer is told of in a box: since when, when next, and what may be done'] = function()
  local did, message = {}, { { type = 'text', text = 'Look' } }
  local id
  id = T.countersign({
    ['countersign/turn/retryNow'] = function()
      did[#did + 1] = 'now'
      return { retrying = true }
    end,
    ['countersign/model/list'] = { data = { { id = 'other', displayName = 'Other', provider = 'p' } } },
    ['countersign/turn/interrupt'] = function()
      did[#did + 1] = 'stop'
      vim.defer_fn(function()
        hear('turn/completed', { turn = turn('u', 'interrupted') }, id)
      end, 20)
      return { interrupted = true }
    end,
    ['countersign/thread/rollback'] = function(params)
      did[#did + 1] = 'drop ' .. params.expectedTurnId
      return { thread = { id = 't', turns = {} }, message = 'Dropped.' }
    end,
    ['countersign/turn/start'] = function(params)
      did[#did + 1] = { params.input, params.settings }
      return { turnId = 'next' }
    end,
  })
  local thread = require('countersign.threads').ensure('t', id)
  local recover = require('countersign.recover')
  local function box()
    return table.concat(vim.tbl_map(function(line)
      return table.concat(vim.tbl_map(function(chunk)
        return chunk[1]
      end, line))
    end, recover.box(thread)), '\n')
  end
  hear('turn/started', { turn = turn('u', 'inProgress') }, id)
  hear('item/completed', { turnId = 'u', item = { type = 'userMessage', id = 'i', content = message } }, id)
  T.equal(box(), '')
  hear('turn/retrying', { turnId = 'u', attempt = 1, limit = 4, delayMs = 200, message = 'Overloaded (status 503).' }, id)
  T.equal(#T.messages, 0, 'a short one is not told')
  local since = thread.retrying.since
  thread.retrying.since = since - 100
  hear('turn/retrying', { turnId = 'u', attempt = 2, limit = 4, delayMs = 12000, message = 'Overloaded (status 503).' }, id)
  T.has(last(), 'Overloaded (status 503). It is tried again.')
  T.equal(thread.retrying.since, since - 100, 'it goes on since the first')
  T.has(box(), '┌ Overloaded (status 503).\n│ since ' .. os.date('%H:%M:%S', since - 100) .. ' · try 2 of 4 · next try in 12 s\n│ Try now     :Countersign retry\n│ Stop        :Countersign stop\n└ Other model :Countersign retry model')
  run('retry')
  T.wait('the try', function()
    return did[1] == 'now'
  end)
  -- Another model gets the same message, in its place.
  local offered
  vim.ui.select = function(items, options, done)
    offered = vim.tbl_map(options.format_item, items)
    for i, label in ipairs(offered) do
      if label:find('Other', 1, true) then
        return done(items[i])
      end
    end
  end
  recover.pick(thread)
  T.wait('the message to go out again', function()
    return #did == 4
  end)
  T.equal({ did[2], did[3], did[4] }, { 'stop', 'drop u', { message, { model = 'other', modelProvider = 'p' } } })
  T.equal(box(), '')
  vim.ui.select = T.ui.select
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
      T.has(last(), 'retry canceled')
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
  T.has(last(), 'retry canceled: the server has ended')
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
