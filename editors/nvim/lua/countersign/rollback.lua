--- Back to before a message: what would go is shown first, and the person says what of it: messages, files, both, or nothing.
local client = require('countersign.client')
local events = require('countersign.events')
local picker = require('countersign.picker')

local M = {}

--- Turns whose changes are looked at. Of more, what they changed is not shown, and so not undone.
local MOST = 50

---@class countersign.Ahead What a rollback would do.
---@field turns string[] Those that go, oldest first, with the ones that belong to them.
---@field count integer Of these, the turns with words of the person's.
---@field said string[] These words.
---@field diffs string[]
---@field files table<string, { [1]: integer, [2]: integer }> Lines that were added and removed, by path.

--- The last turns of a conversation.
---@param thread countersign.Thread
---@param count integer
---@return countersign.Ahead
function M.ahead(thread, count)
  local order, words = {}, {}
  for _, item in ipairs(thread.items) do
    local turn = item.turn
    if turn and order[#order] ~= turn then
      order[#order + 1] = turn
    end
    if item.type == 'userMessage' and turn and not words[turn] then
      words[turn] = require('countersign.chat.words').input(item.content)
    end
  end
  local one = { turns = {}, count = 0, said = {}, diffs = {}, files = {} }
  for i = #order, 1, -1 do
    if one.count == count then
      break
    end
    table.insert(one.turns, 1, order[i])
    if words[order[i]] then
      one.count = one.count + 1
      table.insert(one.said, 1, words[order[i]])
    end
  end
  return one
end

--- Counts what a diff adds to each file, and removes.
local function count(one, diff)
  local path, left
  for line in vim.gsplit(diff, '\n', { plain = true }) do
    local name = not left and line:match('^%+%+%+ (.+)$')
    local old, new = line:match('^@@ %-%d+,?(%d*) %+%d+,?(%d*) @@')
    if old then
      left = { old == '' and 1 or tonumber(old), new == '' and 1 or tonumber(new) }
    elseif left and path then
      local sign = line:sub(1, 1)
      local sums = one.files[path]
      if sign ~= '+' and sign ~= '\\' then
        left[1] = left[1] - 1
        sums[2] = sums[2] + (sign == '-' and 1 or 0)
      end
      if sign ~= '-' and sign ~= '\\' then
        left[2] = left[2] - 1
        sums[1] = sums[1] + (sign == '+' and 1 or 0)
      end
    end
    if left and left[1] <= 0 and left[2] <= 0 then
      left = nil
    end
    local before = line:match('^%-%-%- (.+)$')
    if before and not left then
      one.before = before:gsub('^a/', '')
    elseif name then
      path = name == '/dev/null' and one.before or name:gsub('^b/', '')
      one.files[path] = one.files[path] or { 0, 0 }
    end
  end
end

--- Asks what the turns have changed.
local function look(thread, one, done)
  local left = #one.turns
  if left > MOST then
    return done()
  end
  local diffs = {}
  local function over()
    left = left - 1
    if left == 0 then
      for i = 1, #one.turns do
        if (diffs[i] or '') ~= '' then
          table.insert(one.diffs, diffs[i])
          count(one, diffs[i])
        end
      end
      done()
    end
  end
  for i = 1, #one.turns do
    client.request(thread.client, 'turn/diff', { threadId = thread.id, turnId = one.turns[i] }, function(result)
      diffs[i] = result.diff
      over()
    end, over)
  end
end

local function plural(number, word)
  return ('%d %s'):format(number, number == 1 and word or word .. 's')
end

--- What is shown before anything is done.
---@param one countersign.Ahead
---@return string[]
function M.preview(one)
  local visible = require('countersign.visible')
  local lines = { ('# Messages that would be deleted: %d'):format(one.count), '' }
  for i, words in ipairs(one.said) do
    lines[#lines + 1] = ('%d. %s'):format(i, picker.line(words, 200))
  end
  local paths = vim.tbl_keys(one.files)
  table.sort(paths)
  vim.list_extend(lines, { '', ('# Files that would be as before: %d'):format(#paths), '' })
  for _, path in ipairs(paths) do
    lines[#lines + 1] = ('- %s +%d −%d'):format(picker.line(path, 200), unpack(one.files[path]))
  end
  if #paths > 0 then
    vim.list_extend(lines, { '', '# What the turns changed, which would be undone', '' })
    for _, diff in ipairs(one.diffs) do
      vim.list_extend(lines, vim.split(visible.text((diff:gsub('\r\n', '\n'))), '\n', { plain = true, trimempty = true }))
    end
  end
  return lines
end

local function show(one)
  vim.cmd('tabnew')
  local buf = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, M.preview(one))
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile, vim.bo[buf].modifiable = 'nofile', 'wipe', false, false
  vim.bo[buf].filetype = 'diff'
  return buf
end

---@type table<string, fun(turn: table, thread: countersign.Thread)> Who waits for the end of a turn.
local waiting = {}

events.on('changed', function(data)
  local turn = data.kind == 'turn/completed' and data.params.turn
  local heard = turn and waiting[turn.id]
  if heard then
    waiting[turn.id] = nil
    heard(turn, data.thread)
  end
end)

--- Undoes what the turns did to files, which is a turn of its own, and hears how it ended.
local function undo(thread, one, done)
  client.request(thread.client, 'turn/undo', { threadId = thread.id, turnId = one.turns[1], conflicts = 'keep' }, function(result)
    waiting[result.turnId] = function(turn)
      local left = 0
      for _, item in ipairs(thread.items) do
        for _, file in ipairs(item.turn == turn.id and item.type == 'undo' and item.files or {}) do
          left = left + ((file.result == 'conflict' or file.result == 'skipped') and 1 or 0)
        end
      end
      done(turn.status == 'completed', left)
    end
  end)
end

local function drop(thread, one, words)
  require('countersign.recover').roll_back(thread, one.count, function()
    client.tell(words)
  end, function(error)
    if error then
      client.tell(error.message, vim.log.levels.ERROR)
    end
  end)
end

local function carry_out(thread, one, deed)
  local gone = plural(one.count, 'message') .. ' deleted'
  if deed == 'conversation' then
    return drop(thread, one, gone .. '; files stay as they are.')
  end
  undo(thread, one, function(good, left)
    local kept = left > 0 and (' %s changed since and left as it is; the chat names it.'):format(plural(left, 'file')) or ''
    if not good then
      client.tell('nothing was undone, and no message is deleted. The chat says why.', vim.log.levels.ERROR)
    elseif deed == 'both' then
      drop(thread, one, gone .. ', files as before.' .. kept)
    else
      client.tell('files as before; the conversation stays.' .. kept)
    end
  end)
end

--- Shows what the last turns were, and asks what of them is to go. Nothing does before that.
---@param thread countersign.Thread
---@param turns integer
function M.begin(thread, turns)
  if thread.turn then
    return client.tell('a turn is running. :Countersign stop ends it; then try again.', vim.log.levels.WARN)
  end
  local one = M.ahead(thread, turns)
  if one.count == 0 then
    return client.tell('there is no message to go back to.')
  end
  local seen = thread.last
  look(thread, one, function()
    local buf, files = show(one), vim.tbl_count(one.files)
    local messages = plural(one.count, 'message')
    local choices = { { label = 'Cancel' }, { label = ('Conversation only: delete %s, files stay'):format(messages), deed = 'conversation' } }
    if files > 0 then
      choices[#choices + 1] = { label = ('Files only: undo changes to %s, conversation stays'):format(plural(files, 'file')), deed = 'files' }
      choices[#choices + 1] = { label = ('Conversation and files: delete %s, undo %s'):format(messages, plural(files, 'file')), deed = 'both' }
    end
    require('countersign.ask.choice').pick(choices, 'Restore checkpoint', 'countersign.rollback', function(chosen)
      if vim.api.nvim_buf_is_valid(buf) then
        pcall(vim.api.nvim_buf_delete, buf, { force = true })
      end
      if not chosen or not chosen.deed then
        return client.tell('nothing was deleted or undone.')
      elseif thread.last ~= seen or thread.turn or not thread.live then
        return client.tell('the conversation has changed meanwhile. Nothing was done; try again.', vim.log.levels.WARN)
      end
      carry_out(thread, one, chosen.deed)
    end)
  end)
end

return M
