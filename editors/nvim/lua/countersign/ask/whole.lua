--- What is asked, as far as a prompt has room for it, and all of it where that is less: there is no yes beside what was cut.
local ask = require('countersign.ask')
local card = require('countersign.ask.card')
local choice = require('countersign.ask.choice')
local picker = require('countersign.picker')
local visible = require('countersign.visible')

local M = {}

--- Offered in the place of a yes.
M.READ = { label = 'Read all of it, then decide…', read = true }

---@class countersign.Part
---@field [1] string What stands before the text.
---@field [2] string A text, of whomever.
---@field [3] integer Characters of it in a prompt.
---@field [4]? string What stands behind it.
---@field full? string The text as it is read better where there is room, or more of it.
---@field cut? boolean `full` says more.
---@field whole? string What is read in the place of all of it, also where the text fits.

--- Whether a line shows a text as it stands: with what hides in it written out, which takes room.
---@param text string
---@param most integer
---@return boolean
function M.fits(text, most)
  return vim.fn.strchars(visible.text(text)) <= most and not text:find('%c') and not text:find('   ', 1, true)
end

--- The lines of a prompt, and all of what they say where something of it was cut.
---@param parts countersign.Part[]
---@return string[] lines
---@return string? all
function M.told(parts)
  local lines, all, whole = {}, {}, true
  for i, part in ipairs(parts) do
    local before, text, most, behind = part[1], part[2], part[3], part[4] or ''
    whole = whole and not part.cut and not part.whole and M.fits(text, most)
    lines[i] = before .. vim.fn.strtrans(choice.line(text, most)) .. behind
    all[i] = part.whole or before .. (part.full or text) .. behind
  end
  return lines, not whole and table.concat(all, '\n') or nil
end

--- Puts a question. Where the screen cannot hold all that is asked, that is read before there is a yes.
---@param question countersign.Question
---@param asked { title: string, kind: string, prompt: string, all?: string, more?: string } `all`: where the prompt tells less. `more`:
---what is only read, for a yes for longer.
---@param choices fun(unread: boolean): countersign.Choice[] With `READ` in the place of a yes, where it was not read.
---@param chosen fun(choice: countersign.Choice?)
function M.put(question, asked, choices, chosen)
  local all = asked.all and card.lines(asked.all)
  -- Also a prompt by itself may be more than the screen holds.
  local fits = picker.fits(asked.prompt, all or {})
  choice.pick(choices(not fits and not question.was_read), asked.prompt, asked.kind, function(one)
    if not (one and one.read) then
      return chosen(one)
    end
    question.was_read = true
    ask.put_aside(question)
    local lines = vim.list_slice(all or card.lines(asked.prompt))
    if (asked.more or '') ~= '' then
      vim.list_extend(lines, card.lines('\n' .. asked.more))
    end
    card.read(asked.title, lines, function()
      ask.take_up(question)
    end)
  end, {
    title = fits and all and asked.title or nil,
    all = fits and all or nil,
    opened = function(close)
      question.close = close
    end,
  })
end

return M
