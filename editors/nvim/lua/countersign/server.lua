--- Where the server is, how it is started, and what happens when it ends.
local config = require('countersign.config')

local M = {}

M.name = 'countersign'

--- Attempts to bring a lost server back before the person is asked to.
local ATTEMPTS = 4
--- A server that ran this long (ms) begins its attempts anew.
local SETTLED = 60000

---@class countersign.Run
---@field started number
---@field attempts integer

---@type table<string, countersign.Run> By root: of every folder that has had a server.
local runs = {}
---@type table<integer, boolean> Clients that are being stopped on purpose.
local stopping = {}

local function executable(path)
  return path and path ~= '' and vim.fn.executable(path) == 1 and vim.fn.exepath(path) or nil
end

--- Folders of programs that a project brings along.
local OF_PROJECTS = { '/node_modules/%.bin$', '/%.?venv/bin$', '/%.?venv/Scripts$' }

local function real(path)
  return vim.fs.normalize(vim.uv.fs_realpath(path) or path)
end

local function is_in(path, folder)
  return path == folder or vim.startswith(path, folder == '/' and '/' or folder .. '/')
end

--- Whether a program was found where a project could have put it. A root at the home folder, or around it, is no project.
local function is_of_project(program, root)
  local folder = vim.fs.dirname(vim.fs.normalize(program))
  local home = real(vim.uv.os_homedir() or '/')
  local places = { folder, real(folder), real(program) }
  local projects = vim.tbl_keys(runs)
  vim.list_extend(projects, { vim.uv.cwd(), root })
  for _, place in ipairs(places) do
    for _, pattern in ipairs(OF_PROJECTS) do
      if place:find(pattern) then
        return true
      end
    end
    for _, project in ipairs(projects) do
      project = real(project)
      if is_in(place, project) and not is_in(home, project) then
        return true
      end
    end
  end
  return false
end

