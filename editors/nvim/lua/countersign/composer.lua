--- Where the person writes to a conversation. Written with `:w` it is sent: `!command` runs in the person's shell, `/name`
--- calls a prompt or a command of the plugin, anything else goes to the agent. While a turn runs it joins in.
local chat = require('countersign.chat')
local client = require('countersign.client')
local context = require('countersign.context')
local threads = require('countersign.threads')

local M = {}

---@type table<string, table[]> What goes along beside the words, as the server takes it, by thread: pictures, mostly.
local along = {}
---@type table<string, { entries: string[], at: integer, draft: string }> Where the person is in what they typed before.
local histories = {}

local said = 0

local namespace = vim.api.nvim_create_namespace('countersign.composer')

local function name_of(id)
  return 'countersign://composer/' .. id
end

---@type { line: string, buf: integer }? What the person has typed behind a colon and is being carried out, and where.
local typed

local group = vim.api.nvim_create_augroup('countersign.composer', {})
vim.api.nvim_create_autocmd('CmdlineLeave', {
  group = group,
  pattern = ':',
  callback = function()
    typed = not vim.v.event.abort and { line = vim.fn.getcmdline(), buf = vim.api.nvim_get_current_buf() } or nil
  end,
})
-- It is carried out once the editor waits for the person's keys again. Not before: a save may wait for something itself, as for a
-- formatter, while all that is scheduled runs; and it may ask for a line.
vim.api.nvim_create_autocmd('SafeState', {
  group = group,
  callback = function()
    if vim.fn.mode() ~= 'c' then
      typed = nil
    end
  end,
})

--- Whether a composer is written for its own sake, and not with all files: who saves those sends nothing.
local function is_meant(buf)
  if not typed then
    return true
  end
  for word in typed.line:gmatch('%a+') do
    if word:match('^wal?l?$') or word:match('^wqal?l?$') or word:match('^xal?l?$') then
      return false
    end
  end
  return typed.buf == buf
end

local function text_of(buf)
  return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n')
end

local function is_empty(buf)
  return vim.trim(text_of(buf)) == ''
end

--- The composer's buffer of a conversation.
---@param id string
---@return integer
function M.buffer(id)
  local known = vim.fn.bufnr('^' .. name_of(id) .. '$')
  local buf = known > 0 and known or vim.api.nvim_create_buf(false, false)
  if vim.bo[buf].buftype ~= 'acwrite' or vim.bo[buf].filetype ~= 'countersign-composer' then
    if known <= 0 then
      vim.api.nvim_buf_set_name(buf, name_of(id))
    end
    vim.bo[buf].buftype, vim.bo[buf].swapfile, vim.bo[buf].bufhidden = 'acwrite', false, 'hide'
    vim.bo[buf].filetype = 'countersign-composer'
    vim.api.nvim_create_autocmd('BufWriteCmd', {
      group = vim.api.nvim_create_augroup('countersign.composer.' .. buf, {}),
      buffer = buf,
      callback = function()
        if is_meant(buf) then
          M.send(id)
        elseif is_empty(buf) then
          -- Nothing is lost, so nobody is kept from quitting by it.
          vim.bo[buf].modified = false
        else
          client.tell('what you are writing to the agent was not sent. Write it by itself (:w in its window) to send it.')
        end
      end,
    })
  end
  return buf
end

local function show_along(id, buf)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  local lines = {}
  for _, part in ipairs(along[id] or {}) do
    local name = part.type == 'localImage' and vim.fn.fnamemodify(part.path, ':~:.') or require('countersign.chat.words').input({ part })
    lines[#lines + 1] = { { '▣ ' .. require('countersign.visible').text(name):gsub('\n', ' '), 'CountersignQuiet' } }
  end
  if #lines > 0 then
    vim.api.nvim_buf_set_extmark(buf, namespace, 0, 0, { virt_lines = lines, virt_lines_above = false })
  end
end

--- Shows the composer below its chat and begins to insert.
---@param id string
function M.open(id)
  local buf = M.buffer(id)
  local win = vim.fn.win_findbuf(buf)[1]
  if not win or vim.api.nvim_win_get_tabpage(win) ~= vim.api.nvim_get_current_tabpage() then
    win = require('countersign.chat.place').compose(buf)
  end
  vim.api.nvim_set_current_win(win)
  vim.cmd('startinsert!')
end

local function set(buf, text)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(text, '\n', { plain = true }))
  vim.bo[buf].modified = false
