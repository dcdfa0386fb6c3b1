--- Conversations in buffers: one Markdown buffer each, filled as the server tells, and a composer below it.
local client = require('countersign.client')
local config = require('countersign.config')
local events = require('countersign.events')
local threads = require('countersign.threads')
local transcript = require('countersign.chat.transcript')
local words = require('countersign.chat.words')

local M = {}

--- How often what has come is written (ms). Often enough to read along, seldom enough for slow terminals.
local PACE = 50

---@class countersign.Chat
---@field id string The thread.
---@field buf integer
---@field transcript countersign.Transcript
---@field dirty table<string, boolean> Items to be written.
---@field pending boolean

---@type table<string, countersign.Chat>
local chats = {}

local function buffer_name(id)
  return 'countersign://thread/' .. id
end

---@param buf integer
---@return string? thread
function M.thread_of(buf)
  return vim.api.nvim_buf_get_name(buf):match('^countersign://thread/(.+)$') or vim.api.nvim_buf_get_name(buf):match('^countersign://composer/(.+)$')
end

---@param id string
---@return boolean
function M.is_visible(id)
  local chat = chats[id]
  if not chat or not vim.api.nvim_buf_is_valid(chat.buf) then
    return false
  end
  for _, win in ipairs(vim.fn.win_findbuf(chat.buf)) do
    if vim.api.nvim_win_get_tabpage(win) == vim.api.nvim_get_current_tabpage() then
      return true
    end
  end
  return false
end

local function elapsed(thread)
  local turn = thread.turns[thread.turn]
  local from = turn and turn.startedAtMs
  local now = os.time() * 1000
  return from and now > from + 1000 and ' ' .. words.span(now - from) or ''
end

