--- Files that a command changed by itself: the person keeps each, or undoes it.
local client = require('countersign.client')
local picker = require('countersign.picker')

local M = {}

local function name_of(change)
  return picker.line(vim.fn.fnamemodify(change.path, ':.'), 200)
end

--- The files of an item on which nothing is said yet.
---@param item table
---@return table[] changes
function M.left(item)
  return vim.tbl_filter(function(change)
    return not (item.kept or {})[change.path] and not (item.undone or {})[change.path]
  end, item.changes or {})
end

--- The last item of a conversation with such files.
---@param thread countersign.Thread
---@return table?
function M.last(thread)
  for i = #thread.items, 1, -1 do
    local item = thread.items[i]
    if item.type == 'commandChanges' and #M.left(item) > 0 then
      return item
    end
  end
end

local function undo(thread, item, changes)
  if thread.turn then
    return client.tell('a turn is running. :Countersign stop ends it; then undo.', vim.log.levels.WARN)
  end
  local paths = {}
  for _, change in ipairs(changes) do
    paths[#paths + 1] = change.path
    paths[#paths + 1] = change.kind and change.kind.movePath
  end
  client.request(thread.client, 'turn/undo', { threadId = thread.id, itemId = item.id, paths = paths, conflicts = 'keep' })
end

local function keep(thread, item, changes)
  item.kept = item.kept or {}
  for _, change in ipairs(changes) do
    item.kept[change.path] = true
  end
  require('countersign.events').emit('changed', { thread = thread, item = item })
end

local function diff(changes)
  local lines = {}
  for _, change in ipairs(changes) do
    vim.list_extend(lines, vim.split(require('countersign.visible').text(((change.diff or ''):gsub('\r\n', '\n'))), '\n', { plain = true, trimempty = true }))
  end
  vim.cmd('tabnew')
  local buf = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile, vim.bo[buf].modifiable = 'nofile', 'wipe', false, false
  vim.bo[buf].filetype = 'diff'
end

--- Asks what is to become of the files.
---@param thread countersign.Thread
---@param item table
function M.pick(thread, item)
  local left = M.left(item)
  if #left == 0 then
    return client.tell('each of these files is kept or undone.')
  end
  local choices = { { label = 'Close' }, { label = 'Show the diff', deed = diff, changes = left } }
  local function both(name, changes)
    choices[#choices + 1] = { label = 'Keep ' .. name, deed = function(given)
      keep(thread, item, given)
    end, changes = changes }
    choices[#choices + 1] = { label = 'Undo ' .. name, deed = function(given)
      undo(thread, item, given)
    end, changes = changes }
  end
  if #left > 1 then
    both(('all %d files'):format(#left), left)
  end
  for _, change in ipairs(left) do
    both(('%s (+%d −%d)'):format(name_of(change), change.added, change.removed), { change })
  end
  require('countersign.ask.choice').pick(choices, 'Changed by a command', 'countersign.changed', function(chosen)
    if chosen and chosen.deed then
      chosen.deed(chosen.changes)
    end
  end)
end

return M
