--- `:checkhealth countersign`: is the server there, is it of today, are the options right, and what is missing.
local M = {}

local health = vim.health

local function editor()
  health.start('Neovim')
  local version = tostring(vim.version())
  if vim.fn.has('nvim-0.10') == 1 then
    health.ok('Neovim ' .. version)
  else
    health.error('Neovim ' .. version .. ' is too old', 'Install Neovim 0.10 or newer.')
  end
  local parser = pcall(vim.treesitter.language.add, 'markdown')
  if parser then
    health.ok('Answers are colored by the Markdown parser')
  else
    health.info('There is no Markdown parser, so answers have plainer colors')
  end
  local picker = require('countersign.picker')
  for name, what in pairs({ select = 'Questions', input = 'Words' }) do
    local one = vim.ui[name]
    local from = type(one) == 'function' and debug.getinfo(one, 'S').short_src or 'a ' .. type(one)
    health.ok(('%s come through %s'):format(what, picker.is_own(name) and ("Neovim's own vim.ui.%s"):format(name) or ('what has replaced vim.ui.%s (%s)'):format(name, from)))
  end
end

local function options()
  health.start('Options')
  local problems = require('countersign.config').problems()
  for _, problem in ipairs(problems) do
    health.warn(problem, ':help countersign-options lists them.')
  end
  if #problems == 0 then
    health.ok('All options are understood')
  end
  local off = {}
  for name, on in pairs(require('countersign.config').get().tools) do
    off[#off + 1] = not on and name or nil
  end
  table.sort(off)
  health.info(#off == 0 and "The model may use all of the editor's means" or 'Switched off for the model: ' .. table.concat(off, ', '))
end

local function program()
  health.start('Server')
  local cmd, told = require('countersign.server').find()
  if not cmd then
    health.error(told, { 'Install it: cargo install --path . --locked in the repository.', "Or name the program: require('countersign').setup({ cmd = { '/path/to/countersign' } })" })
    return
  end
  health.ok(('%s (by %s)'):format(cmd[1], told))
  local run = vim.system({ cmd[1], '--version' }, { text = true, timeout = 5000 }):wait()
  if run.code == 0 then
    health.ok(vim.trim(run.stdout))
  else
    health.error(('%s --version ended with status %d: %s'):format(cmd[1], run.code, vim.trim(run.stderr or '')), 'Install it again; it may be for another machine.')
    return
  end
  local doctor = vim.system({ cmd[1], 'doctor' }, { text = true, timeout = 20000 }):wait()
  local lines = vim.trim((doctor.stdout or '') .. (doctor.stderr or '')):gsub('\27%[[%d;]*m', '')
  -- What works, but less well than it could, is a line of its own.
  if doctor.code == 0 and not ('\n' .. lines):find('\n%s*warn%s') then
    health.ok('countersign doctor finds no problems')
  else
    health.warn('countersign doctor finds something to fix:\n' .. lines)
  end
end

local function clients()
  health.start('Running')
  local list = vim.lsp.get_clients({ name = 'countersign' })
  if #list == 0 then
    health.info("No server runs. It starts with the first file (require('countersign').setup() or vim.lsp.enable('countersign')), or with :Countersign")
  end
  for _, client in ipairs(list) do
    local capabilities = client.server_capabilities or {}
    local spoken = ((capabilities.experimental or {}).countersign or {}).version
    local where = client.config.root_dir or 'no folder'
    local buffers = vim.tbl_count(client.attached_buffers or {})
    health.ok(('Serves %d %s in %s'):format(buffers, buffers == 1 and 'buffer' or 'buffers', where))
    if spoken ~= 1 then
      health.warn(('The server speaks version %s of the protocol, this plugin version 1'):format(spoken), 'Update the older of the two.')
    end
  end
end

function M.check()
  editor()
  options()
  program()
  clients()
end

return M
