--- What the server asks and tells, each method with who answers it.
local protocol = require('countersign.protocol')

local M = {}

--- Methods without a handler, each with the reason.
M.unhandled = {
  ['countersign/item/raw'] = 'comes only to subscriptions with `raw`, and the plugin subscribes to nothing',
}

--- Requests of the server, without their prefix: the module and the function that answers. Each may wait for the person
--- by yielding.
M.requests = {
  ['approval/command'] = { 'countersign.ask.approval', 'command' },
  ['approval/permission'] = { 'countersign.ask.approval', 'permission' },
  ['approval/tool'] = { 'countersign.ask.approval', 'tool' },
  ['userInput/request'] = { 'countersign.ask.input', 'request' },
  ['mcp/elicitation'] = { 'countersign.ask.elicitation', 'request' },
  ['tool/call'] = { 'countersign.tools', 'call' },
  ['document/save'] = { 'countersign.documents', 'save' },
}

--- Notifications with somebody to hear them beside the threads' own state.
M.notifications = {
  ['approval/resolved'] = { 'countersign.ask', 'approval_resolved' },
  ['userInput/resolved'] = { 'countersign.ask', 'input_resolved' },
  ['mcp/elicitationResolved'] = { 'countersign.ask', 'elicitation_resolved' },
  ['proposal/created'] = { 'countersign.proposals', 'created' },
  ['proposal/updated'] = { 'countersign.proposals', 'updated' },
  ['proposal/moved'] = { 'countersign.proposals', 'moved' },
  ['file/changed'] = { 'countersign.documents', 'changed' },
  ['terminal/started'] = { 'countersign.terminals', 'started' },
  ['terminal/output'] = { 'countersign.terminals', 'output' },
  ['terminal/exited'] = { 'countersign.terminals', 'exited' },
  ['turn/completed'] = { 'countersign.notices', 'turn_completed' },
  ['turn/retrying'] = { 'countersign.notices', 'retrying' },
  ['review/completed'] = { 'countersign.notices', 'review_completed' },
  ['guardian/assessment'] = { 'countersign.notices', 'assessment' },
  ['warning'] = { 'countersign.notices', 'warning' },
  ['error'] = { 'countersign.notices', 'error' },
  ['account/login/completed'] = { 'countersign.account', 'completed' },
  ['command/output'] = { 'countersign.exec', 'output' },
  ['file/searchUpdated'] = { 'countersign.complete', 'search_updated' },
}

local function listen(method)
  local kind = method:gsub('^countersign/', '')
  return function(_, params, ctx)
    require('countersign.client').clean(params)
    -- Copies that a subscription asked for are somebody else's.
    if params.subscriptionId then
      return
    end
    require('countersign.threads').apply(kind, params, ctx.client_id)
    local heard = M.notifications[kind]
    if heard then
      require(heard[1])[heard[2]](params, ctx.client_id)
    end
    require('countersign.events').autocommand(kind, params)
  end
end

local function answer(kind)
  local room = M.requests[kind]
  return function(_, params, ctx)
    local good, result = pcall(require(room[1])[room[2]], require('countersign.client').clean(params), ctx.client_id)
    if good then
      return result == nil and vim.NIL or result
    end
    vim.schedule(function()
      vim.notify('Countersign: a fault of the plugin; please report it.\n' .. tostring(result), vim.log.levels.ERROR)
    end)
    return nil, { code = vim.lsp.protocol.ErrorCodes.InternalError, message = tostring(result) }
  end
end

local levels = { vim.log.levels.ERROR, vim.log.levels.WARN, vim.log.levels.INFO }

--- Tells what the server has to say as the plugin tells all else: Neovim's own way may stop the editor until a key is pressed.
local function message(_, params)
  require('countersign.client').tell(params.message, levels[params.type] or vim.log.levels.DEBUG)
end

--- Asks what the server asks by a message, as the plugin asks all else.
local function message_request(_, params)
  return require('countersign.ask.message').request(params)
end

--- The handlers of a client.
---@return table<string, function>
function M.table()
  local handlers = { ['window/showMessage'] = message, ['window/showMessageRequest'] = message_request }
  for _, method in ipairs(protocol.notifications) do
    if not M.unhandled[method] then
      handlers[method] = listen(method)
    end
  end
  for kind in pairs(M.requests) do
    handlers['countersign/' .. kind] = answer(kind)
  end
  return handlers
end

return M
