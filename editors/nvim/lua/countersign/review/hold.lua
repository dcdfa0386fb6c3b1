--- Keeps what a person looks at where it is on the screen, while lines that are not in the text come and go above it.
local M = {}

--- Rows of what stands above a line and is not in the text.
local function filler(win, line)
  if line > vim.api.nvim_buf_line_count(vim.api.nvim_win_get_buf(win)) then
    return 0
  end
  return vim.api.nvim_win_text_height(win, { start_row = line - 1, end_row = line - 1 }).fill
end

--- Rows of a line, or of the fold that it is in, without these.
local function height(win, line, behind)
  return vim.api.nvim_win_text_height(win, { start_row = line - 1, start_vcol = 0, end_row = behind - 1 }).all
end

--- Scrolls a view by rows of the screen; it is as near as whole lines allow.
local function scroll(win, view, rows)
  local last = vim.api.nvim_buf_line_count(vim.api.nvim_win_get_buf(win))
  while rows > 0 do
    local step = math.min(rows, view.topfill)
    view.topfill, rows = view.topfill - step, rows - step
    local behind = math.max(view.topline, vim.fn.foldclosedend(view.topline))
    local tall = height(win, view.topline, behind)
    if rows < tall or behind >= last then
      return
    end
    rows = rows - tall
    view.topline, view.topfill = behind + 1, filler(win, behind + 1)
  end
  while rows < 0 do
    local step = math.min(-rows, math.max(0, filler(win, view.topline) - view.topfill))
    view.topfill, rows = view.topfill + step, rows + step
    if rows == 0 or view.topline == 1 then
      return
    end
    local above = view.topline - 1
    local first = vim.fn.foldclosed(above)
    first = first == -1 and above or first
    rows = rows + height(win, first, above)
    if rows > 0 then
      return
    end
    view.topline, view.topfill = first, 0
  end
end

--- Does something to what is drawn in a buffer. The line of the cursor stays where it is in each window.
---@param buf integer
---@param deed fun()
function M.still(buf, deed)
  local rows = {}
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    rows[win] = vim.api.nvim_win_call(win, function()
      vim.fn.winsaveview()
      return vim.fn.winline()
    end)
  end
  deed()
  for win, row in pairs(rows) do
    vim.api.nvim_win_call(win, function()
      local view = vim.fn.winsaveview()
      local now = vim.fn.winline()
      if now ~= row and (view.skipcol or 0) == 0 then
        scroll(win, view, now - row)
        vim.fn.winrestview(view)
      end
    end)
  end
end

return M
