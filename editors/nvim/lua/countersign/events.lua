--- Tells the rooms of the plugin, and autocommands `User Countersign…` of the person's, what has happened.
local M = {}

---@type table<string, fun(data: table)[]>
local listeners = {}

--- Hears of an event of the plugin's own: `adopted`, `changed`, `lost`, `found`, `proposal`, `account`, `setup`.
---@param name string
---@param listener fun(data: table)
function M.on(name, listener)
  listeners[name] = listeners[name] or {}
  table.insert(listeners[name], listener)
end

--- A listener that fails harms no other.
---@param name string
---@param data table
function M.emit(name, data)
  for _, listener in ipairs(listeners[name] or {}) do
    local good, why = xpcall(listener, debug.traceback, data)
    if not good then
      vim.schedule(function()
        vim.notify(('Countersign: a fault of the plugin at “%s”; please report it.\n%s'):format(name, why), vim.log.levels.ERROR)
      end)
    end
  end
end

--- The autocommand's name for a method: `turn/completed` is `CountersignTurnCompleted`.
---@param kind string
---@return string
function M.pattern(kind)
  local words = kind:gsub('^countersign/', ''):gsub('%f[%w](%w)', string.upper):gsub('[^%w]', '')
  return 'Countersign' .. words
end

--- Deltas come many times a second and are no events for people.
---@param kind string
---@return boolean
function M.is_delta(kind)
  return kind:match('[dD]elta$') ~= nil or kind == 'terminal/output' or kind == 'command/output' or kind == 'file/searchUpdated'
end

--- Fires `User Countersign…` with the notification's parameters as data.
---@param kind string
---@param params table
function M.autocommand(kind, params)
  if M.is_delta(kind) then
    return
  end
  -- Whether somebody listens is for Neovim to find out: a pattern may be `Countersign*`.
  vim.api.nvim_exec_autocmds('User', { pattern = M.pattern(kind), modeline = false, data = params })
end

return M
