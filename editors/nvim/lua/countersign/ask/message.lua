--- A message of the server's with choices (`window/showMessageRequest`, LSP 3.17). Neovim's own way hands all of its lines to the
--- picker, of which most show one; here it is a question like the others, read whole before anything can be chosen.
local ask = require('countersign.ask')
local choice = require('countersign.ask.choice')
local whole = require('countersign.ask.whole')

local M = {}

local count = 0

---@param params table `ShowMessageRequestParams`.
---@return any action Nothing where none was chosen.
function M.request(params)
  count = count + 1
  local question
  question = {
    id = ('message-%d'):format(count),
    thread = '',
    title = choice.line(params.message:match('[^\n]*'), 100),
    nothing = vim.NIL,
    show = function(answer)
      whole.put(question, { title = 'What is asked', kind = 'countersign.message', prompt = params.message }, function(unread)
        if unread then
          return { whole.READ }
        end
        return vim.tbl_map(function(action)
          return { label = action.title, action = action }
        end, params.actions or {})
      end, function(chosen)
        answer(chosen and chosen.action)
      end)
    end,
  }
  return ask.wait(question)
end

return M
