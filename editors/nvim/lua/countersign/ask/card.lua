--- All that a question is about, where its prompt has no room for it: in a window beside the picker, which takes no keys, or in
--- a buffer to read where a window cannot hold it either.
local visible = require('countersign.visible')

local M = {}

--- Lines of the screen that are left to the picker.
local PICKER = 14

--- A text as it stands, line by line; what would not be seen of it is made visible.
---@param text string
---@return string[]
function M.lines(text)
  return vim.tbl_map(function(line)
    return vim.fn.strtrans(visible.lines((line:gsub('\t', '    '))))
  end, vim.split(text, '\n', { plain = true }))
end

--- How many lines of the screen some lines take.
local function rows(lines, width)
  local sum = 0
  for _, line in ipairs(lines) do
    -- What is broken goes on under where it began.
    local indent = math.min(#line:match('^ *'), width - 1)
    local rest = vim.fn.strdisplaywidth(line) - width
    sum = sum + 1 + math.max(0, math.ceil(rest / (width - indent)))
  end
  return sum
end

local function width()
  return math.max(20, vim.o.columns - 6)
end

--- How many lines of the screen a window may take.
local function room()
  return math.max(1, vim.o.lines - PICKER)
end

--- Whether a window can hold all of it.
---@param lines string[]
---@return boolean
function M.fits(lines)
  return rows(lines, width()) <= room()
end

--- Shows the lines above all else; of those that do not fit, the first, so that the picker can still be seen.
---@param title string
---@param lines string[]
---@return fun() close
function M.show(title, lines)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].bufhidden = 'wipe'
  local win = vim.api.nvim_open_win(buf, false, {
    relative = 'editor',
    row = 0,
    col = 2,
    width = width(),
    height = math.min(rows(lines, width()), room()),
    style = 'minimal',
    border = 'rounded',
    title = (' %s '):format(title),
    focusable = false,
    noautocmd = true,
    -- Pickers draw their own windows up to 200.
    zindex = 250,
  })
  vim.wo[win].wrap = true
  vim.wo[win].breakindent = true
  vim.cmd.redraw()
  return function()
    pcall(vim.api.nvim_win_close, win, true)
  end
end

--- Opens a buffer with the lines, to be read to its end.
---@param title string
---@param lines string[]
---@param closed fun() When the person has left it.
function M.read(title, lines, closed)
  vim.cmd('tabnew')
  local buf = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile, vim.bo[buf].modifiable = 'nofile', 'wipe', false, false
  vim.wo.wrap = true
  vim.wo.breakindent = true
  vim.wo.winbar = (' %s%%=:Countersign answer '):format((title:gsub('%%', '%%%%')))
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = buf,
    callback = function()
      vim.schedule(closed)
    end,
  })
end

return M