--- Looks for a program on PATH, but not where a project could have put it: the editor may have been started from a shell with
--- the project's own folders in PATH.
---@param root? string
---@return string? program
---@return string[] refused Programs of projects.
local function on_path(name, root)
  local refused = {}
  for _, folder in ipairs(vim.split(vim.env.PATH or '', vim.fn.has('win32') == 1 and ';' or ':', { plain = true })) do
    -- Relative entries are some project's.
    local program = (folder:sub(1, 1) == '/' or folder:match('^%a:[/\\]')) and executable(folder .. '/' .. name)
    if program and not is_of_project(program, root) then
      return program, refused
    end
    refused[#refused + 1] = program or nil
  end
  return nil, refused
end

--- Where programs of the person's lie that are not on PATH of an editor started from a desktop.
local function usual_places()
  local home = vim.uv.os_homedir() or ''
  local cargo = vim.env.CARGO_HOME or (home .. '/.cargo')
  return { cargo .. '/bin/countersign', home .. '/.local/bin/countersign', '/usr/local/bin/countersign' }
end

--- Looks for the server.
---@param root? string The folder that it is for.
---@return string[]? cmd Program and arguments.
---@return string told Where it was found, or why not and what to do.
function M.find(root)
  local given = config.get().cmd
  if given then
    -- A path is the person's word, a name is looked for.
    local program
    if given[1]:find('[/\\~$]') then
      program = executable(vim.fn.expand(given[1]))
    else
      program = on_path(given[1], root)
    end
    if program then
      return vim.list_extend({ program }, given, 2), 'the option cmd'
    end
    return nil, ('the option cmd names %s, which cannot be run. Fix it, or remove it so that the server is looked for.'):format(given[1])
  end
  local program, refused = on_path('countersign', root)
  if program then
    return { program }, 'PATH'
  end
  for _, place in ipairs(usual_places()) do
    if executable(place) then
      return { place }, place
    end
  end
  return nil,
    'there is no program countersign: not on PATH, nor in '
      .. table.concat(usual_places(), ', ')
      .. (refused[1] and ('; %s is a project\'s, and is not started'):format(refused[1]) or '')
      .. ". Install it (the README says how), or name it: require('countersign').setup({ cmd = { '/path/to/countersign' } })."
end

local warned = false

--- The server's command, or nil after the person was told, once, what to do.
---@param again? boolean Tell again.
---@param root? string The folder that it is for.
---@return string[]?
function M.command(again, root)
  local cmd, told = M.find(root)
  if not cmd and (again or not warned) then
    warned = true
    require('countersign.client').tell(told .. ' :checkhealth countersign says more.', vim.log.levels.WARN)
  end
  return cmd
end

--- The folder that a buffer belongs to.
---@param buf integer
---@return string?
function M.root_of(buf)
  local file = vim.api.nvim_buf_get_name(buf)
  if vim.bo[buf].buftype ~= '' or file == '' or file:match('^%w[%w+.-]+://') then
    return nil
  end
  return vim.fs.root(buf, config.get().root_markers) or vim.fs.dirname(file)
end

--- What the plugin can do, with the tools for conversations that the server begins itself, as by a code action.
local function capabilities()
  local able = vim.lsp.protocol.make_client_capabilities()
  able.experimental = vim.tbl_extend('force', able.experimental or {}, { countersign = { version = 1, tools = require('countersign.tools').specs() } })
  return able
end

--- How the servers ended whose end is not dealt with yet, in the order of their ends.
---@type { [1]: integer, [2]: integer }[]
local ends = {}

--- Neovim tells of an end in words that may not fit on a line, and stops there until a key is pressed. The plugin tells it
--- itself, and what is to be done.
local function told_here(dispatchers)
  return setmetatable({
    on_exit = function(code, signal)
      ends[#ends + 1] = { code, signal }
      return dispatchers.on_exit(0, 0)
    end,
  }, { __index = dispatchers })
end

local function on_exit(_, _, client_id)
  local code, signal = unpack(table.remove(ends, 1) or { 0, 0 })
  vim.schedule(function()
    local client = vim.lsp.get_client_by_id(client_id)
    local root = client and client.config.root_dir or (vim.uv.cwd() or '')
    require('countersign.client').lost(client_id)
    require('countersign.threads').lost(client_id)
    local wanted = stopping[client_id] or vim.v.exiting ~= vim.NIL
    stopping[client_id] = nil
    if wanted or (code == 0 and signal == 0) then
      return
    end
    local run = runs[root] or { started = 0, attempts = 0 }
    if vim.uv.now() - run.started > SETTLED then
      run.attempts = 0
    end
    runs[root] = run
    run.attempts = run.attempts + 1
    local why = signal ~= 0 and ('signal %d'):format(signal) or ('status %d'):format(code)
    if run.attempts > ATTEMPTS then
      local words = 'the server has ended %d times in a row (%s). :Countersign log has the cause; :Countersign restart starts it again.'
      require('countersign.client').tell(words:format(run.attempts, why), vim.log.levels.ERROR)
      return
    end
    local delay = 500 * 2 ^ (run.attempts - 1)
    require('countersign.client').tell(('the server has ended (%s). Restarting in %.1f s. :Countersign log has the cause.'):format(why, delay / 1000), vim.log.levels.WARN)
    vim.defer_fn(function()
      M.start(root)
    end, delay)
  end)
end

--- The environment of the server. The settings of `setup()` go this way: what a client sends later may have been put there
--- by a project, and the server takes only preferences from it.
local function environment(options)
  local env = vim.deepcopy(options.env or {})
  if next(options.settings or {}) then
    env.COUNTERSIGN_SETTINGS = vim.json.encode(options.settings)
  end
  return next(env) and env or nil
end

--- The configuration of the client, for `lsp/countersign.lua` and for `vim.lsp.start`.
---@return vim.lsp.Config
function M.config()
  local options = config.get()
  return {
    name = M.name,
    cmd = function(dispatchers, given)
      local root = given and given.root_dir
      local cmd = assert(M.command(true, root), 'the program countersign is not found; :checkhealth countersign says more')
      return vim.lsp.rpc.start(cmd, told_here(dispatchers), { cwd = root and vim.fn.isdirectory(root) == 1 and root or nil, env = environment(options) })
    end,
    root_dir = function(buf, found)
      local root = M.root_of(buf)
      if root and config.get().autostart and M.command(false, root) then
        found(root)
      end
    end,
    capabilities = capabilities(),
    handlers = require('countersign.handlers').table(),
    commands = require('countersign.actions').commands(),
    on_exit = on_exit,
    on_init = function(client)
      -- From here on keys are heard, so that no question comes between them.
      require('countersign.ask')
      require('countersign.chat')
      require('countersign.review')
      runs[client.config.root_dir or ''] = { started = vim.uv.now(), attempts = (runs[client.config.root_dir or ''] or {}).attempts or 0 }
      require('countersign.threads').found(client)
    end,
  }
end

--- Starts the server for a folder, or gives the one that runs, and attaches the folder's open files.
---@param root string
---@return integer? client_id
function M.start(root)
  if not M.command(true, root) then
    return nil
  end
  local given = M.config()
  given.root_dir = root
  local id
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and M.root_of(buf) == root then
      id = vim.lsp.start(given, { bufnr = buf }) or id
    end
  end
  if id then
    return id
  end
  for _, client in ipairs(vim.lsp.get_clients({ name = M.name })) do
    if client.config.root_dir == root then
      return client.id
    end
  end
  if vim.fn.has('nvim-0.11') == 1 then
    return vim.lsp.start(given, { attach = false })
  end
  ---@diagnostic disable-next-line: deprecated
  return vim.lsp.start_client(given)
end

--- Starts the server for each file that is opened. Newer releases do this themselves.
function M.enable()
  if vim.lsp.config and vim.lsp.enable then
    vim.lsp.enable(M.name)
    return
  end
  local function attach(buf)
    local root = config.get().autostart and M.root_of(buf)
    if root and M.command(false, root) then
      local given = M.config()
      given.root_dir = root
      vim.lsp.start(given, { bufnr = buf })
    end
  end
  vim.api.nvim_create_autocmd('FileType', {
    group = vim.api.nvim_create_augroup('countersign.enable', {}),
    callback = function(event)
      attach(event.buf)
    end,
  })
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].filetype ~= '' then
      attach(buf)
    end
  end
end

--- Ends every server and starts it again for the folders it served; also for those whose server has ended since.
function M.restart()
  local roots = {}
  for root, run in pairs(runs) do
    run.attempts = 0
    if vim.fn.isdirectory(root) == 1 then
      roots[root] = true
    end
  end
  for _, client in ipairs(vim.lsp.get_clients({ name = M.name })) do
    roots[client.config.root_dir or vim.uv.cwd()] = true
    stopping[client.id] = true
    client.stop(client, true)
  end
  if not next(roots) then
    roots[require('countersign.client').folder()] = true
  end
  vim.defer_fn(function()
    for root in pairs(roots) do
      M.start(root)
    end
  end, 300)
end

return M
