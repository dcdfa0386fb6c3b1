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

--- How full the allowance is, where that is worth a word.
local function allowance(thread)
  for _, window in ipairs({ thread.limits and thread.limits.primary, thread.limits and thread.limits.secondary }) do
    if window and window.usedPercent >= 80 then
      return window.usedPercent
    end
  end
end

--- The parts in the order in which they stand, each in its forms from the longest to the shortest, and which of them is shortened next:
--- what somebody acts on (the name, a mode in which less is done, little room) stays to the end.
local function parts_of(thread)
  local name = line(thread.name or thread.preview, 40)
  name = name ~= '' and name or 'New conversation'
  local settings, parts, order = thread.settings, {}, {}
  local function add(key, ...)
    parts[#parts + 1] = { key = key, forms = vim.tbl_filter(function(form)
      return form ~= nil
    end, { ... }), at = 1 }
    parts[key] = parts[#parts]
  end
  add('name', name, line(name, 24), line(name, 14))
  if settings then
    add('model', settings.model .. (settings.effort and ' ' .. settings.effort or ''), settings.model, '')
    add('mode', settings.mode, '')
  end
  local left, percent = M.left(thread)
  if left then
    add('left', ('%s tokens left (%d%%)'):format(M.tokens(left), percent), ('%d%% left'):format(percent), '')
  end
  local cost = thread.usage and thread.usage.cost
  if cost then
    add('cost', (cost.isPartial and '> ' or '') .. ('$%.' .. (cost.usd < 0.01 and 4 or 2) .. 'f'):format(cost.usd), '')
  end
  local used = allowance(thread)
  if used then
    add('used', ('%d%% of the allowance used'):format(used), ('%d%% used'):format(used), '')
  end
  order = { 'left', 'used', 'model', 'cost', 'name', 'model' }
  vim.list_extend(order, settings and settings.mode == 'agent' and { 'mode' } or {})
  vim.list_extend(order, percent and percent > 20 and { 'left' } or {})
  return parts, vim.list_extend(order, { 'name', 'mode', 'used', 'left' })
end

--- For 'winbar'. Where a window has not the room for all, the parts that matter least are shortened and left out first, whole.
---@param thread countersign.Thread
---@param width? integer Columns of the window; absent: as many as it takes.
---@return string
function M.text(thread, width)
  local parts, order = parts_of(thread)
  local state = thread.turn and 2 or 0
  local function shown()
    local list = {}
    for i = 2, #parts do
      local form = parts[i].forms[parts[i].at]
      list[#list + 1] = form ~= '' and form or nil
    end
    return parts[1].forms[parts[1].at], table.concat(list, ' · ')
  end
  local name, rest = shown()
  for _, key in ipairs(order) do
    if not width or vim.fn.strdisplaywidth(name .. rest) + state + 3 <= width then
      break
    end
    local part = parts[key]
    if part then
      part.at = math.min(part.at + 1, #part.forms)
    end
    name, rest = shown()
  end
  local running = thread.turn and '%#CountersignRunning#●%* ' or ''
  return ('%s%%#CountersignTitle#%s%%*  %%=%%<%s '):format(running, escape(name), escape(rest))
end

return M
