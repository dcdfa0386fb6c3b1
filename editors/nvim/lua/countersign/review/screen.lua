--- What of a buffer is on the screen now: which of its lines, and whether what stands below one is. A line in a fold, beyond the
--- window's edge, below a floating window or in another tab page is not.
local M = {}

--- Columns of a scroll bar, which hides no words.
local BAR = 2

--- The windows of this tab page that show a buffer.
---@param buf integer
---@return integer[]
function M.windows(buf)
  return vim.tbl_filter(function(win)
    return vim.api.nvim_win_get_buf(win) == buf
  end, vim.api.nvim_tabpage_list_wins(0))
end

--- Columns that a window has for text.
---@param win integer
---@return integer
function M.width(win)
  local info = vim.fn.getwininfo(win)[1]
  return math.max(1, info.width - info.textoff)
end

--- Rows that a window has for text.
---@param win integer
---@return integer
function M.height(win)
  return vim.fn.getwininfo(win)[1].height
end

--- A rectangle of the screen; rows and columns from 1, both ends in it.
---@class countersign.Rectangle
---@field top integer
---@field bottom integer
---@field left integer
---@field right integer

--- Whether a floating window lets what is below it through: a shade over the screen, with nothing in it.
local function is_shade(win)
  local buf = vim.api.nvim_win_get_buf(win)
  local is_empty = vim.api.nvim_buf_line_count(buf) == 1 and vim.api.nvim_buf_get_lines(buf, 0, 1, false)[1] == ''
  return vim.wo[win].winblend > 0 and is_empty
end

