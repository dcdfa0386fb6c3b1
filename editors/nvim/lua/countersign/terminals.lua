--- Commands of the agent that run on: each can be looked at, typed into and ended, in a terminal buffer.
local client = require('countersign.client')
local threads = require('countersign.threads')
local picker = require('countersign.picker')

local M = {}

---@class countersign.Terminal
---@field terminal table
---@field client integer
---@field channel? integer
---@field buf? integer
---@field exited? integer

---@type table<integer, countersign.Terminal>
local known = {}

function M.started(params, id)
  known[params.terminal.terminalId] = { terminal = params.terminal, client = id }
end

function M.output(params)
  local one = known[params.terminalId]
  if one and one.channel then
    pcall(vim.api.nvim_chan_send, one.channel, params.delta)
  end
end

function M.exited(params)
  local one = known[params.terminalId]
  if one then
    one.exited = params.exitCode
    if one.channel then
      pcall(vim.api.nvim_chan_send, one.channel, ('\r\n[ended with exit code %d]\r\n'):format(params.exitCode))
    else
      known[params.terminalId] = nil
    end
  end
end

local function open(terminal, id)
  local one = known[terminal.terminalId] or { terminal = terminal, client = id }
  known[terminal.terminalId] = one
  if one.buf and vim.api.nvim_buf_is_valid(one.buf) then
    vim.cmd('botright sbuffer ' .. one.buf)
    return
  end
  vim.cmd('botright 14new')
  local buf = vim.api.nvim_get_current_buf()
  one.buf = buf
  client.request(id, 'terminal/read', { terminalId = terminal.terminalId }, function(read)
    if not vim.api.nvim_buf_is_valid(buf) then
      return
    end
    one.channel = vim.api.nvim_open_term(buf, {
      on_input = function(_, _, _, text)
        if terminal.size and not one.exited then
          client.request(id, 'terminal/write', { terminalId = terminal.terminalId, text = text })
        end
      end,
    })
    vim.api.nvim_chan_send(one.channel, read.output)
    pcall(vim.api.nvim_buf_set_name, buf, ('countersign://terminal/%d'):format(terminal.terminalId))
  end)
end

--- Lets the person choose a terminal, to look at or to end.
---@param deed? 'open'|'kill'
function M.pick(deed)
  client.with(function(server)
    client.request(server, 'terminal/list', {}, function(result)
      if #result.data == 0 then
        return client.tell('no command of the agent runs in a terminal.')
      end
      picker.select(result.data, {
        prompt = deed == 'kill' and 'End which terminal?' or 'Terminal',
        kind = 'countersign.terminal',
        format_item = function(terminal)
          local thread = threads.get(terminal.threadId)
          return ('%d  %s  %s'):format(terminal.terminalId, terminal.command:gsub('%s+', ' '), thread and thread.name or '')
        end,
      }, function(terminal)
        if terminal and deed == 'kill' then
          client.request(server, 'terminal/kill', { terminalId = terminal.terminalId })
        elseif terminal then
          open(terminal, server.id)
        end
      end)
    end)
  end)
end

return M
