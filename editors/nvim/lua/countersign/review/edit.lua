--- What the person made of the after side, back in terms of hunks.
local M = {}

--- Lines of a text, whether or not the last has an end.
---@param text string
---@return integer
function M.count(text)
  local _, ends = text:gsub('\n', '')
  return ends + ((text ~= '' and text:sub(-1) ~= '\n') and 1 or 0)
end

---@class countersign.Placed
---@field hunk table
---@field first integer First line in the after side, from 0.
---@field last integer The line behind its last.

--- Where the hunks of a file stand in its after side: those that are in it, in the order of their lines.
---@param hunks table[]
---@return countersign.Placed[]
function M.place(hunks)
  local sorted = vim.list_slice(hunks)
  table.sort(sorted, function(a, b)
    return a.range.start < b.range.start
  end)
  local placed, shift = {}, 0
  for _, hunk in ipairs(sorted) do
    if hunk.status ~= 'rejected' and hunk.status ~= 'conflicting' then
      local first, count = hunk.range.start + shift, M.count(hunk.newText)
      placed[#placed + 1] = { hunk = hunk, first = first, last = first + count }
      shift = shift + count - (hunk.range['end'] - hunk.range.start)
    end
  end
  return placed
end

---@class countersign.Edited
---@field id string
---@field newText string

--- Compares the after side as it was with what the person made of it. A change that lies in a hunk, or touches it, is that
--- hunk's; any other cannot be taken.
---@param before string
---@param after string
---@param placed countersign.Placed[]
---@return countersign.Edited[]? edited Those whose text is another now.
---@return string? problem Why the edits cannot be taken, in words.
function M.texts(before, after, placed)
  if before == after then
    return {}
  end
  local regions = vim.diff(before, after, { result_type = 'indices' }) --[[@as integer[][] ]]
  local grown = {}
  for _, region in ipairs(regions) do
    -- As a half-open range of lines of `before`, from 0.
    local first = region[2] == 0 and region[1] or region[1] - 1
    local last = first + region[2]
    local owner
    for i, one in ipairs(placed) do
      if not owner and first <= one.last and last >= one.first then
        owner = i
      end
    end
    local one = placed[owner]
    if not one or first < one.first or last > one.last then
      local line = one and first >= one.first and one.last or first
      return nil, ('line %d was changed, which is no part of what the agent changes. Edit the file itself there.'):format(line + 1)
    end
    grown[owner] = (grown[owner] or 0) + region[4] - region[2]
  end
  local lines = vim.split(after, '\n', { plain = true })
  local edited, shift = {}, 0
  for i, one in ipairs(placed) do
    local first, last = one.first + shift, one.last + shift + (grown[i] or 0)
    shift = shift + (grown[i] or 0)
    local text = ''
    for row = first + 1, last do
      -- The last line of a text has an end only where the text has one.
      text = text .. lines[row] .. (row < #lines and '\n' or '')
    end
    if text ~= one.hunk.newText then
      edited[#edited + 1] = { id = one.hunk.id, newText = text }
    end
  end
  return edited
end

return M
