--- What is known of the conversations: what the server tells of them, kept for whoever shows it.
local events = require('countersign.events')

local M = {}

---@class countersign.Thread
---@field id string
---@field client integer Id of the client whose server has it.
---@field name? string
---@field preview string
---@field cwd string
---@field status string
---@field settings? table
---@field turn? string The running turn.
---@field turns table<string, table> Turns by id, without their items.
---@field last? string The turn that began last.
---@field items table[] In the order in which they began; each has `turn`.
---@field by_id table<string, table>
---@field plan? table
---@field usage? table
---@field limits? table
---@field queue table
---@field retrying? table
---@field questions table<string, table> Open ones.
---@field agent? table What makes it a sub-agent.
---@field diff? string
---@field mcp table<string, table>
---@field notices table[] Warnings and failures beside turns, each with the number of items that came before it (`after`).
---@field live boolean
---@field used integer Rises with use; the highest is the person's current one.

---@type table<string, countersign.Thread>
local all = {}
local clock = 0

---@param id string
---@return countersign.Thread?
function M.get(id)
  return all[id]
end

--- All that are known, the one used last first.
---@return countersign.Thread[]
function M.list()
  local list = vim.tbl_values(all)
  table.sort(list, function(a, b)
    return a.used > b.used
  end)
  return list
end

---@param thread countersign.Thread
function M.use(thread)
  clock = clock + 1
  thread.used = clock
end

--- The conversation that the person used last with this client.
---@param client integer
---@return countersign.Thread?
function M.current(client)
  for _, thread in ipairs(M.list()) do
    if thread.client == client and thread.live and not thread.agent then
      return thread
    end
  end
end

local function blank(id, client)
  clock = clock + 1
  return {
    id = id,
    client = client,
    preview = '',
    cwd = '',
    status = 'idle',
    turns = {},
    items = {},
    by_id = {},
    queue = { inputs = {}, paused = false },
    questions = {},
    mcp = {},
    notices = {},
    live = true,
    used = clock,
  }
end

---@param id string
---@param client integer
---@return countersign.Thread
function M.ensure(id, client)
  local thread = all[id]
  if not thread then
    thread = blank(id, client)
    all[id] = thread
  end
  thread.client = client
  return thread
end

