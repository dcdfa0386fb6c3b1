--- One choice of several, each with a label and perhaps more about it.
local picker = require('countersign.picker')

local M = {}

M.line = picker.line

---@class countersign.Choice
---@field label string
---@field detail? string

---@param choices countersign.Choice[]
---@param prompt string
---@param kind string For pickers that tell questions apart.
---@param chosen fun(choice: countersign.Choice?)
---@param more? { title?: string, all?: string[], opened?: fun(close: fun()) } As of `picker.select`.
function M.pick(choices, prompt, kind, chosen, more)
  picker.select(choices, vim.tbl_extend('force', more or {}, {
    prompt = prompt,
    kind = kind,
    format_item = function(choice)
      return choice.detail and ('%s — %s'):format(choice.label, M.line(choice.detail)) or choice.label
    end,
  }), chosen)
end

return M