end

--- Puts words back that no model has read: above what the person is writing by now, whose cursor stays in it.
---@param id string
---@param text string
function M.give_back(id, text)
  local buf = M.buffer(id)
  vim.api.nvim_buf_set_lines(buf, 0, is_empty(buf) and -1 or 0, false, vim.split(text, '\n', { plain = true }))
  -- As if it had just been typed: the editor is not left without a word about it.
  vim.bo[buf].modified = true
end

--- Points at a file, or at lines of it, in the next message.
---@param path string
---@param lines? { start: integer, ['end']: integer } From 0, half open.
function M.mention(path, lines)
  local full = vim.fn.fnamemodify(path, ':p')
  if not vim.uv.fs_stat(full) then
    return client.tell(('there is no file %s.'):format(vim.fn.fnamemodify(full, ':~:.')), vim.log.levels.ERROR)
  end
  full = #full > 1 and full:gsub('/$', '') or full
  chat.with(function(thread)
    along[thread.id] = along[thread.id] or {}
    table.insert(along[thread.id], { type = 'mention', path = full, lineRange = lines })
    show_along(thread.id, M.buffer(thread.id))
    client.tell(vim.fn.fnamemodify(full, ':~:.') .. ' goes with the next message.')
  end)
end

--- Adds a picture to the next message.
---@param path string
function M.attach(path)
  local full = vim.fn.fnamemodify(vim.fn.expand(path), ':p')
  if vim.fn.filereadable(full) == 0 then
    return client.tell(('there is no picture %s.'):format(full), vim.log.levels.ERROR)
  end
  chat.with(function(thread)
    along[thread.id] = along[thread.id] or {}
    table.insert(along[thread.id], { type = 'localImage', path = full })
    show_along(thread.id, M.buffer(thread.id))
    client.tell(vim.fn.fnamemodify(full, ':t') .. ' goes with the next message.')
  end)
end

local function restore_along(id, taken)
  local list = vim.list_extend(vim.list_slice(taken or {}), along[id] or {})
  along[id] = #list > 0 and list or nil
  show_along(id, M.buffer(id))
end

--- The words of a message, and what goes along with them.
local function parts_of(input)
  local words, taken = {}, {}
  for _, part in ipairs(input) do
    table.insert(part.type == 'text' and words or taken, part.type == 'text' and part.text or part)
  end
  return table.concat(words, '\n'), taken
end

--- Puts a message that no model has read back, whole, whatever the person has typed since.
---@param id string
---@param input table[] As it was sent, or would have been.
function M.put_back(id, input)
  local text, taken = parts_of(input)
  if text ~= '' then
    M.give_back(id, text)
  end
  restore_along(id, taken)
end

--- Sends words to a conversation: to the running turn, else as a new one. Where that fails they are put into its composer.
---@param thread countersign.Thread
---@param text string
---@param given? { queue?: boolean, context?: table, along?: table[], input?: table[], over?: fun() } `along`: what goes with the words; `input`: a
--- message as it was sent before, instead of both; `over`: called once it was sent, or was not.
function M.say(thread, text, given)
  given = given or {}
  local input = given.input or vim.list_extend({ { type = 'text', text = text } }, given.along or {})
  threads.use(thread)
  said = said + 1
  local own_id = ('nvim-%d-%d'):format(vim.fn.getpid(), said)
  local params = {
    threadId = thread.id,
    input = input,
    context = given.context or context.take(),
    settings = thread.wanted,
    clientUserMessageId = own_id,
  }
  local over = given.over or function() end
  local function not_sent(error)
    if error then
      client.tell(error.message, vim.log.levels.ERROR)
    end
    M.put_back(thread.id, input)
    over()
  end
  local function done(result)
    thread.wanted = nil
    over()
    if result.steered then
      threads.joins(thread, own_id, (parts_of(input)))
    end
  end
  local method = given.queue and 'turn/queue/add' or 'turn/start'
  client.request(thread.client, method, params, done, function(error)
    -- The conversation has been put away meanwhile: it is brought back, once.
    if error.data and error.data.kind == 'threadNotLoaded' then
      chat.resume(thread.id, function(resumed)
        client.request(resumed.client, method, params, done, not_sent)
      end, not_sent)
    else
      not_sent(error)
    end
  end)
