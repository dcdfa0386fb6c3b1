-- A person at a Neovim: starts one as a child, types into it, looks at it. Used by journey.lua.
local M = {}

local passed, failed = 0, 0

--- One line for each thing that was looked at.
function M.check(name, good, detail)
  if good then
    passed = passed + 1
    io.stdout:write('ok    ' .. name .. '\n')
  else
    failed = failed + 1
    io.stdout:write('FAIL  ' .. name .. (detail and ('\n      ' .. tostring(detail):gsub('\n', '\n      ')) or '') .. '\n')
  end
  io.stdout:flush()
  return good
end

function M.equal(name, got, want)
  return M.check(name, got == want, got == want and nil or ('got:\n' .. tostring(got) .. '\nwanted:\n' .. tostring(want)))
end

function M.sum()
  io.stdout:write(('%d passed, %d failed\n'):format(passed, failed))
  return failed == 0
end

--- Waits until `f` gives something; ends the journey if it never does.
function M.wait(what, f, ms)
  local value
  local ok = vim.wait(ms or 20000, function()
    value = f()
    return value ~= nil and value ~= false and value ~= vim.NIL
  end, 20)
  if not ok then
    error({ gave_up = what }, 0)
  end
  return value
end

local Editor = {}
Editor.__index = Editor

--- Starts the editor under test. `init` is its init file, `cwd` the project.
function M.start(init, cwd)
  local self = setmetatable({}, Editor)
  self.chan = vim.fn.jobstart({ vim.v.progpath, '--embed', '--headless', '-n', '-i', 'NONE', '-u', init }, {
    rpc = true,
    cwd = cwd,
    on_exit = function(_, code)
      self.exit_code = code
    end,
  })
  assert(self.chan > 0, 'the editor did not start')
  return self
end

--- Runs Lua in the editor under test.
function Editor:lua(code, ...)
  return vim.rpcrequest(self.chan, 'nvim_exec_lua', code, { ... })
end

--- Types keys, as a person would. They take effect some time later.
function Editor:type(keys)
  vim.rpcrequest(self.chan, 'nvim_input', keys)
end

--- Types keys and waits until the editor has dealt with them and is back in normal mode.
function Editor:type_out(keys)
  self:type(keys .. '<Cmd>let g:typed = get(g:, "typed", 0) + 1<CR>')
  self.typed = (self.typed or 0) + 1
  M.wait('the editor to take ' .. keys, function()
    return self:lua('return vim.g.typed') == self.typed
  end)
end

function Editor:text(buf)
  return self:lua('return table.concat(vim.api.nvim_buf_get_lines(..., 0, -1, false), "\\n") .. "\\n"', buf or 0)
end

--- The next question (`vim.ui.select`) that nobody has answered, as { prompt, kind, items }.
function Editor:question(what, ms)
  return M.wait(what, function()
    return self:lua('return Rig.question()')
  end, ms)
end

--- Picks the item whose text starts with `title`. False if there is none.
function Editor:answer(title)
  return self:lua('return Rig.answer(...)', title)
end

function Editor:quit()
  pcall(vim.rpcnotify, self.chan, 'nvim_command', 'qall!')
  return vim.wait(10000, function()
    return self.exit_code ~= nil
  end, 20)
end

M.Editor = Editor
return M
