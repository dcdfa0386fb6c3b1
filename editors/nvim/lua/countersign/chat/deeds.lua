--- How what a tool does stands, and what tools did in a row, in one line.
local M = {}

--- A time span as people write it.
---@param ms integer
---@return string
function M.span(ms)
  if ms < 1000 then
    return ('%d ms'):format(ms)
  elseif ms < 60000 then
    return ('%.1f s'):format(ms / 1000)
  end
  return ('%d min %02d s'):format(math.floor(ms / 60000), math.floor(ms / 1000) % 60)
end

---@class countersign.Deed
---@field kind 'read'|'list'|'search'|'run'|'call'|'thought'
---@field ms integer
---@field failed boolean

local states = {
  inProgress = { '●', 'CountersignRunning', 'running' },
  completed = { '✓', 'CountersignDone' },
  failed = { '✗', 'CountersignFailed', 'failed' },
  declined = { '✗', 'CountersignFailed', 'denied' },
  interrupted = { '■', 'CountersignFailed', 'interrupted' },
  background = { '●', 'CountersignRunning', 'runs on' },
}

--- How an item stands: before its row, and what more there is to say behind it.
function M.stand(block, item, more)
  local state = states[item.status] or { '·', 'CountersignQuiet', item.status }
  block.state, block.failed = { state[1], state[2] }, state[2] == 'CountersignFailed' or nil
  block.status = state[3] and { { ' ' .. state[3], state[2] } } or {}
  for _, text in ipairs(more) do
    block.status[#block.status + 1] = { ' · ' .. text, 'CountersignQuiet' }
  end
  if item.durationMs then
    block.status[#block.status + 1] = { ' · ' .. M.span(item.durationMs), 'CountersignQuiet' }
  end
end

local done = {
  { 'read', 'read %d file', 's' },
  { 'list', 'listed %d folder', 's' },
  { 'search', 'searched %d time', 's' },
  { 'run', 'ran %d command', 's' },
  { 'call', 'called %d tool', 's' },
}

--- What tools did in a row, in one line: what failed first.
---@param deeds countersign.Deed[]
---@return { [1]: string, [2]: string }[]
function M.line(deeds)
  local counts, failed, ms = {}, 0, 0
  for _, one in ipairs(deeds) do
    counts[one.kind] = (counts[one.kind] or 0) + 1
    failed, ms = failed + (one.failed and 1 or 0), ms + one.ms
  end
  local parts = {}
  for _, one in ipairs(done) do
    local count = counts[one[1]]
    parts[#parts + 1] = count and one[2]:format(count) .. (count == 1 and '' or one[3]) or nil
  end
  local text = table.concat(parts, ', ')
  text = text:sub(1, 1):upper() .. text:sub(2)
  local chunks = { failed > 0 and { '✗ ', 'CountersignFailed' } or { '✓ ', 'CountersignDone' }, { '▸ ', 'CountersignQuiet' } }
  if failed > 0 then
    chunks[#chunks + 1] = { ('%d failed · '):format(failed), 'CountersignFailed' }
  end
  chunks[#chunks + 1] = { text, failed > 0 and 'CountersignFailed' or 'CountersignQuiet' }
  if ms >= 1000 then
    chunks[#chunks + 1] = { ' · ' .. (ms < 60000 and ('%d s'):format(math.floor(ms / 1000 + 0.5)) or M.span(ms)), 'CountersignQuiet' }
  end
  return chunks
end

return M