end

--- A word after a slash that is a command of the plugin and no prompt.
local function own_command(thread, text, taken, fall_back)
  local name, rest = text:match('^/([%w_-]+)%s*(.-)%s*$')
  local commands = require('countersign.commands')
  if not name or not commands.from_composer(name) or text:find('\n') then
    return fall_back()
  end
  client.request(thread.client, 'prompt/list', { cwd = thread.cwd }, function(result)
    for _, prompt in ipairs(result.data) do
      if prompt.name == name then
        return fall_back()
      end
    end
    -- Pictures wait for the next message.
    restore_along(thread.id, taken)
    commands.run(name, rest)
  end, fall_back)
end

--- Sends what stands in the composer.
---@param id string
---@param queue? boolean After the running turn, as a turn of its own.
function M.send(id, queue)
  local buf = M.buffer(id)
  local text = text_of(buf)
  if is_empty(buf) and not along[id] then
    vim.bo[buf].modified = false
    return
  end
  local taken = along[id]
  local function clear()
    along[id], histories[id] = nil, nil
    set(buf, '')
    show_along(id, buf)
  end
  local given = { queue = queue, along = taken }
  local function go(thread)
    own_command(thread, text, taken, function()
      M.say(thread, text, given)
    end)
  end
  local function not_sent(error)
    if error then
      client.tell(error.message, vim.log.levels.ERROR)
    end
    M.put_back(id, vim.list_extend({ { type = 'text', text = text } }, taken or {}))
  end
  local thread = threads.get(id)
  clear()
  if thread and thread.live then
    return go(thread)
  end
  chat.resume(id, go, function(error)
    if not error or not thread or #thread.items > 0 then
      return not_sent(error)
    end
    -- Nothing was said in it yet, so nothing of it was kept: the words begin another one.
    chat.start(function(fresh)
      require('countersign.chat.window').open(fresh.id)
      M.say(fresh, text, given)
    end, nil, not_sent)
  end)
end

--- Goes through what the person typed before, in all conversations.
---@param step 1|-1 Back or forth.
function M.history(step)
  local id = chat.thread_of(vim.api.nvim_get_current_buf())
  local thread = id and threads.get(id)
  if not id or not thread then
    return
  end
  local buf = M.buffer(id)
  local function show()
    local of = histories[id]
    local at = math.max(0, math.min(of.at + step, #of.entries))
    if at ~= of.at then
      if of.at == 0 then
        of.draft = text_of(buf)
      end
      of.at = at
      set(buf, at == 0 and of.draft or of.entries[at])
      local last = vim.api.nvim_buf_line_count(buf)
      vim.api.nvim_win_set_cursor(0, { last, #vim.api.nvim_buf_get_lines(buf, last - 1, last, false)[1] })
    end
  end
  if histories[id] then
    return show()
  end
  client.request(thread.client, 'history/list', { limit = 200 }, function(result)
    local entries, seen = {}, {}
    for _, entry in ipairs(result.data) do
      if not seen[entry.text] then
        seen[entry.text] = true
        entries[#entries + 1] = entry.text
      end
    end
    histories[id] = { entries = entries, at = 0, draft = '' }
    show()
  end)
end

return M
