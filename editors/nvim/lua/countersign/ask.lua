--- Questions to the person, one at a time. None takes the keys from somebody who types: it is announced, and opens when the
--- keys are still in normal mode, or when the person asks for it. A question that is closed is a no.
local events = require('countersign.events')
local keys = require('countersign.keys')

local M = {}

---@class countersign.Question
---@field id string
---@field thread string
---@field title string One line, for the announcement.
---@field show fun(answer: fun(result: any)) Puts the question; whatever it came to goes to `answer`.
---@field nothing any What a closed or lost question is answered with.
---@field answered? fun(result: any) Set by `M.ask`.
---@field announced? boolean
---@field close? fun() Takes away what of it is on the screen beside its picker.
---@field aside? boolean The person does something first, and it does not open by itself meanwhile.
---@field shown? integer When its picker was opened last (ms).
---@field round? integer How often its picker was opened.
---@field settled? boolean It has its answer: what is said to it now reaches nobody.
---@field lost? boolean It was settled because its server has ended.

---@type countersign.Question[]
local waiting = {}
---@type countersign.Question?
local showing
---@type { due: integer, handle: uv.uv_timer_t }?
local timer

--- How long a picker has to come up, before it counts as left where it does not have the keys (ms).
local LEFT = 2000

local look

--- Looks again after a while, or sooner if that was wanted before.
local function later(ms)
  local due = vim.uv.now() + ms
  if timer and timer.due <= due then
    return
  elseif timer then
    timer.handle:stop()
    timer.handle:close()
  end
  timer = { due = due }
  timer.handle = vim.defer_fn(function()
    timer = nil
    look()
  end, ms)
end

local function remove(question)
  for i, one in ipairs(waiting) do
    if one == question then
      table.remove(waiting, i)
      return
    end
  end
end

local function mark(question, open)
  local thread = require('countersign.threads').get(question.thread)
  if thread then
    thread.questions[question.id] = open and { id = question.id, title = question.title } or nil
    events.emit('changed', { thread = thread, kind = 'question' })
  end
end

local function settle(question, result)
  if question.settled then
    return
  end
  question.settled = true
  if question.close then
    question.close()
  end
  remove(question)
  if showing == question then
    showing = nil
  end
  mark(question, false)
  question.answered(result)
  later(50)
end

local function show(question)
  showing = question
  question.shown = vim.uv.now()
  if question.close then
    question.close()
  end
  question.round = (question.round or 0) + 1
  local round = question.round
  later(LEFT)
  local good, why = pcall(question.show, function(result)
    if result == nil then
      result = question.nothing
    end
    vim.schedule(function()
      if question.settled then
        if not vim.deep_equal(result, question.nothing) then
          local why = question.lost and 'the server has ended; what you said was not sent. :Countersign chat goes on once it runs again.'
            or 'this question was settled elsewhere; what you said was not sent.'
          require('countersign.client').tell(why, vim.log.levels.WARN)
        end
      elseif round == question.round or result ~= question.nothing then
        -- An earlier picker that says nothing was only closed by the one that is open now.
        settle(question, result)
      end
    end)
  end)
  if not good then
    require('countersign.client').tell('the question could not be shown, which counts as a no.\n' .. tostring(why), vim.log.levels.ERROR)
    settle(question, question.nothing)
  end
end

local function announce(question)
  if not question.announced then
    question.announced = true
    require('countersign.client').tell(':Countersign answer — ' .. question.title, vim.log.levels.WARN)
  end
end

--- The question that waits longest, of those that the person has not put aside.
local function first()
  for _, question in ipairs(waiting) do
    if not question.aside then
      return question
    end
  end
end

--- Some pickers tell nobody that they were closed. Where the keys are in a file again while one should be open, it is gone, or
--- at least not looked at: its question waits for `:Countersign answer`, and holds no other up.
local function leave(question)
  if vim.uv.now() - question.shown < LEFT or not keys.are_still() then
    return later(500)
  end
  M.put_aside(question)
  if question.close then
    question.close()
  end
  question.announced = false
  announce(question)
  later(50)
end

look = function()
  if showing then
    return leave(showing)
  end
  local question = first()
  if not question then
    return
  end
  if keys.are_still() then
    show(question)
  else
    announce(question)
    later(150)
  end
end

--- Asks and gives the answer to `done`. Must be registered before anything yields, so that a withdrawal always finds it.
---@param question countersign.Question
---@param done fun(result: any)
function M.ask(question, done)
  question.answered = done
  waiting[#waiting + 1] = question
  mark(question, true)
  vim.schedule(look)
end

--- The same for a handler of a request of the server's: the answer is its result.
---@param question countersign.Question
---@return any
function M.wait(question)
  local co = assert(coroutine.running(), 'a handler runs in a coroutine')
  M.ask(question, function(result)
    vim.schedule(function()
      coroutine.resume(co, result)
    end)
  end)
  return coroutine.yield()
end

--- For what asks in several steps: tells whether the next step is pointless, since the question is settled or was opened anew.
--- Made when the first step is shown.
---@param question countersign.Question
---@return fun(): boolean
function M.gone(question)
  local round = question.round
  return function()
    return question.settled or question.round ~= round
  end
end

--- A question waits while the person does something about it, such as reading all of what it asks.
---@param question countersign.Question
function M.put_aside(question)
  question.aside = true
  if showing == question then
    showing = nil
  end
end

--- It is asked again once the keys are still.
---@param question countersign.Question
function M.take_up(question)
  question.aside = false
  later(50)
end

--- Opens the question that waits, at the person's own wish.
function M.open()
  local next_one
  for _, question in ipairs(waiting) do
    if question ~= showing and not question.aside then
      next_one = question
      break
    end
  end
  -- The picker of the one that shows may have been put aside; one that is being read comes last.
  local question = next_one or showing or waiting[1]
  if question then
    show(question)
  else
    require('countersign.client').tell('no question is open.')
  end
end

--- Settles a question without showing it. Gives whether there was one.
---@param id? string Absent: the one that waits longest.
---@param result any
---@return boolean
function M.answer(id, result)
  for _, question in ipairs(waiting) do
    if not id or question.id == id then
      settle(question, result)
      return true
    end
  end
  return false
end

---@return countersign.Question[]
function M.waiting()
  return waiting
end

--- Takes a question back: it was settled elsewhere or is pointless. What its picker gives later counts for nothing.
local function withdraw(id)
  for _, question in ipairs(waiting) do
    if question.id == id then
      settle(question, question.nothing)
      return
    end
  end
end

function M.approval_resolved(params)
  withdraw(params.approvalId)
end

function M.input_resolved(params)
  withdraw(params.id)
end

function M.elicitation_resolved(params)
  withdraw(params.elicitationId)
end

-- Questions of a server that is gone can be answered by nobody.
events.on('lost', function()
  local threads = require('countersign.threads')
  for _, question in ipairs(vim.list_slice(waiting)) do
    local thread = threads.get(question.thread)
    if not thread or not thread.live then
      question.lost = true
      settle(question, question.nothing)
    end
  end
end)

return M
