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
  local name = thread and (thread.name or thread.preview) or ''
  name = name:gsub('%s+', ' ')
  return name == '' and 'Countersign' or ('Countersign (%s)'):format(vim.fn.strcharpart(name, 0, 30))
end

local function is_visible(id)
  return require('countersign.chat').is_visible(id)
end

--- A turn is over. Told where the person does not see it: no window shows the chat, or the editor has not the focus.
function M.turn_completed(params)
  local thread, turn = threads.get(params.threadId), params.turn
  if turn.status == 'failed' and turn.error and not is_visible(params.threadId) then
    client.tell(turn.error.message, vim.log.levels.ERROR, name_of(params.threadId))
  elseif turn.status == 'completed' and turn.kind == 'regular' and not (thread and thread.agent) and (not focused or not is_visible(params.threadId)) then
    local answer = (params.lastAgentMessage or 'done'):gsub('%s+', ' ')
    client.tell(answer, nil, name_of(params.threadId))
  end
end

function M.review_completed(params)
  if not params.output then
    return
  end
  local count = #params.findings
  local words = count == 0 and 'the review found nothing to mend.' or ('the review found %d %s: :Countersign findings lists them.'):format(count, count == 1 and 'thing' or 'things')
  client.tell(words)
end

--- The automatic reviewer denied something: it can be overruled, for exactly that.
function M.assessment(params)
  if params.status == 'denied' then
    M.denied = { threadId = params.threadId, assessmentId = params.id }
    client.tell(('the automatic reviewer denied this. %s :Countersign overrule allows it once.'):format(params.rationale or ''), vim.log.levels.WARN)
  end
end

--- Lets the last thing that was denied happen, once.
function M.overrule()
  if not M.denied then
    return client.tell('nothing was denied.')
  end
  local thread = threads.get(M.denied.threadId)
  client.request(thread and thread.client or -1, 'guardian/approveDenied', M.denied, function(result)
    client.tell(result.taken and 'it is allowed, once.' or 'it was overruled before, or is gone.')
  end)
  M.denied = nil
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
