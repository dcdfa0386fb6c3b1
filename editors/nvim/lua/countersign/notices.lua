--- What the person is told beside the chat, by `vim.notify`.
local client = require('countersign.client')
local threads = require('countersign.threads')

local M = {}

local shown = {}
local focused = true

local group = vim.api.nvim_create_augroup('countersign.notices', {})
vim.api.nvim_create_autocmd({ 'FocusGained', 'FocusLost' }, {
  group = group,
  callback = function(event)
    focused = event.event == 'FocusGained'
  end,
})

local function name_of(id)
  local thread = threads.get(id)
  -- What is said comes first; whose it is matters where there are several.
  local live = #vim.tbl_filter(function(one)
    return one.live and not one.agent
  end, threads.list())
  local name = live > 1 and thread and require('countersign.picker').line(thread.name or thread.preview or '', 30) or ''
  return name == '' and 'Countersign' or ('Countersign (%s)'):format(name)
end

local function is_visible(id)
  return require('countersign.chat').is_visible(id)
end

--- A turn is over. Told where the person does not see it: no window shows the chat, or the editor has not the focus.
function M.turn_completed(params)
  local thread, turn = threads.get(params.threadId), params.turn
  if turn.status == 'failed' and turn.error and not is_visible(params.threadId) then
    local help = thread and #require('countersign.recover').remedies(thread) > 1 and ' · :Countersign recover offers what may help' or ''
    client.tell(turn.error.message .. help, vim.log.levels.ERROR, name_of(params.threadId))
  elseif turn.status == 'completed' and turn.kind == 'regular' and not (thread and thread.agent) and (not focused or not is_visible(params.threadId)) then
    local answer = (params.lastAgentMessage or 'done'):gsub('%s+', ' ')
    client.tell(answer, nil, name_of(params.threadId))
  end
end

---@type table<string, true> Turns of which it was told that the provider does not answer.
local retried = {}

--- A request is sent again, and it takes a while: told once for a turn, where the person does not see it.
function M.retrying(params)
  local takes = params.attempt > 1 or (params.delayMs or 0) >= 5000
  if takes and not retried[params.turnId] and not is_visible(params.threadId) then
    retried[params.turnId] = true
    client.tell(params.message .. ' It is tried again. · :Countersign recover offers what may help', vim.log.levels.WARN, name_of(params.threadId))
  end
end

function M.review_completed(params)
  if not params.output then
    return
  end
  local count = #params.findings
  local words = count == 0 and 'the review found nothing to fix.' or ('the review found %d %s: :Countersign findings lists them.'):format(count, count == 1 and 'thing' or 'things')
  client.tell(words)
end

---@class countersign.Denial
---@field number integer By which the person names it.
---@field client integer
---@field threadId string
---@field assessmentId string
---@field what string
---@field all? string What was denied, where its message did not show all of it.
---@field why string

---@type countersign.Denial[] What was denied and can be overruled, the latest last.
local denials = {}
local numbered = 0

--- What was denied: in a line, and all of it where the line is less.
---@return string line
---@return string? all
local function deed(action)
  local parts
  if action.type == 'command' then
    parts = { { '', action.display, 200, action.confined == 'outside' and ' outside the sandbox' or nil } }
  elseif action.type == 'tool' then
    parts = { { '', ('%s of %s with %s'):format(action.tool, action.server, vim.json.encode(action.arguments)), 200 } }
  else
    parts = { { '', action.request or action.type or '', 200 } }
  end
  local lines, all = require('countersign.ask.whole').told(parts)
  return lines[1], all
end

--- The automatic reviewer denied something: it can be overruled, for exactly that, by the number that is told here.
function M.assessment(params, id)
  if params.status ~= 'denied' then
    return
  end
  numbered = numbered + 1
  local what, all = deed(params.action or {})
  local denial = { number = numbered, client = id, threadId = params.threadId, assessmentId = params.id, what = what, all = all, why = params.rationale or '' }
  denials[#denials + 1] = denial
  local was_shown = client.tell((':Countersign overrule %d — the automatic reviewer denied %s. %s'):format(denial.number, denial.what, denial.why), vim.log.levels.WARN)
  -- A message that was cut allows nothing by its number alone.
  denial.all = all or (not was_shown and what or nil)
end

require('countersign.events').on('lost', function(data)
  denials = vim.tbl_filter(function(one)
    return one.client ~= data.client
  end, denials)
end)

--- The numbers of what can be overruled.
---@return string[]
function M.denied()
  return vim.tbl_map(function(one)
    return tostring(one.number)
  end, denials)
end

local function allow(denial)
  for i, one in ipairs(denials) do
    if one == denial then
      table.remove(denials, i)
    end
  end
  local params = { threadId = denial.threadId, assessmentId = denial.assessmentId }
  client.request(denial.client, 'guardian/approveDenied', params, function(result)
    client.tell(result.taken and ('allowed, once: %s.'):format(denial.what) or 'it was overruled before, or is gone.')
  end)
end

--- The same, after all of it was shown.
local function overrule(denial)
  if not denial.all then
    return allow(denial)
  end
  local card, picker = require('countersign.ask.card'), require('countersign.picker')
  local title, prompt, lines = 'What was denied', 'Allow it once?', card.lines(denial.all)
  local function put(all)
    local choices = { { label = 'Leave Denied' }, { label = 'Allow Once: ' .. denial.what, denial = denial } }
    require('countersign.ask.choice').pick(choices, prompt, 'countersign.overrule', function(chosen)
      if chosen and chosen.denial then
        allow(denial)
      end
    end, { title = title, all = all })
  end
  if picker.fits(prompt, lines) then
    return put(lines)
  end
  card.read(title, lines, put)
end

--- Lets something happen, once, that was denied: what was told under this number, or what the person chooses by its words.
---@param number? string
function M.overrule(number)
  if number and number ~= '' then
    for _, denial in ipairs(denials) do
      if tostring(denial.number) == number then
        return overrule(denial)
      end
    end
    return client.tell(('nothing that was denied has the number %s. :Countersign overrule lists what has one.'):format(number), vim.log.levels.WARN)
  elseif #denials == 0 then
    return client.tell('nothing was denied.')
  end
  local choices = { { label = 'Leave Denied' } }
  for i = #denials, 1, -1 do
    choices[#choices + 1] = { label = ('Allow Once: %s'):format(denials[i].what), detail = denials[i].why ~= '' and denials[i].why or nil, denial = denials[i] }
  end
  require('countersign.ask.choice').pick(choices, 'What the automatic reviewer denied', 'countersign.overrule', function(chosen)
    if chosen and chosen.denial then
      overrule(chosen.denial)
    end
  end)
end

--- The same words are told once.
local function once(message, level)
  if not shown[message] then
    shown[message] = true
    client.tell(message, level)
  end
end

function M.warning(params)
  if not is_visible(params.threadId) then
    once(params.message, vim.log.levels.WARN)
  end
end

--- One of a turn is told with its end.
function M.error(params)
  if not params.turnId and not is_visible(params.threadId) then
    once(params.error.message, vim.log.levels.ERROR)
  end
end

return M
