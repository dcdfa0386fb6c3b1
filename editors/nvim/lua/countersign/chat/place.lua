--- The windows of chats: beside the files, below them, in a tab or above all, and how much room each gets.
local config = require('countersign.config')

local M = {}

--- Columns of a chat in which a line can be read, and of a file beside chats.
local LEAST, FILE = 30, 20

local function thread_of(win)
  return vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)):match('^countersign://thread/(.+)$')
end

local function composed_in(win)
  return vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)):match('^countersign://composer/(.+)$')
end

--- A part of the screen, or a count of its cells.
local function cells(given, all)
  return given < 1 and math.floor(all * given) or math.floor(given)
end

local function floats(win)
  return vim.api.nvim_win_get_config(win).relative ~= ''
end

--- The chats of this tab page that stand beside files, from the left.
---@return integer[]
local function columns()
  local list = vim.tbl_filter(function(win)
    return thread_of(win) and not floats(win)
  end, vim.api.nvim_tabpage_list_wins(0))
  table.sort(list, function(a, b)
    return vim.api.nvim_win_get_position(a)[2] < vim.api.nvim_win_get_position(b)[2]
  end)
  return list
end

--- Columns of each of some chats: all the same, and together no more than what leaves a third to the files.
---@param count integer
---@return integer
function M.width(count)
  local all, one = vim.o.columns, cells(config.get().chat.width, vim.o.columns)
  local room = math.max(math.floor(all * 2 / 3), count == 1 and one or 0, count * LEAST)
  local most = math.min(room, all - FILE) - (count - 1)
  return math.max(10, math.min(one, math.floor(most / count)))
end

--- Gives all chats that stand side by side the same width.
function M.fit()
  local position = config.get().chat.position
  local list = columns()
  if #list < 2 or position == 'tab' or position == 'float' then
    return
  end
  local width = position == 'bottom' and math.floor((vim.o.columns - #list + 1) / #list) or M.width(#list)
  for _, win in ipairs(list) do
    vim.wo[win].winfixwidth = false
  end
  -- What a window gives or takes is of the next one: from the left on, beginning with what stands before the chats.
  local before = vim.api.nvim_win_call(list[1], function()
    return vim.fn.win_getid(vim.fn.winnr('h'))
  end)
  if before ~= list[1] then
    local from = vim.o.columns - #list * (width + 1)
    local now = vim.api.nvim_win_get_position(list[1])[2] - 1
    vim.api.nvim_win_set_width(before, math.max(1, vim.api.nvim_win_get_width(before) + from - now))
  end
  for i, win in ipairs(list) do
    if i < #list or position == 'left' then
      vim.api.nvim_win_set_width(win, width)
    end
  end
  for _, win in ipairs(list) do
    vim.wo[win].winfixwidth = true
  end
end

--- The rectangle of a chat above all, and of its composer below it.
local function rectangles()
  local options = config.get().chat
  local width = math.min(vim.o.columns - 4, math.max(40, cells(options.width < 0.6 and 0.7 or options.width, vim.o.columns)))
  local all = math.max(8, cells(options.height < 0.6 and 0.8 or options.height, vim.o.lines))
  all = math.min(all, vim.o.lines - 3)
  local composer = math.min(math.floor(options.composer_height), math.max(1, all - 7))
  local top, left = math.max(0, math.floor((vim.o.lines - all) / 2) - 1), math.floor((vim.o.columns - width) / 2)
  local function rectangle(row, height)
    return { relative = 'editor', row = row, col = left, width = width - 2, height = height, border = 'rounded', zindex = 45 }
  end
  return rectangle(top, all - composer - 4), rectangle(top + all - composer - 2, composer)
end

--- Whether a window is one of the plugin's that stand above all.
---@param win integer
---@return boolean
function M.is_float(win)
  return floats(win) and (thread_of(win) or composed_in(win)) ~= nil
end

--- A composer above all goes with its chat.
local function together(chat, composer)
  vim.api.nvim_create_autocmd('WinClosed', {
    pattern = tostring(chat),
    once = true,
    callback = function()
      vim.schedule(function()
        if vim.api.nvim_win_is_valid(composer) then
          vim.api.nvim_win_close(composer, true)
        end
      end)
    end,
  })
end

--- Lines, or columns, of the first chat.
local function lines_of(options)
  return math.max(8, math.min(cells(options.height, vim.o.lines), vim.o.lines - 6))
end
local function columns_of(options)
  return math.max(LEAST, math.min(cells(options.width, vim.o.columns), vim.o.columns - FILE))
end

--- Makes a window for a chat and goes there.
---@param buf integer
---@param how? 'split' Beside the other chats.
---@return integer win
function M.open(buf, how)
  local options, others = config.get().chat, columns()
  if options.position == 'float' then
    return vim.api.nvim_open_win(buf, true, (rectangles()))
  elseif options.position == 'tab' then
    vim.cmd('tabnew')
  elseif how == 'split' and #others > 0 then
    vim.wo[others[#others]].winfixwidth = false
    if options.position == 'bottom' then
      vim.api.nvim_set_current_win(others[#others])
      vim.cmd('rightbelow vertical split')
    else
      vim.cmd((options.position == 'left' and 'topleft' or 'botright') .. ' vertical split')
    end
  elseif options.position == 'bottom' then
    vim.cmd(('botright %dsplit'):format(lines_of(options)))
  else
    vim.cmd((options.position == 'left' and 'topleft' or 'botright') .. ' vertical ' .. columns_of(options) .. 'split')
  end
  local win = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(win, buf)
  return win
end

--- Makes a window for a chat without going there; the person may be typing.
---@param buf integer
---@return integer? win None where it would be in a tab of its own.
function M.beside(buf)
  local options = config.get().chat
  if options.position == 'tab' then
    return nil
  elseif options.position == 'float' then
    return vim.api.nvim_open_win(buf, false, (rectangles()))
  elseif options.position == 'bottom' then
    return vim.api.nvim_open_win(buf, false, { split = 'below', win = -1, height = lines_of(options) })
  end
  return vim.api.nvim_open_win(buf, false, { split = options.position, win = -1, width = columns_of(options) })
end

--- Makes a window for a composer, below the chat in the current window, and goes there.
---@param buf integer
---@return integer win
function M.compose(buf)
  local chat = vim.api.nvim_get_current_win()
  if floats(chat) then
    local _, rectangle = rectangles()
    local win = vim.api.nvim_open_win(buf, true, rectangle)
    together(chat, win)
    return win
  end
  vim.cmd('belowright ' .. math.floor(config.get().chat.composer_height) .. 'split')
  local win = vim.api.nvim_get_current_win()
  vim.api.nvim_win_set_buf(win, buf)
  vim.wo[win].winfixheight = true
  return win
end

vim.api.nvim_create_autocmd('VimResized', {
  group = vim.api.nvim_create_augroup('countersign.place', {}),
  callback = function()
    for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      if M.is_float(win) then
        local chat, composer = rectangles()
        vim.api.nvim_win_set_config(win, thread_of(win) and chat or composer)
      end
    end
    M.fit()
  end,
})

return M
