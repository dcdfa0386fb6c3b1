--- What may help after a turn that failed: tried again, now or once the allowance resets, with a shorter conversation, by
--- another model, or signed in.
local choice = require('countersign.ask.choice')
local client = require('countersign.client')
local events = require('countersign.events')

local M = {}

---@type table<string, { at: integer, timer: uv.uv_timer_t, turn?: string }> Conversations that ask again by themselves at a time
--- (s), and the turn that failed.
local waiting = {}
---@type table<string, true> Conversations in which it is just being asked again.
local sending = {}

--- Why the last turn of a conversation failed; nil where it did not, or where no server has the conversation: what may help
--- would be done to another one.
---@param thread countersign.Thread
---@return table?
local function failure(thread)
  local turn = thread.live and not thread.turn and thread.turns[thread.last or '']
  return turn and turn.status == 'failed' and (turn.error or {}) or nil
end

local function clock(at)
  return os.date(at - os.time() < 20 * 3600 and '%H:%M' or '%d %B, %H:%M', at)
end

--- The message of the turn that failed, if nothing was done on it: then it can be sent again in its own place.
---@param thread countersign.Thread
---@return table[]?
local function unanswered(thread)
  local input
  for _, item in ipairs(thread.items) do
    if item.turn == thread.last then
      if item.type ~= 'userMessage' then
        return nil
      end
      input = vim.list_extend(input or {}, item.content)
    end
  end
  return input
end

--- Drops the last turns of a conversation, as long as it ends with the one that was seen.
---@param thread countersign.Thread
---@param count integer
---@param done fun(result: table)
---@param failed fun(error?: table) Without an error where it ends with another one; the person knows then.
function M.roll_back(thread, count, done, failed)
  local params = { threadId = thread.id, numTurns = count, expectedTurnId = thread.last }
  client.request(thread.client, 'thread/rollback', params, function(result)
    require('countersign.threads').adopt(result.thread, thread.client)
    done(result)
  end, function(error)
    if error.data and error.data.kind == 'turnMismatch' then
      client.tell('the conversation has changed meanwhile. Try again.')
      return failed()
    end
    failed(error)
  end)
end

--- Sends the message of the turn that failed again, in its place; where the agent had begun, it is to continue. While that is under way
--- nothing is sent a second time.
---@param thread countersign.Thread
local function again(thread)
  if sending[thread.id] then
    return
  end
  sending[thread.id] = true
  local function over()
    sending[thread.id] = nil
  end
  local composer = require('countersign.composer')
  local input = unanswered(thread)
  if not input then
    return composer.say(thread, 'Continue.', { context = {}, over = over })
  end
  local function send()
    composer.say(thread, '', { input = input, over = over })
  end
  M.roll_back(thread, 1, send, function(error)
    if error then
      -- Where it cannot be dropped it stands there twice, rather than not at all.
      send()
    else
      over()
    end
  end)
end

--- Does not wait any more.
---@param thread countersign.Thread
---@return boolean waited
function M.stop(thread)
  local one = waiting[thread.id]
  waiting[thread.id] = nil
  if one then
    one.timer:stop()
    one.timer:close()
    events.emit('changed', { thread = thread })
  end
  return one ~= nil
end

--- Asks again at a time, as long as the conversation is where it is now.
---@param thread countersign.Thread
---@param at integer Seconds since the epoch.
local function wait(thread, at)
  M.stop(thread)
  local timer = assert(vim.uv.new_timer())
  waiting[thread.id] = { at = at, timer = timer, turn = thread.last }
  -- By the clock, which goes on while the machine sleeps.
  timer:start(0, 1000, vim.schedule_wrap(function()
    local one = waiting[thread.id]
    if not one or one.timer ~= timer then
      return
    end
    -- The turn that failed may have been rolled back, or the conversation deleted.
    local here = not thread.deleted and thread.last == one.turn
    if not here or os.time() >= at then
      M.stop(thread)
      if here then
        again(thread)
      end
    end
  end))
  client.tell(('retries at %s, as long as this editor is open. :Countersign stop cancels it.'):format(clock(at)))
  events.emit('changed', { thread = thread })
end

---@class countersign.Remedy
---@field label string
---@field command string What does the same by `:Countersign`.

