--- What stands beside the text of a proposal's two sides: the bar, what hides in the lines, and what happens to the file beside them.
local edit = require('countersign.review.edit')
local proposals = require('countersign.proposals')
local screen = require('countersign.review.screen')
local visible = require('countersign.visible')

local M = {}

local namespace = vim.api.nvim_create_namespace('countersign.side')

local function escaped(text)
  return (text:gsub('%%', '%%%%'))
end

--- What the two sides do not show by themselves.
local function notes(view)
  local list = { proposals.beyond_text(view.file), view.hides and 'what hides is marked' or nil }
  return table.concat(vim.tbl_values(list), ', ')
end

local function bar_words(view)
  local words = notes(view)
  return ' proposed' .. (words ~= '' and ': ' .. words or '')
end

--- What counts the changes is cut where there is little room.
local function bar(view)
  local open, decided = 0, 0
  for _, hunk in ipairs(view.hunks) do
    if hunk.status == 'pending' or hunk.status == 'conflicting' then
      open = open + 1
    else
      decided = decided + 1
    end
  end
  return ('%s%%< · %d waiting%s%%= :w edits '):format(escaped(bar_words(view)), open, decided > 0 and (', %d decided'):format(decided) or '')
end

--- Whether a window has room for what its bar must say.
local function has_room(win, view)
  return vim.fn.strdisplaywidth(bar_words(view)) <= vim.api.nvim_win_get_width(win)
end

--- Marks what does not show by itself in some lines. Whether there is any.
local function mark_hidden(buf, first, last)
  local any = false
  for i, line in ipairs(vim.api.nvim_buf_get_lines(buf, first, last, false)) do
    for _, one in ipairs(visible.hidden(line)) do
      any = true
      local options = { virt_text = { { one.text, 'CountersignConflict' } }, virt_text_pos = 'inline' }
      vim.api.nvim_buf_set_extmark(buf, namespace, first + i - 1, one.at, options)
    end
  end
  return any
end

--- Says below the first line what the bar has no room for, or does not say since it is somebody else's by now.
---@param view countersign.Side
function M.say_below(view)
  local win = vim.fn.win_findbuf(view.after)[1]
  if win and notes(view) ~= '' then
    local lines = screen.wrapped({ { notes(view), 'CountersignHunk' } }, screen.width(win))
    view.words = vim.api.nvim_buf_set_extmark(view.after, namespace, 0, 0, { id = view.words, virt_lines = lines })
  end
end

--- Puts beside the text what it does not show: what hides in it, and what is said of the file where the bar has no room.
---@param view countersign.Side
function M.annotate(view)
  view.hides, view.words = false, nil
  M.clear(view.before)
  M.clear(view.after)
  for _, one in ipairs(edit.place(view.hunks)) do
    local range = one.hunk.range
    local new, old = mark_hidden(view.after, one.first, one.last), mark_hidden(view.before, range.start, range['end'])
    view.hides = view.hides or new or old
  end
  for _, win in ipairs(vim.fn.win_findbuf(view.after)) do
    vim.wo[win].winbar = bar(view)
    if not has_room(win, view) and not view.words then
      M.say_below(view)
    end
  end
end

--- Long lines go on in the next row where they would end at the window's edge.
---@param view countersign.Side
function M.wrap(view)
  for _, win in ipairs(vim.fn.win_findbuf(view.after)) do
    local is_wide = vim.api.nvim_win_call(win, function()
      local columns = screen.width(win)
      return vim.iter(edit.place(view.hunks)):any(function(one)
        for line = one.first + 1, math.min(one.last, vim.api.nvim_buf_line_count(view.after)) do
          if vim.fn.virtcol({ line, '$' }) - 1 > columns then
            return true
          end
        end
      end)
    end)
    -- Each row of a line is as long as the window is wide, so that it is known what of it is on the screen.
    local options = { wrap = true, smoothscroll = true, linebreak = false, breakindent = false, showbreak = 'NONE' }
    for name, value in pairs(is_wide and options or {}) do
      vim.api.nvim_set_option_value(name, value, { win = win, scope = 'local' })
    end
  end
end

--- Whether a window of the after side says all that the two sides do not show by themselves.
---@param win integer
---@param view countersign.Side
---@return boolean
function M.says(win, view)
  local in_bar = vim.wo[win].winbar == bar(view) and has_room(win, view)
  return proposals.beyond_text(view.file) == nil or in_bar or (view.words ~= nil and screen.shows_below(win, 0))
end

--- Takes what was put beside the text of a buffer away.
---@param buf integer
function M.clear(buf)
  if vim.api.nvim_buf_is_valid(buf) then
    vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  end
end

return M
