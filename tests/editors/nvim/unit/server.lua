local T = ...
local tests = {}

tests['a restart is for each folder that has had a server, also where that has ended'] = function()
  local server = require('countersign.server')
  local folders = {}
  for i = 1, 3 do
    folders[i] = vim.fn.tempname()
    vim.fn.mkdir(folders[i], 'p')
  end
  T.countersign({}, folders[1])
  local crashed, wire = T.countersign({}, folders[2])
  local stopped = T.countersign({}, folders[3])
  local started = {}
  server.start = function(root)
    started[#started + 1] = root
  end
  wire.exit(1)
  require('countersign.client').call(vim.lsp.get_client_by_id(stopped), 'stop', true)
  T.wait('their ends', function()
    return not vim.lsp.get_client_by_id(crashed) and not vim.lsp.get_client_by_id(stopped)
  end)
  server.restart()
  T.wait('the restart', function()
    return #started >= 3
  end)
  table.sort(folders)
  table.sort(started)
  T.equal(started, folders)
  T.equal(#vim.lsp.get_clients({ name = 'countersign' }), 0)
  -- What is not there any more is not asked for.
  vim.fn.delete(folders[2], 'rf')
  started = {}
  server.restart()
  T.wait('the restart', function()
    return #started >= 2
  end)
  table.sort(started)
  T.equal(started, { folders[1], folders[3] })
end

tests['a turn that ended with its server says how to go on'] = function()
  local words = require('countersign.chat.words')
  for _, by in ipairs({ 'crash', 'shutdown' }) do
    T.has(words.ending({ status = 'interrupted', interruptedBy = by }).lines[1], 'Send your message again')
  end
  T.equal(words.ending({ status = 'interrupted', interruptedBy = 'person' }).lines, { '*Stopped by you.*' })
end

tests['a message of the server fits on a line'] = function()
  local handlers = require('countersign.handlers').table()
  handlers['window/showMessage'](nil, { type = 1, message = ('long '):rep(100) }, { client_id = 1 })
  local last = T.messages[#T.messages]
  T.equal(last[2], vim.log.levels.ERROR)
  T.check(vim.fn.strdisplaywidth(last[1]) <= vim.v.echospace and vim.startswith(last[1], 'Countersign: long'), last[1])
  T.has(require('countersign.client').told()[1], ('long '):rep(100))
end

tests['the server is not taken out of a project'] = function()
  local server = require('countersign.server')
  local base = vim.uv.fs_realpath(vim.fs.dirname(vim.fn.tempname())) .. '/programs'
  local function program(folder)
    vim.fn.mkdir(base .. folder, 'p')
    local file = base .. folder .. '/countersign'
    vim.fn.writefile({ '#!/bin/sh' }, file)
    vim.fn.setfperm(file, 'rwxr-xr-x')
    return file
  end
  local own = program('/own')
  local planted = program('/project/bin')
  program('/other/node_modules/.bin')
  program('/other/.venv/bin')
  vim.fn.mkdir(base .. '/linked', 'p')
  vim.uv.fs_symlink(planted, base .. '/linked/countersign')
  vim.uv.fs_symlink(base .. '/project/bin', base .. '/link')
  local path = vim.env.PATH
  for _, folder in ipairs({ '/project/bin', '/other/node_modules/.bin', '/other/.venv/bin', '/linked', '/link' }) do
    vim.env.PATH = base .. folder .. ':' .. base .. '/own'
    T.equal((server.find(base .. '/project')), { own }, folder)
    vim.env.PATH = base .. folder
    local cmd, told = server.find(base .. '/project')
    T.check(not cmd or not vim.startswith(cmd[1], base), folder)
    if not cmd then
      T.has(told, 'is a project')
    end
  end
  -- Relative entries lead into some project, and a root around the home folder is none.
  vim.env.PATH = 'own:.::' .. base .. '/own'
  T.equal((server.find(base .. '/project')), { own })
  T.equal((server.find('/')), { own })
  -- Somebody else's project is nothing to this one.
  vim.env.PATH = base .. '/project/bin'
  T.equal((server.find(base .. '/other')), { planted })
  vim.env.PATH = path
end

return tests
