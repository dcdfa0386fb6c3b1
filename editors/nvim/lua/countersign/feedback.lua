--- Telling whoever makes Countersign what went well or wrong: all of it is shown before it is saved or sent.
local choice = require('countersign.ask.choice')
local client = require('countersign.client')
local threads = require('countersign.threads')
local picker = require('countersign.picker')

local M = {}

local kinds = {
  { label = 'Something is broken', id = 'bug' },
  { label = 'A bad answer or change', id = 'badResult' },
  { label = 'A good answer or change', id = 'goodResult' },
  { label = 'Something else', id = 'other' },
}

--- Shows the report, byte for byte, in a tab.
local function show(preview)
  vim.cmd('tabnew')
  local buf = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(preview.report, '\n', { plain = true, trimempty = true }))
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile, vim.bo[buf].modifiable = 'nofile', 'wipe', false, false
  vim.bo[buf].syntax = 'json'
  return buf
end

local function free_name()
  local folder = vim.uv.cwd() or vim.uv.os_homedir() or '/'
  return ('%s/countersign-feedback-%s.json'):format(folder, os.date('%Y%m%d-%H%M%S'))
end

--- The whole path of a file that the person names. A leading ~ is their home; nothing else in it is looked into, since
--- `expand` runs what stands between backticks.
---@param path string
---@return string
function M.whole(path)
  path = vim.trim(path):gsub('^~$', '~/', 1):gsub('^~/', function()
    return (vim.uv.os_homedir() or '') .. '/'
  end)
  if not vim.startswith(path, '/') and not path:match('^%a:') then
    path = (vim.uv.cwd() or '') .. '/' .. path
  end
  return path
end

local function save(server, asked, preview)
  picker.input({ prompt = 'Save as: ', default = free_name(), completion = 'file' }, function(path)
    if not path or vim.trim(path) == '' then
      return client.tell('nothing was saved or sent.')
    end
    local params = { classification = asked.classification, previewId = preview.previewId, savePath = M.whole(path) }
    client.request(server, 'feedback/save', params, function(result)
      client.tell('saved as ' .. result.savedPath)
    end)
  end)
end

local function decide(server, asked, preview)
  local buf = show(preview)
  local choices = { { label = 'Cancel' }, { label = 'Save as a file…', deed = 'save' } }
  if preview.endpoint then
    choices[#choices + 1] = { label = 'Send to ' .. choice.line(preview.endpoint, 100), deed = 'send' }
  end
  local prompt = 'This is the whole report. Choose an action'
  choice.pick(choices, prompt, 'countersign.feedback', function(chosen)
    if vim.api.nvim_buf_is_valid(buf) and (not chosen or chosen.deed ~= 'save') then
      pcall(vim.api.nvim_buf_delete, buf, { force = true })
    end
    if not chosen or not chosen.deed then
      client.tell('nothing was saved or sent.')
    elseif chosen.deed == 'save' then
      save(server, asked, preview)
    else
      client.request(server, 'feedback/upload', { classification = asked.classification, previewId = preview.previewId }, function()
        client.tell('sent. Thank you.')
      end)
    end
  end)
end

--- Asks what it is about, shows the report, and asks what shall become of it.
---@param words string Of the person's; empty: they are asked for.
function M.begin(words)
  local function with_logs(asked, server)
    local choices = { { label = 'Without logs' }, { label = 'With the last lines of the log and the record of this conversation', logs = true } }
    choice.pick(choices, 'What to include?', 'countersign.feedback', function(chosen)
      if chosen then
        asked.includeLogs = chosen.logs or false
        client.request(server, 'feedback/preview', asked, function(preview)
          decide(server, asked, preview)
        end)
      end
    end)
  end
  client.with(function(server)
    choice.pick(kinds, 'Feedback', 'countersign.feedback', function(kind)
      if not kind then
        return
      end
      local thread = threads.current(server.id)
      local asked = { classification = kind.id, threadId = thread and thread.id or nil }
      local function go(text)
        if text then
          asked.reason = vim.trim(text) ~= '' and text or nil
          with_logs(asked, server)
        end
      end
      if words ~= '' then
        go(words)
      else
        picker.input({ prompt = 'Comment: ' }, go)
      end
    end)
  end)
end

return M