--- What stands below the conversation.
local function tail(thread)
  local lines = {}
  local function add(text, group)
    lines[#lines + 1] = { { text, group } }
  end
  for _, question in pairs(thread.questions) do
    add(('? %s  (:Countersign answer)'):format(question.title), 'CountersignQuestion')
  end
  vim.list_extend(lines, require('countersign.setup').page(thread))
  vim.list_extend(lines, require('countersign.recover').box(thread))
  if thread.turn and not thread.retrying then
    local waits = { waitingOnApproval = 'your approval', waitingOnUserInput = 'your answer' }
    local state = waits[thread.status] and 'waiting for ' .. waits[thread.status] or 'working' .. elapsed(thread)
    add(('● %s · :Countersign stop'):format(state), 'CountersignRunning')
  elseif not thread.live and not thread.deleted then
    add('○ not loaded (:Countersign resume)', 'CountersignQuiet')
  end
  vim.list_extend(lines, vim.tbl_map(function(chunk)
    return { chunk }
  end, require('countersign.recover').lines(thread)))
  for _, joining in ipairs(thread.joining or {}) do
    add('↳ ' .. joining.text:gsub('%s+', ' '), 'CountersignYou')
  end
  for i, queued in ipairs(thread.queue.inputs) do
    add(('%d. %s %s'):format(i, thread.queue.paused and 'paused:' or 'queued:', words.input(queued.input):gsub('%s+', ' ')), 'CountersignQuiet')
  end
  if thread.queue.paused then
    add('The queue is paused: :Countersign queue resume, or queue clear.', 'CountersignQuiet')
  end
  return lines
end

--- An item's block with its place; nil where there is nothing to show of it.
local function shown(thread, item)
  local turn = thread.turns[item.turn or '']
  local ended = item.status ~= nil and item.status ~= 'inProgress'
  local over = item.complete or ended or turn == nil or turn.status ~= 'inProgress'
  item.complete = over
  local block = words.block(item)
  return block and { id = (item.turn or '') .. item.id, block = block, turn = item.turn, complete = over }
end

--- The heading above what the agent does in a turn.
local function heading(thread, item)
  local turn = thread.turns[item.turn or '']
  if item.type ~= 'userMessage' and turn and turn.kind ~= 'ownCommands' then
    local block = { lines = { '## Countersign' }, marks = { { line = 1, group = 'CountersignAgent' } } }
    return { id = 'head:' .. item.turn, block = block, turn = item.turn }
  end
end

local function ending(turn)
  local block = turn and words.ending(turn)
  return block and { id = 'end:' .. turn.id, block = block, turn = turn.id, complete = true }
end

local function put(chat, one)
  if one then
    chat.transcript:put(one.id, one.block, one.turn, one.complete)
  end
end

--- Puts an item into the buffer, below the heading of its turn.
local function put_item(chat, thread, item)
  local one = shown(thread, item)
  local head = one and heading(thread, item)
  if head and not chat.transcript.by_id[head.id] then
    put(chat, head)
  end
  put(chat, one)
end

--- All of a conversation, turn by turn.
local function everything(thread)
  local list, headed, last = {}, {}, nil
  local function add(one)
    list[#list + 1] = one
  end
  for _, item in ipairs(thread.items) do
    if last and item.turn ~= last then
      add(ending(thread.turns[last]))
    end
    last = item.turn
    local one = shown(thread, item)
    local head = one and heading(thread, item)
    if head and not headed[head.id] then
      headed[head.id] = true
      add(head)
    end
    add(one)
  end
  add(last and ending(thread.turns[last]))
  return list
end

--- Puts what is not in the buffer yet, of that what came before an item where one is given by its number.
local function notices(chat, thread, before)
  for i, notice in ipairs(thread.notices) do
    local id = 'notice:' .. i
    if not chat.transcript.by_id[id] and (not before or (notice.after or 0) < before) then
      local group = notice.level == 'error' and 'CountersignFailed' or 'CountersignConflict'
      local block = { lines = words.lines(notice.message), marks = {} }
      for line = 1, #block.lines do
        block.marks[line] = { line = line, group = group }
      end
      chat.transcript:put(id, block)
    end
  end
end

local function write(chat)
  local thread = threads.get(chat.id)
  chat.pending = false
  -- It may be unloaded since.
  if not thread or chats[chat.id] ~= chat or not vim.api.nvim_buf_is_loaded(chat.buf) then
    return
  end
  if chat.all then
    chat.all, chat.dirty = false, {}
    chat.transcript:rebuild(everything(thread), thread.turn ~= nil)
  else
    -- In the order in which they began; they are mostly the last ones.
    local list, left = {}, vim.tbl_count(chat.dirty)
    for i = #thread.items, 1, -1 do
      local item = thread.items[i]
      if left == 0 then
        break
      elseif chat.dirty[(item.turn or '') .. item.id] then
        left = left - 1
        list[#list + 1] = i
      end
    end
    for i = #list, 1, -1 do
      notices(chat, thread, list[i])
      put_item(chat, thread, thread.items[list[i]])
    end
    chat.dirty = {}
    for id in pairs(chat.ended) do
      chat.transcript:gather_turn(id)
      put(chat, ending(thread.turns[id]))
    end
  end
  chat.ended = {}
  notices(chat, thread)
  -- What is not in the text is cut at the edge of a window, not wrapped.
  local screen, lines, room = require('countersign.review.screen'), {}, vim.o.columns
  for _, win in ipairs(vim.fn.win_findbuf(chat.buf)) do
    room = math.min(room, screen.width(win))
  end
  for _, line in ipairs(tail(thread)) do
    vim.list_extend(lines, screen.wrapped(line, room))
  end
  chat.transcript:tail(lines)
  for _, win in ipairs(vim.fn.win_findbuf(chat.buf)) do
    local bar = require('countersign.chat.bar').text(thread, vim.api.nvim_win_get_width(win))
    if vim.wo[win].winbar ~= bar then
      vim.wo[win].winbar = bar
    end
  end
  if thread.turn and not chat.ticking then
    chat.ticking = true
    vim.defer_fn(function()
      chat.ticking = false
      M.touch(chat)
    end, 1000)
  end
end

--- Has a chat written again, soon.
---@param chat countersign.Chat
---@param item? table
function M.touch(chat, item)
  if item then
    chat.dirty[(item.turn or '') .. item.id] = true
  end
  if not chat.pending then
    chat.pending = true
    vim.defer_fn(function()
      write(chat)
    end, PACE)
  end
end

--- The buffer of a conversation; made where there is none.
---@param id string
---@param given? integer A buffer that is to become it.
---@return countersign.Chat
function M.buffer(id, given)
  local chat = chats[id]
  if chat and vim.api.nvim_buf_is_valid(chat.buf) and (not given or given == chat.buf) then
    return chat
  end
  local buf = given
  if not buf then
    local known = vim.fn.bufnr('^' .. buffer_name(id) .. '$')
    buf = known > 0 and known or vim.api.nvim_create_buf(true, true)
    if not vim.api.nvim_buf_is_loaded(buf) then
      -- Of one that was deleted only the name is left; reading it brings the conversation back.
      vim.fn.bufload(buf)
      vim.bo[buf].buflisted = true
      if chats[id] and chats[id].buf == buf then
        return chats[id]
      end
    end
  end
  if vim.api.nvim_buf_get_name(buf) ~= buffer_name(id) then
    vim.api.nvim_buf_set_name(buf, buffer_name(id))
  end
  vim.bo[buf].buftype, vim.bo[buf].swapfile, vim.bo[buf].bufhidden = 'nofile', false, 'hide'
  vim.bo[buf].undolevels, vim.bo[buf].modifiable = -1, false
  chat = { id = id, buf = buf, transcript = transcript.new(buf, config.get().chat.fold), dirty = {}, ended = {}, pending = false, all = true }
  chats[id] = chat
  -- Deleted, or read anew: what was in it is gone, and with it what is known of that.
  vim.api.nvim_create_autocmd('BufUnload', {
    group = vim.api.nvim_create_augroup('countersign.chat.' .. buf, {}),
    buffer = buf,
    callback = function()
      if chats[id] and chats[id].buf == buf then
        chats[id] = nil
        require('countersign.chat.paint').detach(buf)
      end
    end,
  })
  vim.bo[buf].filetype = 'countersign'
  M.touch(chat)
  return chat
end

---@return countersign.Chat[]
function M.list()
  return vim.tbl_values(chats)
end

--- Takes up a window that shows a chat.
---@param buf integer
function M.entered(buf)
  local chat = chats[M.thread_of(buf) or '']
  if chat and chat.buf == buf then
    local thread = threads.get(chat.id)
    if thread then
      threads.use(thread)
    end
    chat.transcript:fold_all()
    M.touch(chat)
  end
end

--- Brings a stored conversation into its buffer.
---@param id string
---@param done? fun(thread: countersign.Thread)
---@param failed? fun(error?: { message: string }) Without an error the person was told. Absent: they are told.
function M.resume(id, done, failed)
  client.with(function(server)
    local params = { threadId = id, dynamicTools = require('countersign.tools').specs() }
    client.request(server, 'thread/resume', params, function(result)
      local thread = threads.adopt(result.thread, server.id, result.settings)
      if done then
        done(thread)
      end
    end, failed)
  end, failed)
end

--- Begins a conversation.
---@param done fun(thread: countersign.Thread)
---@param settings? table
---@param failed? fun(error?: { message: string }) As of `M.resume`.
function M.start(done, settings, failed)
  local folder = client.folder()
  client.with(function(server)
    local params = { settings = vim.tbl_extend('force', { cwd = folder }, settings or {}), dynamicTools = require('countersign.tools').specs() }
    client.request(server, 'thread/start', params, function(result)
      done(threads.adopt(result.thread, server.id, result.settings))
    end, failed)
  end, failed)
end

--- Calls back with the conversation that is meant: that of the window, else the one used last, else a new one.
---@param done fun(thread: countersign.Thread)
function M.with(done)
  local here = threads.get(M.thread_of(vim.api.nvim_get_current_buf()) or '')
  if here and here.live then
    return done(here)
  end
  client.with(function(server)
    local thread = threads.current(server.id)
    if thread then
      done(thread)
    else
      M.start(done)
    end
  end)
end

events.on('adopted', function(data)
  local chat = chats[data.thread.id]
  if chat then
    chat.all = true
    M.touch(chat)
  end
end)

events.on('changed', function(data)
  local chat = chats[data.thread.id]
  if not chat then
    return
  end
  if data.kind == 'turn/completed' then
    chat.ended[data.params.turn.id] = true
    for _, item in ipairs(data.params.turn.items or {}) do
      local known = data.thread.by_id[item.id]
      if known then
        M.touch(chat, known)
      end
    end
    for _, unread in ipairs(data.params.unanswered or {}) do
      require('countersign.composer').put_back(chat.id, unread.input)
    end
  elseif data.kind == 'thread/rolledBack' and data.thread.live then
    -- What is left is read again; the answer of the request that did it may be another's.
    client.request(data.thread.client, 'thread/read', { threadId = data.thread.id, includeTurns = true }, function(result)
      threads.adopt(result.thread, data.thread.client)
    end, function() end)
  end
  M.touch(chat, data.item)
  local source = data.item and data.item.type == 'undo' and data.thread.by_id[data.item.itemId or '']
  if source then
    M.touch(chat, source)
  end
end)

-- Whether a model can be asked.
events.on('setup', function(data)
  for id, chat in pairs(chats) do
    local thread = threads.get(id)
    if thread and thread.client == data.client then
      M.touch(chat)
    end
  end
end)

-- After a server was lost and another one is there, what is shown goes on.
events.on('found', function(data)
  for id, chat in pairs(chats) do
    local thread = threads.get(id)
    if vim.api.nvim_buf_is_valid(chat.buf) and (not thread or not thread.live) and #vim.fn.win_findbuf(chat.buf) > 0 then
      local params = { threadId = id, dynamicTools = require('countersign.tools').specs() }
      client.request(data.client, 'thread/resume', params, function(result)
        threads.adopt(result.thread, data.client.id, result.settings)
      end, function() end)
    end
  end
end)

-- What has no room in a window depends on its width.
vim.api.nvim_create_autocmd('WinResized', {
  group = vim.api.nvim_create_augroup('countersign.chat', {}),
  callback = function()
    for _, win in ipairs(vim.v.event.windows or {}) do
      local chat = vim.api.nvim_win_is_valid(win) and chats[M.thread_of(vim.api.nvim_win_get_buf(win)) or '']
      if chat and vim.fn.win_findbuf(chat.buf)[1] then
        M.touch(chat)
      end
    end
  end,
})

--- What a closed fold shows: how it stands, its first line without the marks, its status, and how much is in it; of what tools did in a
--- row, how much that was.
---@return table
function M.foldtext()
  local chat = chats[M.thread_of(vim.api.nvim_get_current_buf()) or '']
  local deeds = chat and chat.transcript:deeds(vim.v.foldstart, vim.v.foldend)
  if deeds then
    return words.deeds(deeds)
  end
  local first = vim.fn.getline(vim.v.foldstart)
  local text = first:gsub('^> ?', ''):gsub('%*%*', ''):gsub('`', '')
  local shown = chat and select(2, chat.transcript:at(vim.v.foldstart - 1))
  local group = shown and shown.failed and 'CountersignFailed' or vim.startswith(first, '>') and 'CountersignQuiet' or 'CountersignCommand'
  local chunks = { { '▸ ', 'CountersignQuiet' }, { vim.fn.strcharpart(text, 0, 70), group } }
  if shown and shown.state then
    table.insert(chunks, 1, { shown.state[1] .. ' ', shown.state[2] })
  end
  vim.list_extend(chunks, shown and shown.status or {})
  local hidden = vim.v.foldend - vim.v.foldstart
  chunks[#chunks + 1] = { (' · %d %s'):format(hidden, hidden == 1 and 'line' or 'lines'), 'CountersignQuiet' }
  return chunks
end

--- For tests: forgets everything.
function M.reset()
  chats = {}
end

return M