--- Puts an item where it belongs: in the place of what is known of it, else at the end.
---@param thread countersign.Thread
---@param item table
---@param turn? string
---@return table item
local function put(thread, item, turn)
  local known = thread.by_id[item.id]
  -- What is undone of the files that a command changed.
  local source = item.type == 'undo' and item.status == 'completed' and thread.by_id[item.itemId or '']
  for _, file in ipairs(source and item.files or {}) do
    if file.result == 'restored' or file.result == 'removed' or file.result == 'merged' then
      source.undone = source.undone or {}
      source.undone[file.path] = true
    end
  end
  if known and known.turn == (turn or known.turn) then
    for key in pairs(known) do
      if key ~= 'turn' and key ~= 'complete' and key ~= 'kept' and key ~= 'undone' then
        known[key] = nil
      end
    end
    for key, value in pairs(item) do
      known[key] = value
    end
    return known
  end
  item.turn = turn
  thread.items[#thread.items + 1] = item
  thread.by_id[item.id] = item
  return item
end

local function without_items(turn)
  local copy = {}
  for key, value in pairs(turn) do
    copy[key] = key ~= 'items' and value or nil
  end
  return copy
end

local function describe(thread, told)
  thread.name, thread.preview, thread.cwd = told.name, told.preview or '', told.cwd or thread.cwd
  thread.status, thread.agent = told.status or thread.status, told.agent
  thread.archived = told.archived
end

--- Takes over a thread as `thread/start`, `resume`, `fork` or `rollback` answer it, with all its turns.
---@param told table
---@param client integer
---@param settings? table
---@return countersign.Thread
function M.adopt(told, client, settings)
  local thread = M.ensure(told.id, client)
  describe(thread, told)
  thread.settings = settings or thread.settings
  thread.live, thread.items, thread.by_id, thread.turns, thread.turn = true, {}, {}, {}, nil
  thread.last = nil
  for _, turn in ipairs(told.turns or {}) do
    thread.turns[turn.id], thread.last = without_items(turn), turn.id
    if turn.status == 'inProgress' then
      thread.turn = turn.id
    end
    for _, item in ipairs(turn.items or {}) do
      put(thread, item, turn.id)
      if item.type == 'plan' then
        thread.plan = item
      end
    end
  end
  events.emit('adopted', { thread = thread })
  return thread
end

--- The server of these threads has ended.
---@param client integer
function M.lost(client)
  for _, thread in pairs(all) do
    if thread.client == client then
      thread.live, thread.turn, thread.status, thread.questions = false, nil, 'notLoaded', {}
      events.emit('changed', { thread = thread })
    end
  end
  events.emit('lost', { client = client })
end

--- A server is there: conversations that another one had are brought back where they are shown.
---@param client vim.lsp.Client
function M.found(client)
  events.emit('found', { client = client })
end

--- Words that joined a running turn, which has not read them yet.
---@param thread countersign.Thread
---@param id string As sent along; the item of the words has it.
---@param text string
function M.joins(thread, id, text)
  for _, item in ipairs(thread.items) do
    if item.clientId == id then
      return
    end
  end
  if thread.turn then
    thread.joining = thread.joining or {}
    table.insert(thread.joining, { id = id, text = text })
    events.emit('changed', { thread = thread })
  end
end

local function read(thread, id)
  thread.joining = vim.tbl_filter(function(one)
    return id and one.id ~= id
  end, thread.joining or {})
end

local apply = {}

apply['thread/started'] = function(thread, params)
  thread.live = true
  describe(thread, params.thread)
end
apply['thread/configured'] = function(thread, params)
  thread.settings = params.settings
end
apply['thread/statusChanged'] = function(thread, params)
  thread.status = params.status
end
apply['thread/closed'] = function(thread)
  thread.live, thread.turn, thread.status, thread.questions = false, nil, 'notLoaded', {}
end
apply['thread/archived'] = function(thread)
  thread.archived = true
end
apply['thread/unarchived'] = function(thread)
  thread.archived = false
end
apply['thread/deleted'] = function(thread)
  thread.live, thread.deleted = false, true
end
apply['thread/nameUpdated'] = function(thread, params)
  thread.name = params.name
end
apply['thread/tokenUsage'] = function(thread, params)
  thread.usage, thread.limits = params.tokenUsage, params.rateLimits or thread.limits
end
apply['thread/agentStatus'] = function(thread, params)
  thread.agents = thread.agents or {}
  thread.agents[params.agentThreadId] = params.state
end
apply['turn/started'] = function(thread, params)
  thread.turn, thread.last, thread.retrying = params.turn.id, params.turn.id, nil
  thread.turns[params.turn.id] = without_items(params.turn)
  thread.window = params.modelContextWindow or thread.window
end
apply['turn/completed'] = function(thread, params)
  for _, item in ipairs(params.turn.items or {}) do
    put(thread, item, params.turn.id)
  end
  thread.turns[params.turn.id] = without_items(params.turn)
  thread.turns[params.turn.id].unanswered = params.unanswered
  if thread.turn == params.turn.id then
    thread.turn = nil
    read(thread)
  end
  thread.retrying = nil
end
apply['turn/queueChanged'] = function(thread, params)
  thread.queue = params.queue
end
apply['turn/diff'] = function(thread, params)
  thread.diff = params.diff
end
apply['turn/retrying'] = function(thread, params)
  local before = thread.retrying
  params.since = before and before.turnId == params.turnId and before.since or os.time()
  params.next = vim.uv.now() + (params.delayMs or 0)
  thread.retrying = params
end
apply['turn/planUpdated'] = function(thread, params)
  thread.plan = { explanation = params.explanation, steps = params.steps }
end
apply['item/started'] = function(thread, params)
  thread.retrying = nil
  if params.item.clientId then
    read(thread, params.item.clientId)
  end
  -- Chats are told apart by what was said first, until they have a name.
  if thread.preview == '' and params.item.type == 'userMessage' then
    thread.preview = require('countersign.chat.words').input(params.item.content):gsub('%s+', ' ')
  end
  return put(thread, params.item, params.turnId)
end
apply['item/completed'] = function(thread, params)
  local item = put(thread, params.item, params.turnId)
  item.complete = true
  if params.withdrawn then
    -- It is said again, so of what it said nothing stays but the mark that it broke off.
    item.text, item.summary, item.content = item.text and '', item.summary and {}, item.content and {}
  end
  if item.type == 'plan' then
    thread.plan = item
  end
  return item
end

--- Adds a delta to a text of an item that is under way.
local function grow(field, index)
  return function(thread, params)
    local item = thread.by_id[params.itemId]
    if not item or item.complete then
      return
    end
    if index then
      item[field] = item[field] or {}
      for i = #item[field] + 1, params.index + 1 do
        item[field][i] = ''
      end
      item[field][params.index + 1] = item[field][params.index + 1] .. params.delta
    else
      item[field] = (item[field] or '') .. params.delta
    end
    return item
  end
end
apply['item/agentMessage/delta'] = grow('text')
apply['item/reasoning/summaryTextDelta'] = grow('summary', true)
apply['item/reasoning/textDelta'] = grow('content', true)

--- Bytes of an output that is still coming which are kept, of its beginning and of its end; more than is shown of it. The whole comes with
--- its end.
local MOST, BEGINNING, ENDING = 120000, 24000, 64000

local more_output = grow('aggregatedOutput')
apply['item/commandExecution/outputDelta'] = function(thread, params)
  local item = more_output(thread, params)
  local text = item and item.aggregatedOutput or ''
  if #text > MOST then
    local head = item.beginning or text:sub(1, BEGINNING):match('^.*()\n') or BEGINNING
    local from = text:find('\n', #text - ENDING, true) or #text - ENDING
    local _, lines = text:sub(head + 1, from):gsub('\n', '')
    item.beginning, item.leftOut = head, (item.leftOut or 0) + lines
    item.aggregatedOutput = text:sub(1, head) .. text:sub(from + 1)
  end
  return item
end
apply['item/mcpToolCall/progress'] = function(thread, params)
  local item = thread.by_id[params.itemId]
  if item then
    item.progress = params
  end
  return item
end
apply['mcp/status'] = function(thread, params)
  thread.mcp[params.server] = params
end
apply['warning'] = function(thread, params)
  thread.notices[#thread.notices + 1] = { level = 'warning', message = params.message, after = #thread.items }
end
apply['error'] = function(thread, params)
  if not params.turnId then
    thread.notices[#thread.notices + 1] = { level = 'error', message = params.error.message, after = #thread.items }
  end
end
apply['guardian/assessment'] = function(thread, params)
  thread.assessment = params
end

--- Takes what the server tells of a thread into account.
---@param kind string The method without its prefix.
---@param params table
---@param client integer
function M.apply(kind, params, client)
  if not params.threadId or params.subscriptionId then
    return
  end
  local thread = M.ensure(params.threadId, client)
  local item = apply[kind] and apply[kind](thread, params)
  events.emit('changed', { thread = thread, kind = kind, params = params, item = item })
  if kind == 'thread/deleted' then
    all[params.threadId] = nil
  end
end

--- For tests: forgets everything.
function M.reset()
  all, clock = {}, 0
end

return M
