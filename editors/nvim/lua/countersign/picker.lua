--- Choosing from a list and typing a line, by `vim.ui.select` and `vim.ui.input`, and so by whatever the person has put there.
--- Those differ: they may answer at once or later, twice, or not at all; they may fail; and most have one line, as wide as
--- their window, for what is asked. So an answer counts once, a failure is told and is no choice, and what is asked is shown
--- whole in a window beside them.
local card = require('countersign.ask.card')
local client = require('countersign.client')
local visible = require('countersign.visible')

local M = {}

--- Columns of what is asked that any picker has room for.
local TITLE = 56

--- A line for a picker: control characters out of what others wrote, what else hides written by its number, and a bound.
---@param text string
---@param limit? integer Characters.
---@return string
function M.line(text, limit)
  text = visible.text((text:gsub('[%c]+', ' '):gsub('%s+$', '')))
  limit = limit or 160
  if vim.fn.strchars(text) > limit then
    text = vim.fn.strcharpart(text, 0, limit - 1) .. '…'
  end
  return text
end

--- Whether it is Neovim's own, which shows what is asked whole, above the choices.
---@param name 'select'|'input'
---@return boolean
local function is_own(name)
  local one = vim.ui[name]
  -- Others may have put a table there that can be called.
  return type(one) == 'function' and debug.getinfo(one, 'S').source:find('vim/ui.lua', 1, true) ~= nil
end

--- The lines that a picker has no room for.
---@param prompt string
---@param all? string[]
---@param name 'select'|'input'
---@return string[]
local function rest(prompt, all, name)
  local lines = {}
  if not is_own(name) and (prompt:find('\n', 1, true) or vim.fn.strdisplaywidth(prompt) > TITLE) then
    lines = card.lines(vim.trim(prompt))
    if all then
      lines[#lines + 1] = ''
    end
  end
  return vim.list_extend(lines, all or {})
end

M.is_own = is_own

--- Whether all that is asked can be seen together with a picker.
---@param prompt string
---@param all string[] What the prompt tells only in part.
---@return boolean
function M.fits(prompt, all)
  return card.fits(rest(prompt, all, 'select'))
end

--- Calls `vim.ui.select` or `vim.ui.input`, with what is asked whole beside it. The answer counts once.
---@param name 'select'|'input'
---@param options table
---@param ask fun(prompt: string, done: fun(answer: any))
---@param done fun(answer: any)
local function put(name, options, ask, done)
  local prompt = visible.text(options.prompt or '')
  local lines, settled = rest(prompt, options.all, name), false
  local close = #lines > 0 and card.show(options.title or 'What is asked', lines) or function() end
  if options.opened then
    options.opened(close)
  end
  local short = prompt
  if not is_own(name) then
    local blank = prompt:match(' $') or ''
    short = M.line(prompt:match('[^\n]*'), TITLE) .. blank
  end
  local function settle(answer)
    if not settled then
      settled = true
      close()
      done(answer)
    end
  end
  local good, why = pcall(ask, short, settle)
  if not good and not settled then
    client.tell(('vim.ui.%s failed, which counts as no choice.\n%s'):format(name, tostring(why)), vim.log.levels.ERROR)
    settle(nil)
  elseif not good then
    error(why, 0)
  end
end

---@class countersign.Picked
---@field prompt string What is asked; it may have several lines.
---@field kind string For pickers that tell lists apart.
---@field format_item? fun(item: any): string
---@field title? string Of the window that shows what a prompt has no room for.
---@field all? string[] More that belongs to what is asked, for that window.
---@field opened? fun(close: fun()) Hears how that window is closed, before anything is chosen.

--- Lets the person choose. Nil where they do not.
---@generic T
---@param items T[]
---@param options countersign.Picked
---@param chosen fun(item: T?)
function M.select(items, options, chosen)
  local format = options.format_item or tostring
  put('select', options, function(prompt, done)
    vim.ui.select(items, {
      prompt = prompt,
      kind = options.kind,
      -- One line and one value: pickers write it into buffers and lists.
      format_item = function(item)
        return M.line((format(item)), 300)
      end,
    }, function(item)
      done(item)
    end)
  end, chosen)
end

--- Lets the person type a line. Nil where they do not.
---@param options { prompt: string, default?: string, completion?: string, opened?: fun(close: fun()) }
---@param typed fun(text: string?)
function M.input(options, typed)
  put('input', options, function(prompt, done)
    vim.ui.input({ prompt = prompt, default = options.default, completion = options.completion }, function(text)
      done(text)
    end)
  end, typed)
end

return M
