--- Speaking to the server: which client is meant, requests with answers, and failures told in words.
local M = {}

local newer = vim.fn.has('nvim-0.11') == 1

--- Methods of a client were functions before Neovim 0.11.
---@param client vim.lsp.Client
---@param name string
function M.call(client, name, ...)
  if newer then
    return client[name](client, ...)
  end
  return client[name](...)
end

--- How many messages are kept whole.
local KEPT = 200

---@type string[] What was told, whole, the latest last.
local told = {}

--- What the person was told, whole.
---@return string[]
function M.told()
  return told
end

--- Tells the person something, on one line: more would stop the editor until a key is pressed. What does not fit there is all
--- in `:Countersign messages`; Neovim's own history has only what was shown.
---@param message string
---@param level? integer
---@param who? string
---@return boolean whole Whether the line shows all of it.
function M.tell(message, level, who)
  message = require('countersign.visible').text((who or 'Countersign') .. ': ' .. message)
  told[#told + 1] = message
  if #told > KEPT then
    table.remove(told, 1)
  end
  local line = message:gsub('%s*\n%s*', ' · ')
  local room = math.max(40, vim.v.echospace - 1)
  local whole = vim.fn.strdisplaywidth(line) <= room
  if not whole then
    line = vim.fn.strcharpart(line, 0, room - 1) .. '…'
  end
  vim.notify(line, level or vim.log.levels.INFO)
  return whole
end

--- The last window that shows a file of the person's, and so what a question is about.
---@return integer? win
---@return integer? buf
function M.file_window()
  local server = require('countersign.server')
  local wins = { vim.api.nvim_get_current_win(), vim.fn.win_getid(vim.fn.winnr('#')) }
  vim.list_extend(wins, vim.api.nvim_tabpage_list_wins(0))
  for _, win in ipairs(wins) do
    if win ~= 0 and vim.api.nvim_win_is_valid(win) then
      local buf = vim.api.nvim_win_get_buf(win)
      if server.root_of(buf) then
        return win, buf
      end
    end
  end
end

--- The folder that a request without a file is about.
---@return string
function M.folder()
  local _, buf = M.file_window()
  if buf then
    return require('countersign.server').root_of(buf) --[[@as string]]
  end
  local cwd = vim.uv.cwd() or vim.uv.os_homedir() or '/'
  return vim.fs.root(cwd, require('countersign.config').get().root_markers) or cwd
end

---@return vim.lsp.Client[]
function M.all()
  return vim.lsp.get_clients({ name = 'countersign' })
end

--- The client for where the person is, if one runs.
---@return vim.lsp.Client?
function M.current()
  local _, buf = M.file_window()
  local here = buf and vim.lsp.get_clients({ name = 'countersign', bufnr = buf })[1]
  if here then
    return here
  end
  local folder = M.folder()
  for _, client in ipairs(M.all()) do
    if client.config.root_dir == folder then
      return client
    end
  end
  return M.all()[1]
end

--- Calls back with a client that is ready. Starts the server where none runs; tells the person if there is none.
---@param callback fun(client: vim.lsp.Client)
---@param failed? fun() After the person was told.
function M.with(callback, failed)
  failed = failed or function() end
  local client = M.current()
  local id = client and client.id or require('countersign.server').start(M.folder())
  if not id then
    return failed()
  end
  local deadline = vim.uv.now() + 20000
  local function look()
    local ready = vim.lsp.get_client_by_id(id)
    if ready and ready.initialized then
      callback(ready)
    elseif not ready and vim.uv.now() > deadline - 19000 then
      M.tell('the server ended before it was ready. :Countersign log has the cause.', vim.log.levels.ERROR)
      failed()
    elseif vim.uv.now() > deadline then
      M.tell('the server does not answer. :Countersign log has the cause, :Countersign restart starts it again.', vim.log.levels.ERROR)
      failed()
    else
      vim.defer_fn(look, 20)
    end
  end
  look()
end

--- A client, by its id; nil once it has ended.
---@param id integer
---@return vim.lsp.Client?
function M.by_id(id)
  return vim.lsp.get_client_by_id(id)
end

---@type table<integer, table<fun(error: table?, result: any), true>> What is asked of each client and not answered yet.
local open = {}

--- The server of a client has ended: what it was asked is answered by nobody else.
---@param id integer
function M.lost(id)
  local left = open[id] or {}
  open[id] = nil
  for one in pairs(left) do
    one({ message = 'the server ended before it answered. Try again once it runs; :Countersign log has the cause.', code = 0 })
  end
end

--- Sends a request. A failure without `failed` is shown to the person. The end of the server is a failure too.
---@param client vim.lsp.Client|integer
---@param method string With or without the prefix `countersign/`.
---@param params table
---@param done? fun(result: any)
---@param failed? fun(error: { message: string, code: integer, data?: table })
---@return integer? request
function M.request(client, method, params, done, failed)
  if type(client) == 'number' then
    client = vim.lsp.get_client_by_id(client)
  end
  if not client then
    local error = { message = 'the server has ended. :Countersign restart starts it again.', code = 0 }
    return failed and failed(error) or M.tell(error.message, vim.log.levels.WARN) and nil
  end
  if not method:find('/', 1, true) or not (vim.startswith(method, 'countersign/') or vim.startswith(method, 'workspace/')) then
    method = 'countersign/' .. method
  end
  if next(params) == nil then
    params = vim.empty_dict()
  end
  local asked = open[client.id] or {}
  open[client.id] = asked
  local answered
  answered = function(error, result)
    if not asked[answered] then
      return
    end
    asked[answered] = nil
    if error then
      if failed then
        failed(error)
      else
        M.tell(error.message or vim.inspect(error), vim.log.levels.ERROR)
      end
    elseif done then
      done(M.clean(result))
    end
  end
  asked[answered] = true
  local sent, id = M.call(client, 'request', method, params, answered)
  if not sent then
    answered({ message = 'the server has ended. :Countersign restart starts it again.', code = 0 })
  end
  return id
end

--- Carries out one of the server's commands.
---@param command string
---@param argument? table
function M.execute(command, argument)
  M.with(function(client)
    M.request(client, 'workspace/executeCommand', { command = command, arguments = argument and { argument } or {} })
  end)
end

--- Takes JSON's null out of objects, where some releases leave it: what is null there is not known. In lists it stays.
---@generic T
---@param value T
---@return T
function M.clean(value)
  if type(value) == 'table' then
    local list = vim.islist(value)
    for key, one in pairs(value) do
      if one == vim.NIL and not list then
        value[key] = nil
      else
        M.clean(one)
      end
    end
  end
  return value
end

return M
