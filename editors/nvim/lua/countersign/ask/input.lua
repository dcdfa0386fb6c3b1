--- What the model asks in words: one to three questions, each with choices or a free answer.
local ask = require('countersign.ask')
local choice = require('countersign.ask.choice')
local picker = require('countersign.picker')

local M = {}

--- Puts one question; the answer is a list of labels or words, nil where there is none.
local function one(question, answer, opened)
  local prompt = ('%s: %s'):format(choice.line(question.header, 60), choice.line(question.question, 400))
  local function in_words()
    picker.input({ prompt = prompt .. ' ', opened = opened }, function(words)
      answer(words and vim.trim(words) ~= '' and { words } or nil)
    end)
  end
  if #(question.options or {}) == 0 then
    return in_words()
  end
  local choices = {}
  for _, option in ipairs(question.options) do
    choices[#choices + 1] = { label = choice.line(option.label, 100), detail = option.description ~= '' and option.description or nil, text = option.label }
  end
  if question.isOther then
    choices[#choices + 1] = { label = 'Something else…', words = true }
  end
  choice.pick(choices, prompt, 'countersign.question', function(chosen)
    if not chosen then
      answer(nil)
    elseif chosen.words then
      in_words()
    else
      answer({ chosen.text })
    end
  end, { opened = opened })
end

--- Puts the questions one after the other. One that is left out does not keep the next from being asked.
---@param questions table[]
---@param done fun(answers: table<string, table>)
---@param opened? fun(close: fun()) As of `picker.select`.
---@param gone? fun(): boolean Whether nobody wants to know any more: then no more is asked.
function M.put(questions, done, opened, gone)
  local answers, at = vim.empty_dict(), 0
  local function next_one()
    at = at + 1
    local question = questions[at]
    if not question or (gone and gone()) then
      return done(answers)
    end
    one(question, function(given)
      if given then
        answers[question.id] = { answers = given }
      end
      vim.schedule(next_one)
    end, opened)
  end
  next_one()
end

function M.request(params)
  local first = params.questions[1]
  local question
  question = {
    id = params.id,
    thread = params.threadId,
    title = (params.agent and ('agent %s: '):format(params.agent) or '') .. choice.line(first and first.question or 'a question', 100),
    nothing = vim.NIL,
    show = function(answer)
      local gone = ask.gone(question)
      M.put(params.questions, function(answers)
        -- Where it was opened anew, the newer picker is answered.
        if gone() and not question.settled then
          return answer(nil)
        end
        answer(next(answers) and { answers = answers } or vim.NIL)
      end, function(close)
        question.close = close
      end, gone)
    end,
  }
  return ask.wait(question)
end

return M
