--- One choice of several through `vim.ui.select`, so through whatever picker the person has.
local M = {}

---@class countersign.Choice
---@field label string
---@field detail? string

--- A line of a prompt: control characters out of what others wrote, and a bound.
---@param text string
---@param limit? integer
---@return string
function M.line(text, limit)
  text = text:gsub('[%c]+', ' '):gsub('%s+$', '')
  limit = limit or 160
  if vim.fn.strchars(text) > limit then
    text = vim.fn.strcharpart(text, 0, limit - 1) .. '…'
  end
  return text
end

---@param choices countersign.Choice[]
---@param prompt string
---@param kind string For pickers that tell questions apart.
---@param chosen fun(choice: countersign.Choice?)
function M.pick(choices, prompt, kind, chosen)
  vim.ui.select(choices, {
    prompt = prompt,
    kind = kind,
    format_item = function(choice)
      return choice.detail and ('%s — %s'):format(choice.label, M.line(choice.detail)) or choice.label
    end,
  }, function(choice)
    chosen(choice)
  end)
end

return M
