--- Which changes stood before the person, line by line, as ones that fit: in a window with their marks, or as two sides. A yes covers
--- those and no others. One that is seen in conflict, or whose text becomes another, has to be shown again.
local M = {}

---@class countersign.Sight
---@field text string What comes, as it was shown.
---@field at integer When the last part of it came (ms).
---@field words? string What was said of its file beside the lines.
---@field old table<integer, integer> Of each line, from 1, the columns from its start that were on the screen.
---@field new table<integer, integer>

--- All of a line.
local WHOLE = math.huge

---@type table<string, table<string, countersign.Sight>> By proposal and hunk.
local seen = {}

local function sight(proposal, hunk)
  seen[proposal] = seen[proposal] or {}
  local one = seen[proposal][hunk.id]
  if not one or one.text ~= hunk.newText then
    one = { text = hunk.newText, at = vim.uv.now(), old = {}, new = {} }
    seen[proposal][hunk.id] = one
  end
  return one
end

local function count(text)
  return require('countersign.review.edit').count(text)
end

--- Lines that a hunk takes away. All those of a file that is deleted go, which is said.
local function old_count(file, hunk)
  return file.kind.type == 'delete' and 0 or math.max(0, hunk.range['end'] - hunk.range.start)
end

--- Notes a part of a line.
---@param proposal string
---@param hunk table
---@param side 'old'|'new'
---@param line integer Of the hunk, from 1.
---@param from? integer Columns of it; all of the line where there is none.
---@param to? integer
---@param width? integer Those that it has.
function M.note(proposal, hunk, side, line, from, to, width)
  if hunk.status ~= 'pending' then
    return
  end
  local one = sight(proposal, hunk)
  local so_far, now = one[side][line] or 0, one[side][line]
  if not from then
    now = WHOLE
  elseif from <= so_far then
    now = to >= width and WHOLE or math.max(so_far, to)
  end
  if now ~= one[side][line] then
    one[side][line], one.at = now, vim.uv.now()
  end
end

--- Notes all lines that come.
---@param proposal string
---@param hunk table
function M.note_new(proposal, hunk)
  for line = 1, count(hunk.newText) do
    M.note(proposal, hunk, 'new', line)
  end
end

--- Notes that what is to be said of its file stands there.
---@param proposal string
---@param hunk table
---@param words string
function M.note_words(proposal, hunk, words)
  local one = hunk.status == 'pending' and sight(proposal, hunk)
  if one and one.words ~= words then
    one.words, one.at = words, vim.uv.now()
  end
end

--- When the last part of a hunk was shown.
---@param proposal string
---@param hunk table
---@return integer ms
function M.shown_at(proposal, hunk)
  local one = (seen[proposal] or {})[hunk.id]
  return one and one.at or vim.uv.now()
end

--- What of a hunk was not shown yet: words, or the first line of it.
---@param proposal string
---@param file table
---@param hunk table
---@return 'words'|'new'|'old'|nil what
---@return integer? line Of the hunk, from 1.
---@return integer? column From which on it was not.
function M.lacks(proposal, file, hunk)
  local one = (seen[proposal] or {})[hunk.id]
  if not one or one.text ~= hunk.newText then
    one = { old = {}, new = {} }
  end
  for _, side in ipairs({ { 'new', count(hunk.newText) }, { 'old', old_count(file, hunk) } }) do
    for line = 1, side[2] do
      if one[side[1]][line] ~= WHOLE then
        return side[1], line, one[side[1]][line] or 0
      end
    end
  end
  if one.words ~= (require('countersign.proposals').beyond_text(file) or '') then
    return 'words'
  end
end

--- Follows a proposal: what is in conflict was not shown as what it will be.
---@param proposal table
function M.follow(proposal)
  for _, file in ipairs(seen[proposal.id] and proposal.files or {}) do
    for _, hunk in ipairs(file.hunks) do
      if hunk.status == 'conflicting' then
        seen[proposal.id][hunk.id] = nil
      end
    end
  end
end

---@param proposal string
function M.forget(proposal)
  seen[proposal] = nil
end

--- The hunks that a yes would cover: those that wait and fit, and of those that are named also what is decided.
---@param proposal table
---@param which? { path?: string, hunkIds?: string[] } All of it where there is none.
---@return { file: table, hunk: table }[] meant
---@return table[] in_conflict Hunks that it cannot cover.
function M.meant(proposal, which)
  local meant, in_conflict = {}, {}
  for _, file in ipairs(proposal.files) do
    for _, hunk in ipairs(file.hunks) do
      local named = which and which.hunkIds and vim.tbl_contains(which.hunkIds, hunk.id)
      local covered = named or not (which and (which.hunkIds or (which.path and file.path ~= which.path)))
      if covered and hunk.status == 'conflicting' then
        in_conflict[#in_conflict + 1] = hunk
      elseif covered and (named or hunk.status == 'pending') then
        meant[#meant + 1] = { file = file, hunk = hunk }
      end
    end
  end
  return meant, in_conflict
end

return M
