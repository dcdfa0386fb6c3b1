--- What fills the context window of a conversation's model, in a window that goes away with the next move.
local tokens = require('countersign.chat.bar').tokens
local visible = require('countersign.visible')

local M = {}

--- The lines that are shown.
---@param context table The result of `countersign/thread/context`.
---@return string[]
function M.lines(context)
  local window = context.contextWindow
  local function share(count)
    return window and window > 0 and ('%5.1f %%'):format(count * 100 / window) or ''
  end
  local head = ('Context: %s'):format(tokens(context.tokens))
  if window then
    head = ('%s of %s'):format(head, tokens(window))
  end
  head = head .. ' tokens'
  if context.model then
    head = head .. ', ' .. visible.text(context.model)
  end
  if context.compactsAt then
    head = head .. ', compacted at ' .. tokens(context.compactsAt)
  end
  local rows = {}
  for _, part in ipairs(context.parts) do
    rows[#rows + 1] = { part.title .. (part.count > 1 and (' (%d)'):format(part.count) or ''), part.tokens }
    for _, one in ipairs(part.largest or {}) do
      rows[#rows + 1] = { '  ' .. visible.text(one.name), one.tokens }
    end
  end
  if window and window >= context.tokens then
    rows[#rows + 1] = { 'Free', window - context.tokens }
  end
  local widest = 0
  for _, row in ipairs(rows) do
    widest = math.max(widest, vim.fn.strdisplaywidth(row[1]))
  end
  local lines = { head, '' }
  for _, row in ipairs(rows) do
    local pad = (' '):rep(widest - vim.fn.strdisplaywidth(row[1]))
    lines[#lines + 1] = vim.trim(('|%s%s %7s %s'):format(row[1], pad, tokens(row[2]), share(row[2]))):sub(2)
  end
  lines[#lines + 1] = ''
  lines[#lines + 1] = 'The parts are estimates.'
  if not context.model then
    lines[#lines + 1] = 'Instructions, tools and the window are known once the model has been asked.'
  end
  for _, what in ipairs(context.leftOut or {}) do
    lines[#lines + 1] = ('Not sent, since the window is small: %s.'):format(what)
  end
  return lines
end

---@param context table
function M.show(context)
  vim.lsp.util.open_floating_preview(M.lines(context), '', { border = 'rounded', focus_id = 'countersign-context', wrap = false })
end

return M