--- What lies over a window: floating windows above it, and the menu of completion.
---@param win integer
---@return countersign.Rectangle[]
local function covers(win)
  local list, height = {}, vim.api.nvim_win_get_config(win).zindex or 0
  for _, other in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local config = vim.api.nvim_win_get_config(other)
    local floats = other ~= win and config.relative ~= '' and not config.external and not config.hide
    if floats and (config.zindex or 0) > height and config.width > BAR and not is_shade(other) then
      local at = vim.api.nvim_win_get_position(other)
      local border = type(config.border) == 'table' and 2 or 0
      list[#list + 1] = { top = at[1] + 1, bottom = at[1] + config.height + border, left = at[2] + 1, right = at[2] + config.width + border }
    end
  end
  local menu = vim.fn.pum_getpos()
  if menu.height then
    list[#list + 1] = { top = menu.row + 1, bottom = menu.row + menu.height, left = menu.col + 1, right = menu.col + menu.width }
  end
  return list
end

--- Whether something lies over a part of the screen.
---@param list countersign.Rectangle[]
---@param part countersign.Rectangle
local function is_covered(list, part)
  return vim.iter(list):any(function(one)
    return one.top <= part.bottom and one.bottom >= part.top and one.left <= part.right and one.right >= part.left
  end)
end

--- The part of the screen that a window has for text.
---@param win integer
---@return countersign.Rectangle
local function text_of(win)
  local info = vim.fn.getwininfo(win)[1]
  local top = info.winrow + (info.winbar or 0)
  return { top = top, bottom = top + info.height - 1, left = info.wincol + info.textoff, right = info.wincol + info.width - 1 }
end

--- Rows at the top of a window that something lies over, such as the lines that some plugins keep there.
---@param win integer
---@return integer
function M.covered_at_top(win)
  local text, rows = text_of(win), 0
  for _, one in ipairs(covers(win)) do
    if is_covered({ one }, { top = text.top, bottom = text.top, left = text.left, right = text.right }) then
      rows = math.max(rows, one.bottom - text.top + 1)
    end
  end
  -- A window over half of it is none that stays there.
  return rows <= M.height(win) / 2 and rows or 0
end

--- Where some columns of a line are on the screen.
---@param win integer
---@param line integer From 1.
---@param from integer Columns of the line, from 0, half open.
---@param to integer
---@return countersign.Rectangle
local function place_of(win, line, from, to)
  local text = text_of(win)
  local first = vim.fn.screenpos(win, line, math.max(1, vim.fn.virtcol2col(win, line, from + 1)))
  local last = vim.fn.screenpos(win, line, math.max(1, vim.fn.virtcol2col(win, line, math.max(to, from + 1))))
  local top = first.row > 0 and first.row or text.top
  local bottom = last.row > 0 and last.row or vim.wo[win].wrap and text.bottom or top
  local is_one = top == bottom and first.row > 0 and last.row > 0
  return { top = top, bottom = bottom, left = is_one and first.col or text.left, right = is_one and last.endcol or text.right }
end

--- The lines of a range that are on the screen, each with the columns that are.
---@param win integer
---@param first integer From 0, half open.
---@param last integer
---@return { row: integer, from: integer, to: integer, width: integer }[]
function M.lines(win, first, last)
  return vim.api.nvim_win_call(win, function()
    local found, over = {}, covers(win)
    local top, bottom = vim.fn.line('w0'), vim.fn.line('w$')
    local view, columns = vim.fn.winsaveview(), M.width(win)
    for line = math.max(first + 1, top), math.min(last, bottom) do
      if vim.fn.foldclosed(line) == -1 then
        local width = vim.fn.virtcol({ line, '$' }) - 1
        local from, to = 0, width
        if not vim.wo.wrap then
          from, to = view.leftcol, view.leftcol + columns
        else
          if line == top and (view.skipcol or 0) > 0 then
            -- What is above is meant by a sign in the first row.
            from = view.skipcol + columns
          end
          if top == bottom then
            to = (view.skipcol or 0) + M.height(win) * columns
          end
        end
        to = math.min(to, width)
        if #over == 0 or to <= from or not is_covered(over, place_of(win, line, from, to)) then
          found[#found + 1] = { row = line - 1, from = from, to = to, width = width }
        end
      end
    end
    return found
  end)
end

--- Whether all virtual lines below a line are in a window: they are where the line behind is, too.
local function has_below(win, row)
  local line, last = row + 1, vim.api.nvim_buf_line_count(0)
  if line < vim.fn.line('w0') or vim.fn.foldclosed(line) ~= -1 then
    return false
  elseif line < last then
    return line < vim.fn.line('w$') and vim.fn.foldclosed(line + 1) == -1
  end
  local at = vim.fn.screenpos(win, line, 1).row
  local rows = vim.api.nvim_win_text_height(win, { start_row = row, start_vcol = 0 }).all
  return at > 0 and at + rows - 1 <= vim.api.nvim_win_get_position(win)[1] + vim.api.nvim_win_get_height(win)
end

--- Whether all virtual lines below a line are on the screen.
---@param win integer
---@param row integer From 0.
---@param width? integer Columns of the widest; all of the window's where it is not told.
---@return boolean shown
---@return boolean covered Whether they would be, if nothing lay over them.
function M.shows_below(win, row, width)
  return unpack(vim.api.nvim_win_call(win, function()
    if not has_below(win, row) then
      return { false, false }
    end
    local text = text_of(win)
    local first = vim.fn.screenpos(win, row + 1, 1).row
    -- What stands below a line counts as above the next one.
    local function rows_to(from, to)
      return vim.api.nvim_win_text_height(win, { start_row = from, start_vcol = 0, end_row = to }).all
    end
    local is_last = row + 1 == vim.api.nvim_buf_line_count(0)
    local rows = is_last and rows_to(row) or rows_to(row, row + 1) - rows_to(row + 1, row + 1)
    local top = first > 0 and first or text.top
    local part = { top = top, bottom = math.min(text.bottom, top + rows - 1), left = text.left, right = width and text.left + math.max(width, 1) - 1 or text.right }
    local covered = is_covered(covers(win), part)
    return { not covered, covered }
  end))
end

--- A virtual line as several that are no wider than the window, since it cuts them without a sign.
---@param chunks { [1]: string, [2]: string }[]
---@param width integer
---@return { [1]: string, [2]: string }[][] lines
function M.wrapped(chunks, width)
  local lines, line, used = {}, {}, 0
  local room = math.max(width, 4)
  for _, chunk in ipairs(chunks) do
    local whole = vim.fn.strdisplaywidth(chunk[1])
    if used + whole <= room then
      line[#line + 1] = chunk
      used = used + whole
    else
      local part = ''
      for _, char in ipairs(vim.fn.split(chunk[1], '\\zs')) do
        local wide = vim.fn.strdisplaywidth(char)
        if used + wide > room then
          line[#line + 1] = { part, chunk[2] }
          lines[#lines + 1] = line
          line, part, used = { { '↪ ', 'NonText' } }, '', 2
        end
        part, used = part .. char, used + wide
      end
      line[#line + 1] = { part, chunk[2] }
    end
  end
  lines[#lines + 1] = line
  return lines
end

return M
