local T = ...
local tests = {}

tests['what cannot be meant is told and left out'] = function()
  local config = require('countersign.config')
  for _, row in ipairs({
    { { save = 'sometimes' }, 'save must be one of agent, all, never' },
    { { chat = { width = -1 } }, 'chat.width must be a number above 0' },
    { { chat = 'wide' }, 'chat must be a table' },
    { { tools = { hover = 'no' } }, 'tools.hover must be a boolean' },
    { { tools = { sing = true } }, 'there is no option tools.sing' },
    { { cmd = 'countersign' }, 'cmd must be a list' },
    { { cmd = {} }, 'cmd must be a list' },
    { { cmd = { 1 } }, 'cmd must be a list' },
    { { settings = 'x' }, 'settings must be a table' },
    { { colour = 1 }, 'there is no option colour' },
    { 'all', 'must be a table' },
  }) do
    local options, problems = config.read(row[1])
    T.equal(#problems, 1, vim.inspect(row[1]))
    T.has(problems[1], row[2])
    T.equal(options, config.defaults, vim.inspect(row[1]))
  end
  local options, problems = config.read({ save = 'all', tools = { rename = false }, chat = { width = 60 }, settings = { model = 'm' } })
  T.equal(problems, {})
  T.equal({ options.save, options.tools.rename, options.tools.hover, options.chat.width, options.settings.model }, { 'all', false, true, 60, 'm' })
end

tests['a server that is not there is told of, with what to do'] = function()
  local server = require('countersign.server')
  local path, home = vim.env.PATH, vim.env.CARGO_HOME
  vim.env.PATH, vim.env.CARGO_HOME = '/nowhere', '/nowhere'
  T.fresh({ cmd = { '/no/such/countersign' } })
  local cmd, told = require('countersign.server').find()
  T.equal(cmd, nil)
  T.has(told, '/no/such/countersign')
  T.has(told, 'Fix it')
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder .. '/bin', 'p')
  vim.fn.writefile({ '#!/bin/sh' }, folder .. '/bin/countersign')
  vim.fn.setfperm(folder .. '/bin/countersign', 'rwxr-xr-x')
  vim.env.CARGO_HOME = folder
  T.fresh()
  cmd = require('countersign.server').find()
  T.equal(cmd, { folder .. '/bin/countersign' })
  vim.env.PATH, vim.env.CARGO_HOME = path, home
  vim.fn.delete(folder, 'rf')
  T.check(server ~= nil)
end

tests['the configuration says that the plugin is here'] = function()
  local given = dofile(T.plugin .. '/lsp/countersign.lua')
  T.equal(given.capabilities.experimental.countersign.version, 1)
  T.equal(type(given.cmd), 'function')
  T.equal(type(given.handlers['countersign/turn/completed']), 'function')
end

tests['no default maps, and a <Plug> for each deed'] = function()
  local function maps()
    local list = {}
    for _, mode in ipairs({ 'n', 'x', 'i', 'o', 'c', 't' }) do
      for _, map in ipairs(vim.api.nvim_get_keymap(mode)) do
        if not vim.startswith(map.lhs, '<Plug>') then
          list[mode .. map.lhs] = true
        end
      end
    end
    return list
  end
  local before = maps()
  vim.g.loaded_countersign = nil
  vim.cmd.source(T.plugin .. '/plugin/countersign.lua')
  T.equal(maps(), before)
  for _, name in ipairs({ 'chat', 'accept-hunk', 'reject-all', 'next', 'answer', 'fix' }) do
    T.check(vim.fn.maparg(('<Plug>(countersign-%s)'):format(name), 'n') ~= '', name)
  end
  T.equal(vim.fn.exists(':Countersign'), 2)
end

tests['the maps of the pages have descriptions and lead to deeds that there are'] = function()
  vim.cmd('runtime! plugin/countersign.lua')
  local count = 0
  for _, page in ipairs({ '/README.md', '/doc/countersign.txt' }) do
    local text = table.concat(vim.fn.readfile(T.plugin .. page), '\n')
    for line in text:gmatch('[^\n]*vim%.keymap%.set%b()') do
      T.check(line:find('desc', 1, true), page .. ' has a map without a description: ' .. line)
    end
    for name, desc in text:gmatch("map%([^\n]-'([%w-]+)', '(Agent: [^\n]-)'%)") do
      count = count + 1
      T.check(vim.fn.maparg(('<Plug>(countersign-%s)'):format(name), 'n') ~= '' and desc ~= '', page .. ' names ' .. name)
    end
  end
  T.check(count > 12, count)
end

tests['the Lua API is as the page says'] = function()
  local text = table.concat(vim.fn.readfile(T.plugin .. '/README.md'), '\n')
  local api = require('countersign')
  for name in text:match('## Lua API(.-)\n## '):gmatch('`%.(%w+)%(') do
    T.equal(type(api[name]), 'function', name)
  end
  for name in pairs(api) do
    T.has(text, '.' .. name .. '(')
  end
end