--- What may help, most helpful first.
---@param thread countersign.Thread
---@return countersign.Remedy[]
function M.remedies(thread)
  local error = failure(thread)
  if not error then
    return {}
  end
  local list = {}
  if error.kind == 'missingKey' then
    list[1] = { label = 'Set up a model', command = 'setup' }
  end
  for _, action in ipairs(error.actions or {}) do
    if action.type == 'compact' then
      list[#list + 1] = { label = 'Compact the conversation', command = 'compact' }
    elseif action.type == 'waitUntil' then
      list[#list + 1] = { label = ('Retry at %s'):format(clock(math.ceil(action.at / 1000))), command = 'retry wait' }
    elseif action.type == 'changeModel' then
      list[#list + 1] = { label = 'Choose another model', command = 'model' }
    elseif action.type == 'logIn' then
      list[#list + 1] = { label = 'Sign in', command = 'login' }
    end
  end
  list[#list + 1] = { label = unanswered(thread) and 'Try again' or 'Continue', command = 'retry' }
  return list
end

--- What may be done while a request is sent again and again.
local while_retrying = {
  { label = 'Keep waiting' },
  { label = 'Try now', command = 'retry' },
  { label = 'Stop', command = 'stop' },
  { label = 'Other model', command = 'retry model' },
}

--- For the end of a conversation whose provider does not answer: what is wrong, since when, when it is tried again, and what may be done.
---@param thread countersign.Thread
---@return { [1]: string, [2]: string }[][]
function M.box(thread)
  local one = thread.retrying
  if not one or not thread.turn then
    return {}
  end
  local message = require('countersign.picker').line(one.message or 'The provider does not answer.', 300)
  local left = math.max(0, math.ceil((one.next - vim.uv.now()) / 1000))
  local again = left > 0 and ('next try in %d s'):format(left) or 'trying now'
  local attempt = ('try %d%s'):format(one.attempt, one.limit and ' of ' .. one.limit or '')
  local lines = {
    { { '┌ ', 'CountersignConflict' }, { message, 'CountersignConflict' } },
    { { '│ ', 'CountersignConflict' }, { ('since %s · %s · %s'):format(os.date('%H:%M:%S', one.since), attempt, again), 'CountersignQuiet' } },
  }
  -- Each on its own line, which a narrow window has room for.
  for i = 2, #while_retrying do
    local deed = while_retrying[i]
    local edge = i < #while_retrying and '│ ' or '└ '
    lines[#lines + 1] = { { edge, 'CountersignConflict' }, { ('%-12s'):format(deed.label), 'CountersignQuestion' }, { ':Countersign ' .. deed.command, 'CountersignQuiet' } }
  end
  return lines
end

--- For the end of a conversation: what may help, or what is waited for.
---@param thread countersign.Thread
---@return { [1]: string, [2]: string }[]
function M.lines(thread)
  if waiting[thread.id] then
    return { { ('◷ retries at %s · :Countersign stop'):format(clock(waiting[thread.id].at)), 'CountersignRunning' } }
  end
  return vim.tbl_map(function(one)
    return { ('→ %s: :Countersign %s'):format(one.label, one.command), 'CountersignQuestion' }
  end, M.remedies(thread))
end

---@type table<string, countersign.Thread> Turns that are stopped for another model, which is to answer the same message.
local replaced = {}

--- While a request is sent again and again: now, or by another model.
local function now(thread, how)
  if how == 'model' then
    local turn = thread.turn
    return require('countersign.pick').model('', function()
      if thread.turn ~= turn then
        return client.tell('the turn is over meanwhile. The model is for the next one.')
      end
      replaced[turn] = thread
      client.request(thread.client, 'turn/interrupt', { threadId = thread.id }, function() end, function(error)
        replaced[turn] = nil
        client.tell(error.message, vim.log.levels.ERROR)
      end)
    end)
  elseif how ~= '' then
    return client.tell('only model can stand there: :Countersign retry model', vim.log.levels.ERROR)
  end
  client.request(thread.client, 'turn/retryNow', { threadId = thread.id }, function(result)
    client.tell(result.retrying and 'tried again.' or 'it was being tried just now.')
  end)
end

--- Asks again.
---@param thread countersign.Thread
---@param when string `wait`: once the provider lets it; empty: now.
function M.retry(thread, when)
  if thread.turn and thread.retrying then
    return now(thread, when)
  end
  local error = failure(thread)
  if not error then
    return client.tell('the last turn has not failed, so there is nothing to retry.')
  elseif when == '' then
    M.stop(thread)
    return again(thread)
  elseif when ~= 'wait' then
    return client.tell('only wait can stand there: :Countersign retry wait', vim.log.levels.ERROR)
  end
  for _, action in ipairs(error.actions or {}) do
    if action.type == 'waitUntil' then
      return wait(thread, math.ceil(action.at / 1000))
    end
  end
  client.tell('the provider has not said until when to wait. :Countersign retry tries again now.')
end

--- Lets the person choose what may help.
---@param thread countersign.Thread
function M.pick(thread)
  if thread.turn and thread.retrying then
    return choice.pick(while_retrying, require('countersign.picker').line(thread.retrying.message or 'The provider does not answer.', 200), 'countersign.recover', function(chosen)
      if chosen and chosen.command then
        require('countersign.threads').use(thread)
        require('countersign.commands').run(chosen.command:match('^(%S+)%s*(.*)$'))
      end
    end)
  end
  local remedies = M.remedies(thread)
  if #remedies == 0 then
    return client.tell('the last turn has not failed.')
  end
  local first = vim.split(failure(thread).message or 'The turn failed.', '\n')[1]
  choice.pick(remedies, first, 'countersign.recover', function(chosen)
    if chosen and not thread.live then
      client.tell('the server of this conversation has ended, so nothing is done.', vim.log.levels.WARN)
    elseif chosen then
      -- The commands are about the conversation that was used last.
      require('countersign.threads').use(thread)
      require('countersign.commands').run(chosen.command:match('^(%S+)%s*(.*)$'))
    end
  end)
end

events.on('changed', function(data)
  if data.kind == 'turn/started' then
    M.stop(data.thread)
  elseif data.kind == 'turn/completed' and replaced[data.params.turn.id] then
    replaced[data.params.turn.id] = nil
    -- Once all else has heard of the end.
    vim.schedule(function()
      if not data.thread.turn then
        again(data.thread)
      end
    end)
  end
end)

events.on('lost', function()
  local stopped = false
  for id in pairs(waiting) do
    local thread = require('countersign.threads').get(id)
    if thread and not thread.live then
      stopped = M.stop(thread) or stopped
    end
  end
  if stopped then
    client.tell('retry canceled: the server has ended.', vim.log.levels.WARN)
  end
end)

return M
