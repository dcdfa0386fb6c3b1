--- What stands above a conversation: its name, model and mode, and how much room is left.
local line = require('countersign.picker').line

local M = {}

--- A number of tokens as people read it.
---@param count integer
---@return string
function M.tokens(count)
  if count < 1000 then
    return tostring(count)
  elseif count < 10000 then
    return ('%.1fk'):format(count / 1000)
  end
  return ('%dk'):format(math.floor(count / 1000 + 0.5))
end

--- Room that is left in the model's window; nil where it is not known.
---@param thread countersign.Thread
---@return integer? tokens
---@return integer? percent
function M.left(thread)
  local usage = thread.usage
  local window = usage and usage.modelContextWindow or thread.window
  if not usage or not window or window <= 0 then
    return nil
  end
  local left = math.max(window - usage.last.totalTokens, 0)
  return left, math.floor(left * 100 / window)
end

local function escape(text)
  return (text:gsub('%%', '%%%%'):gsub('%c', ' '))
end

--- For 'winbar'.
---@param thread countersign.Thread
---@return string
function M.text(thread)
  local name = line(thread.name or thread.preview, 40)
  name = name ~= '' and name or 'New conversation'
  local parts = {}
  local settings = thread.settings
  if settings then
    parts[#parts + 1] = escape(settings.model .. (settings.effort and ' ' .. settings.effort or ''))
    parts[#parts + 1] = escape(settings.mode)
  end
  local left, percent = M.left(thread)
  if left then
    parts[#parts + 1] = ('%s tokens left (%d%%%%)'):format(M.tokens(left), percent)
  end
  for _, window in ipairs({ thread.limits and thread.limits.primary, thread.limits and thread.limits.secondary }) do
    if window and window.usedPercent >= 80 then
      parts[#parts + 1] = ('%d%%%% of the allowance used'):format(window.usedPercent)
      break
    end
  end
  local state = thread.turn and '%#CountersignRunning#●%* ' or ''
  return ('%s%%#CountersignTitle#%s%%*  %%=%%<%s '):format(state, escape(name), table.concat(vim.tbl_map(function(part)
    return (part:gsub('%c', ' '))
  end, parts), ' · '))
end

return M