tests['a file is pointed at from where it is listed'] = function()
  local path = vim.fn.tempname()
  vim.fn.writefile({ 'a', 'b', 'c' }, path)
  local sent
  local id = T.countersign({ ['countersign/turn/start'] = function(params)
    sent = params.input
    return { turn = { id = 'u' } }
  end })
  require('countersign.threads').adopt({ id = 't', turns = {}, preview = '' }, id)
  local explorer, run = require('countersign.explorer'), require('countersign.commands').run
  local folder, name = vim.fs.dirname(path) .. '/', vim.fs.basename(path)
  local fakes = {
    oil = { 'oil', { get_cursor_entry = function()
      return { name = name }
    end, get_current_dir = function()
      return folder
    end } },
    NvimTree = { 'nvim-tree.api', { tree = { get_node_under_cursor = function()
      return { absolute_path = path }
    end } } },
    minifiles = { 'mini.files', { get_fs_entry = function()
      return { path = path }
    end } },
  }
  for filetype, fake in pairs(fakes) do
    vim.cmd('enew')
    vim.bo.buftype, vim.bo.filetype = 'nofile', filetype
    T.equal(explorer.path(), nil, 'without its plugin: ' .. filetype)
    package.loaded[fake[1]] = fake[2]
    T.equal(explorer.path(), path, filetype)
    package.loaded[fake[1]] = nil
  end
  vim.cmd.edit(path)
  T.equal(explorer.path(), vim.api.nvim_buf_get_name(0))
  run('add', '', { 2, 3 })
  run('add', '/no/such/file')
  T.has(T.messages[#T.messages][1], 'there is no file /no/such/file')
  T.wait('the file', function()
    return #T.messages > 1
  end)
  require('countersign.composer').send('t')
  T.wait('the message', function()
    return sent
  end)
  T.equal(sent[#sent], { type = 'mention', path = vim.api.nvim_buf_get_name(0), lineRange = { start = 1, ['end'] = 3 } })
end

tests['what does not fit on the message line is all in a buffer'] = function()
  local client = require('countersign.client')
  local long = 'see ' .. ('x'):rep(300) .. '/the-end\nand more'
  client.tell(long)
  T.check(#T.messages[1][1] < 200 and not T.messages[1][1]:find('the-end', 1, true), T.messages[1][1])
  require('countersign.commands').run('messages', '')
  local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  T.equal(text, 'Countersign: ' .. long)
  T.check(not vim.bo.modifiable)
  vim.cmd.close()
  for i = 1, 250 do
    client.tell('message ' .. i)
  end
  T.equal(#client.told(), 200)
end

tests['sub-commands are completed, and wrong ones named'] = function()
  local commands = require('countersign.commands')
  T.equal(commands.complete('acce', 'Countersign acce'), { 'accept' })
  T.equal(commands.complete('', 'Countersign accept '), { 'hunk', 'file', 'all' })
  T.equal(commands.complete('f', "'<,'>Countersign accept f"), { 'file' })
  T.equal(commands.complete('pl', 'Countersign mode pl'), { 'plan' })
  T.equal(commands.complete('', 'Countersign stop '), {})
  commands.run('sing', '')
  T.has(T.messages[#T.messages][1], 'there is no sub-command sing')
  for _, name in ipairs(commands.names()) do
    T.check(commands.list[name].desc ~= '', name)
  end
end

tests['the help page names every sub-command, option and event family, and its tags are sound'] = function()
  local page = table.concat(vim.fn.readfile(T.plugin .. '/doc/countersign.txt'), '\n')
  for _, name in ipairs(require('countersign.commands').names()) do
    T.has(page, '*:Countersign-' .. name .. '*')
  end
  for name, value in pairs(require('countersign.config').defaults) do
    T.has(page, name)
    for inner in pairs(type(value) == 'table' and not vim.islist(value) and value or {}) do
      T.has(page, inner)
    end
  end
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder, 'p')
  vim.fn.writefile(vim.split(page, '\n'), folder .. '/countersign.txt')
  vim.cmd.helptags(folder)
  T.check(#vim.fn.readfile(folder .. '/tags') > 40)
  for link in page:gmatch('|(countersign[%w%-]*)|') do
    T.check(page:find('*' .. link .. '*', 1, true), link .. ' leads nowhere')
  end
  vim.fn.delete(folder, 'rf')
end

tests['every file is Lua, says what it is for, and leaves no global'] = function()
  local before = vim.tbl_keys(_G)
  for _, folder in ipairs({ 'lua', 'lsp', 'plugin', 'ftplugin' }) do
    for name, kind in vim.fs.dir(T.plugin .. '/' .. folder, { depth = 6 }) do
      if kind == 'file' and name:match('%.lua$') then
        local path = T.plugin .. '/' .. folder .. '/' .. name
        T.check(loadfile(path), name)
        local lines = vim.fn.readfile(path)
        T.check(lines[1]:match('^%-%-'), name .. ' does not say what it is for')
        T.check(#lines <= 500, name .. ' is too long')
        local module = folder == 'lua' and name:gsub('%.lua$', ''):gsub('/init$', ''):gsub('/', '.')
        if module then
          T.check(pcall(require, module), module)
        end
      end
    end
  end
  T.equal(#vim.tbl_keys(_G), #before)
end

tests['checkhealth comes to its end'] = function()
  vim.cmd('silent checkhealth countersign')
  local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  T.has(text, 'Server')
  T.has(text, 'Options')
  T.check(not text:find('Failed to run', 1, true), text)
end

return tests
