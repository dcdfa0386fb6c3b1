--- The component for the status line.
local M = {}

--- In parts, for those who draw their own.
---@return { running: integer, questions: integer, changes: integer, model?: string, mode?: string, left?: integer, percent?: integer }
function M.parts()
  local threads = package.loaded['countersign.threads']
  local proposals = package.loaded['countersign.proposals']
  local parts = { running = 0, questions = 0, changes = 0 }
  for i, thread in ipairs(threads and threads.list() or {}) do
    parts.running = parts.running + (thread.turn and 1 or 0)
    parts.questions = parts.questions + vim.tbl_count(thread.questions)
    if i == 1 and thread.live then
      parts.model, parts.mode = thread.settings and thread.settings.model, thread.settings and thread.settings.mode
      parts.left, parts.percent = require('countersign.chat.bar').left(thread)
    end
  end
  parts.changes = proposals and #proposals.open_hunks() or 0
  return parts
end

--- As one text, without highlights.
---@return string
function M.text()
  if #vim.lsp.get_clients({ name = 'countersign' }) == 0 then
    return ''
  end
  local parts, list = M.parts(), {}
  if parts.questions > 0 then
    list[#list + 1] = ('?%d'):format(parts.questions)
  end
  if parts.changes > 0 then
    list[#list + 1] = ('±%d'):format(parts.changes)
  end
  if parts.running > 0 then
    list[#list + 1] = parts.running == 1 and '●' or ('●%d'):format(parts.running)
  end
  if parts.model then
    list[#list + 1] = parts.mode == 'agent' and parts.model or ('%s %s'):format(parts.model, parts.mode)
  end
  if parts.percent then
    list[#list + 1] = ('%d%%'):format(parts.percent)
  end
  return table.concat(list, ' ')
end

return M
