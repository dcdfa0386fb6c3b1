--- Where chats stand: a column (or a tab) with the conversation, and the composer below it.
local chat = require('countersign.chat')
local client = require('countersign.client')
local config = require('countersign.config')
local place = require('countersign.chat.place')
local threads = require('countersign.threads')

local M = {}

--- The window of this tab that shows a buffer.
local function window_of(buf)
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.api.nvim_win_get_buf(win) == buf then
      return win
    end
  end
end

--- A window of this tab that shows any chat.
local function any_chat()
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)):match('^countersign://thread/') then
      return win
    end
  end
end

--- Makes a window for a chat: above its composer where that is left, else in a place of its own.
local function split(id, buf, how)
  local composer = M.composer_window(id)
  if composer and not place.is_float(composer) then
    vim.api.nvim_set_current_win(composer)
    vim.cmd('aboveleft split')
    vim.wo.winfixheight = false
    vim.api.nvim_win_set_height(composer, math.floor(config.get().chat.composer_height))
    vim.api.nvim_win_set_buf(0, buf)
    return
  elseif composer then
    vim.api.nvim_win_close(composer, true)
  end
  place.open(buf, how)
end

--- Shows a conversation. One that is shown is gone to; another chat's window is taken over.
---@param id string
---@param how? 'split' Beside the other chats.
---@return countersign.Chat
function M.show(id, how)
  local one = chat.buffer(id)
  local win = window_of(one.buf)
  if not win then
    win = how ~= 'split' and any_chat() or nil
    if win then
      vim.api.nvim_set_current_win(win)
      local composer = M.composer_window()
      if composer then
        vim.api.nvim_win_close(composer, false)
      end
      vim.api.nvim_set_current_win(win)
      vim.api.nvim_win_set_buf(win, one.buf)
    else
      split(id, one.buf, how)
      win = vim.api.nvim_get_current_win()
      place.fit()
    end
    vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(one.buf), 0 })
  end
  vim.api.nvim_set_current_win(win)
  local thread = threads.get(id)
  if thread then
    threads.use(thread)
  end
  return one
end

--- Shows a conversation beside what the person does, who stays where they are, also if they type.
---@param id string
---@return boolean shown Not in a tab of its own, which would not be seen.
function M.reveal(id)
  if chat.is_visible(id) then
    return true
  end
  local one, win = chat.buffer(id), any_chat()
  if win then
    local composer = M.composer_window(chat.thread_of(vim.api.nvim_win_get_buf(win)))
    vim.api.nvim_win_set_buf(win, one.buf)
    if composer and composer ~= vim.api.nvim_get_current_win() then
      vim.api.nvim_win_close(composer, false)
    end
  else
    win = place.beside(one.buf)
  end
  if win then
    vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(one.buf), 0 })
  end
  return win ~= nil
end

--- The composer of a chat, where it is shown.
---@param id? string Absent: of the chat in the current window.
---@return integer?
function M.composer_window(id)
  id = id or chat.thread_of(vim.api.nvim_get_current_buf())
  local buf = id and vim.fn.bufnr('^countersign://composer/' .. id .. '$') or -1
  return buf > 0 and window_of(buf) or nil
end

--- Shows a conversation with its composer, and puts the cursor there.
---@param id string
---@param how? 'split'
function M.open(id, how)
  -- What the person looks at now is what they ask about.
  require('countersign.context').note()
  M.show(id, how)
  require('countersign.composer').open(id)
  local thread = threads.get(id)
  if thread and thread.live and #thread.items == 0 then
    require('countersign.setup').check(thread.client)
  end
end

--- Opens the chat that is meant, or begins one.
---@param done? fun(thread: countersign.Thread)
function M.chat(done)
  require('countersign.context').note()
  chat.with(function(thread)
    M.open(thread.id)
    if done then
      done(thread)
    end
  end)
end

--- Opens a new conversation.
---@param how? 'split'
function M.new(how)
  require('countersign.context').note()
  chat.start(function(thread)
    M.open(thread.id, how)
  end)
end

--- Closes the chat's windows in this tab; the conversation stays.
function M.close()
  local closed = false
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.api.nvim_win_is_valid(win) and chat.thread_of(vim.api.nvim_win_get_buf(win)) and #vim.api.nvim_tabpage_list_wins(0) > 1 then
      vim.api.nvim_win_close(win, false)
      closed = true
    end
  end
  place.fit()
  return closed
end

--- Opens the chat, or closes it where it is shown.
function M.toggle()
  if any_chat() then
    M.close()
  else
    M.chat()
  end
end

--- Moves the cursor to the next or previous message of the person's.
---@param step 1|-1
function M.move(step)
  local buf = vim.api.nvim_get_current_buf()
  for _, one in ipairs(chat.list()) do
    if one.buf == buf then
      local row = vim.api.nvim_win_get_cursor(0)[1] - 1
      local rows, goal = one.transcript:turns(), nil
      for _, at in ipairs(rows) do
        if step > 0 and at > row then
          goal = goal or at
        elseif step < 0 and at < row then
          goal = at
        end
      end
      vim.api.nvim_win_set_cursor(0, { goal and goal + 1 or (step > 0 and vim.api.nvim_buf_line_count(buf) or 1), 0 })
      return
    end
  end
end

--- Does what the block under the cursor is for: a change is shown, a terminal opened.
function M.act()
  local buf = vim.api.nvim_get_current_buf()
  for _, one in ipairs(chat.list()) do
    local thread = one.buf == buf and threads.get(one.id)
    local id = thread and one.transcript:at(vim.api.nvim_win_get_cursor(0)[1] - 1)
    if thread and #require('countersign.setup').page(thread) > 0 then
      return require('countersign.setup').run('')
    elseif thread and thread.turn and thread.retrying and vim.fn.line('.') == vim.fn.line('$') then
      return require('countersign.recover').pick(thread)
    elseif thread and id == 'end:' .. (thread.last or '') and #require('countersign.recover').remedies(thread) > 0 then
      return require('countersign.recover').pick(thread)
    end
    for _, item in ipairs(id and thread.items or {}) do
      if (item.turn or '') .. item.id == id then
        if item.proposalId and require('countersign.proposals').get(item.proposalId) then
          return require('countersign.review.side').open(require('countersign.proposals').get(item.proposalId))
        elseif item.type == 'commandChanges' and #require('countersign.chat.changed').left(item) > 0 then
          return require('countersign.chat.changed').pick(thread, item)
        elseif item.terminalId then
          return require('countersign.terminals').pick()
        end
      end
    end
  end
  if vim.fn.foldlevel('.') > 0 then
    return vim.cmd('normal! za')
  end
  client.tell('there is nothing to open here.')
end

return M
