--- A Markdown text that leaves nothing open behind it. The blocks of a conversation are one document, and what one of them leaves open
--- would take the next into a code block, or out of its own.
local M = {}

--- A line that could begin or end a block of code: how far in, its sign, how many of them, and whether it can only begin one. What stands
--- before may be the marks of lists and quotations.
---@return { indent: integer, sign: string, length: integer, opens: boolean, marked: boolean }?
local function fence(line)
  local before, marks, rest = line:match('^([%s>*+.)%d-]*)(```+)(.*)$')
  if not before then
    before, marks, rest = line:match('^([%s>*+.)%d-]*)(~~~+)(.*)$')
  end
  if not before or (marks:sub(1, 1) == '`' and rest:find('`', 1, true)) then
    return nil
  end
  return { indent = #before, sign = marks:sub(1, 1), length = #marks, opens = rest:find('%S') ~= nil, marked = before:find('[^ ]') ~= nil }
end

local function closes(one, open)
  return one and not one.marked and not one.opens and one.sign == open.sign and one.length >= open.length
end

--- The line that ends a block of code which begins at a line behind spaces or the mark of a list, where nothing between can have ended it:
--- each line there is as far in as it is, so they are in the same list, whichever that is.
---@return integer? row
---@return boolean? missing Whether it only has to be added.
local function partner(lines, at, open)
  for row = at + 1, #lines do
    local line, one = lines[row], fence(lines[row])
    if line:find('%S') and #line:match('^ *') < open.indent then
      return nil
    elseif closes(one, open) and one.indent == open.indent then
      return row
    elseif one and one.sign == open.sign then
      return nil
    end
  end
  return nil, true
end

--- What is known of a text that grows: how many of its lines stay as they are, up to where it was read, and up to where the end of a
--- block of code was looked for.
---@class countersign.FenceMemo
---@field settled integer
---@field row? integer
---@field alone? boolean
---@field open? integer
---@field searched? integer
---@field longest? table<string, { upto: integer, most: integer }>

--- What the lines leave open.
---@param lines string[]
---@param memo countersign.FenceMemo
---@return string? closing The line that ends a block of code, where there is one.
---@return boolean doubtful Whether there may be one, which depends on what lists and quotations there are.
local function left_open(lines, memo)
  -- A line at the margin that begins no list ends all lists of before; behind it, up to the next list, a little further in is no more
  -- than that.
  local row, alone = memo.row or 1, false
  if memo.row then
    alone = memo.alone
  end
  while row <= #lines do
    if row <= memo.settled + 1 then
      memo.row, memo.alone = row, alone
    end
    local open = fence(lines[row])
    if lines[row]:find('^%s*[-+*>]') or lines[row]:find('^%s*%d+[.)]') then
      alone = nil
    elseif alone == false and lines[row]:find('^[^%s]') then
      alone = true
    end
    if open and (open.indent == 0 or (alone and open.indent < 4 and not open.marked)) then
      local ended
      local from = memo.open == row and memo.searched or row + 1
      for behind = from, #lines do
        local one = fence(lines[behind])
        if closes(one, open) and one.indent < 4 then
          ended = behind
          break
        end
      end
      if not ended then
        memo.open, memo.searched = row, math.max(row, memo.settled) + 1
        return open.sign:rep(open.length), false
      end
      row = ended
    elseif open then
      local ended, missing = partner(lines, row, open)
      if lines[row]:match('^[%s>*+.)%d-]*'):find('[>\t]') or not (ended or missing) then
        return nil, true
      elseif missing then
        return (' '):rep(open.indent) .. open.sign:rep(open.length), false
      end
      row = ended
    end
    row = row + 1
  end
  return nil, false
end

local function longest(lines, sign, memo)
  memo.longest = memo.longest or {}
  local known = memo.longest[sign] or { upto = 0, most = 3 }
  memo.longest[sign] = known
  local most = known.most
  for row = known.upto + 1, #lines do
    for run in lines[row]:gmatch(sign .. '+') do
      most = math.max(most, #run)
    end
    if row <= memo.settled then
      known.upto, known.most = row, most
    end
  end
  return most
end

--- Adds what closes a text whatever it left open: where it is not known, a list whose items hold the marks. They end a block of code that
--- is open at the margin; where none is, they begin one in the list, which the line behind it ends.
---@param lines string[]
---@param memo? countersign.FenceMemo Where the lines were looked at before, and have only grown.
---@return string[] lines The same table.
function M.close(lines, memo)
  memo = memo or { settled = 0 }
  local closing, doubtful = left_open(lines, memo)
  if closing then
    lines[#lines + 1] = closing
  elseif doubtful then
    local ticks, tildes = ('`'):rep(longest(lines, '`', memo)), ('~'):rep(longest(lines, '~', memo))
    vim.list_extend(lines, { '', '-', '  ' .. ticks, '-', '  ' .. tildes, '', '<!-- -->' })
  end
  return lines
end

return M
