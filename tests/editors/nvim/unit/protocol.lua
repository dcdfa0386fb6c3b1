local T = ...
local tests = {}

local kinds = { client = 'client_requests', server = 'server_requests', ['server, no answer'] = 'notifications' }

local function page()
  local rows = { client_requests = {}, server_requests = {}, notifications = {} }
  for line in io.lines(T.root .. '/docs/protocol.md') do
    local method, from = line:match('^| %[(countersign/[^%]]+)%]%([^)]*%) | ([%a, ]+) |')
    if method then
      table.insert(rows[kinds[from]], method)
    end
  end
  return rows
end

tests['the names are those of the protocol'] = function()
  local path = T.plugin .. '/lua/countersign/protocol.lua'
  local rows = page()
  if vim.env.UPDATE == '1' then
    local text = table.concat(vim.fn.readfile(path), '\n') .. '\n'
    for name, methods in pairs(rows) do
      local list = table.concat(vim.tbl_map(function(method)
        return ("  '%s',"):format(method)
      end, methods), '\n')
      text = text:gsub('(M%.' .. name .. ' = {\n).-(\n})', function(head, tail)
        return head .. list .. tail
      end)
    end
    vim.fn.writefile(vim.split(text, '\n', { plain = true, trimempty = true }), path)
    package.loaded['countersign.protocol'] = nil
  end
  local mirror = require('countersign.protocol')
  for name, methods in pairs(rows) do
    T.check(#methods > 5, 'the page cannot be read')
    T.equal(mirror[name], methods, name .. ' (UPDATE=1 rewrites the mirror)')
  end
end

tests['each request of the server has somebody who answers'] = function()
  local handlers = require('countersign.handlers')
  local table_of = handlers.table()
  for _, method in ipairs(require('countersign.protocol').server_requests) do
    T.check(table_of[method], method .. ' is answered by nobody')
  end
  for kind, room in pairs(handlers.requests) do
    T.check(vim.tbl_contains(require('countersign.protocol').server_requests, 'countersign/' .. kind), kind .. ' is no request of the protocol')
    T.equal(type(require(room[1])[room[2]]), 'function', kind)
  end
end

tests['each notification has a handler or a reason'] = function()
  local handlers = require('countersign.handlers')
  local table_of = handlers.table()
  for _, method in ipairs(require('countersign.protocol').notifications) do
    T.check((table_of[method] ~= nil) ~= (handlers.unhandled[method] ~= nil), method)
  end
  for kind, room in pairs(handlers.notifications) do
    T.check(vim.tbl_contains(require('countersign.protocol').notifications, 'countersign/' .. kind), kind .. ' is no notification of the protocol')
    T.equal(type(require(room[1])[room[2]]), 'function', kind)
  end
end

tests['what the plugin asks is in the protocol'] = function()
  local known = {}
  for _, method in ipairs(require('countersign.protocol').client_requests) do
    known[method] = true
  end
  for name, kind in vim.fs.dir(T.plugin .. '/lua/countersign', { depth = 5 }) do
    if kind == 'file' then
      local text = table.concat(vim.fn.readfile(T.plugin .. '/lua/countersign/' .. name), '\n')
      for method in text:gmatch("request%([%w_.]+, '([%w/]+)'") do
        T.check(known['countersign/' .. method] or method == 'workspace/executeCommand', name .. ' asks ' .. method)
      end
    end
  end
end

tests['the examples of the page can be heard and shown'] = function()
  local text = table.concat(vim.fn.readfile(T.root .. '/docs/protocol.md'), '\n')
  local from = text:find('\n## Notifications of the server', 1, true)
  local table_of = require('countersign.handlers').table()
  local threads = require('countersign.threads')
  local heard = 0
  for method, json in text:sub(from):gmatch('\n### (countersign/[%w/]+)\n.-\n```json\n(.-)\n```') do
    if table_of[method] then
      local params = vim.json.decode(json)
      table_of[method](nil, params, { client_id = 1 })
      heard = heard + 1
    end
  end
  T.check(heard > 30, ('only %d examples were found'):format(heard))
  for _, thread in ipairs(threads.list()) do
    local chat = require('countersign.chat').buffer(thread.id)
    T.wait('the chat', function()
      return not chat.pending
    end)
  end
  for _, message in ipairs(T.messages) do
    T.check(not message[1]:find('fault of the plugin'), message[1])
  end
end

tests['an autocommand with a pattern hears every event, and the help page names each'] = function()
  local events, handlers = require('countersign.events'), require('countersign.handlers')
  local heard = {}
  local id = vim.api.nvim_create_autocmd('User', { pattern = 'Countersign*', callback = function(event)
    heard[#heard + 1] = { event.match, event.data.threadId }
  end })
  events.autocommand('turn/completed', { threadId = 'x' })
  events.autocommand('item/agentMessage/delta', { threadId = 'x' })
  events.autocommand('warning', { threadId = 'y' })
  vim.api.nvim_del_autocmd(id)
  T.equal(heard, { { 'CountersignTurnCompleted', 'x' }, { 'CountersignWarning', 'y' } })
  local page = table.concat(vim.fn.readfile(T.plugin .. '/doc/countersign.txt'), '\n') .. '\n'
  for _, method in ipairs(require('countersign.protocol').notifications) do
    if not handlers.unhandled[method] and not events.is_delta((method:gsub('^countersign/', ''))) then
      T.has(page, '    ' .. events.pattern(method) .. '\n')
    end
  end
end

tests['each event has an autocommand of its own'] = function()
  local events = require('countersign.events')
  T.equal(events.pattern('turn/completed'), 'CountersignTurnCompleted')
  T.equal(events.pattern('countersign/mcp/elicitationRequested'), 'CountersignMcpElicitationRequested')
  local seen = {}
  for _, method in ipairs(require('countersign.protocol').notifications) do
    T.check(not seen[events.pattern(method)], method)
    seen[events.pattern(method)] = true
  end
  local told
  local id = vim.api.nvim_create_autocmd('User', { pattern = 'CountersignWarning', callback = function(event)
    told = event.data
  end })
  require('countersign.handlers').table()['countersign/warning'](nil, { threadId = 't', seq = 1, message = 'low' }, { client_id = 1 })
  vim.api.nvim_del_autocmd(id)
  T.equal(told and told.message, 'low')
end

return tests
