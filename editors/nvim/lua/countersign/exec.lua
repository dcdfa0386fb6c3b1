--- Commands in the sandbox beside all conversations (`command/exec`), their output in a buffer as it comes.
local client = require('countersign.client')

local M = {}

---@type table<string, integer> Buffers by process id.
local buffers = {}
---@type table<integer, string> What may be the beginning of something, by buffer: a line end, a color.
local begun = {}
local count = 0

local function append(buf, text)
  text = (begun[buf] or '') .. text
  begun[buf] = text:match('\r$') or text:match('\27%[?[%d;?]*$')
  text = text:sub(1, #text - #(begun[buf] or ''))
  if not vim.api.nvim_buf_is_valid(buf) then
    return
  end
  local last = vim.api.nvim_buf_line_count(buf) - 1
  local line = vim.api.nvim_buf_get_lines(buf, last, last + 1, false)[1] or ''
  text = require('countersign.visible').text((text:gsub('\r\n', '\n'):gsub('\27%[[%d;?]*%a', '')))
  local lines = vim.split(text, '\n', { plain = true })
  lines[1] = line .. lines[1]
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, last, last + 1, false, lines)
  vim.bo[buf].modifiable = false
end

--- Runs a command line in the sandbox and shows what it prints.
---@param line string
function M.run(line)
  client.with(function(server)
    count = count + 1
    local id = ('nvim-%d-%d'):format(vim.fn.getpid(), count)
    vim.cmd('botright 12new')
    local buf = vim.api.nvim_get_current_buf()
    vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile, vim.bo[buf].modifiable = 'nofile', 'wipe', false, false
    pcall(vim.api.nvim_buf_set_name, buf, 'countersign://exec/' .. id)
    buffers[id] = buf
    vim.api.nvim_create_autocmd('BufWipeout', {
      buffer = buf,
      callback = function()
        begun[buf] = nil
        if buffers[id] then
          buffers[id] = nil
          client.request(server, 'command/terminate', { processId = id }, function() end, function() end)
        end
      end,
    })
    append(buf, '$ ' .. line .. '\n')
    local function over(words)
      buffers[id] = nil
      append(buf, '\n[' .. words .. ']')
    end
    local params = { command = { 'sh', '-c', line }, processId = id, streamOutput = true, timeoutMs = 600000 }
    client.request(server, 'command/exec', params, function(result)
      over(('%s after %.1f s%s'):format(result.timedOut and 'out of time' or 'exit ' .. result.exitCode, result.durationMs / 1000, result.denied and '; ' .. result.denied or ''))
    end, function(error)
      over(error.message)
    end)
  end)
end

function M.output(params)
  local buf = buffers[params.processId]
  if buf then
    append(buf, params.delta)
  end
end

return M
