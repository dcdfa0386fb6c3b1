--- Sub-commands for talking with the agent, and for the server.
local client = require('countersign.client')
local picker = require('countersign.picker')

local function with_thread(done)
  require('countersign.chat').with(done)
end

---@type table<string, countersign.Command>
return {
  chat = { desc = 'Open the chat, or send it words', run = function(call)
    if call.words == '' then
      return require('countersign.chat.window').chat()
    end
    require('countersign.chat.window').chat(function(thread)
      require('countersign.composer').say(thread, call.words)
    end)
  end },
  toggle = { desc = 'Open or close the chat', run = function()
    require('countersign.chat.window').toggle()
  end },
  close = { desc = "Close the chat's windows", run = function()
    require('countersign.chat.window').close()
  end },
  new = { desc = 'New chat; with ! in a window of its own', composer = true, run = function(call)
    require('countersign.chat.window').new(call.bang and 'split' or nil)
  end },
  ask = { desc = 'Ask about the line or the range', range = true, run = function(call)
    require('countersign.actions').ask(call.range, call.words, call.bang)
  end },
  fix = { desc = 'Have the problems of the line or the range fixed', range = true, run = function(call)
    require('countersign.actions').fix(call.range, call.words)
  end },
  rewrite = { desc = 'Have the line or the range rewritten', range = true, run = function(call)
    require('countersign.actions').rewrite(call.range, call.words)
  end },
  actions = { desc = 'All that the agent offers for the line or the range', range = true, run = function(call)
    require('countersign.actions').list(call.range)
  end },
  send = { desc = 'Send what stands in the composer', run = function()
    local id = require('countersign.chat').thread_of(vim.api.nvim_get_current_buf())
    if id then
      require('countersign.composer').send(id)
    else
      client.tell('there is no composer here; :Countersign chat opens one.')
    end
  end },
  queue = { desc = 'Queue what stands in the composer; elsewhere, the queue', complete = { 'resume', 'clear', 'list' }, run = function(call)
    local buf = vim.api.nvim_get_current_buf()
    if call.words == '' and vim.bo[buf].filetype == 'countersign-composer' and vim.trim(table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false))) ~= '' then
      require('countersign.composer').send(require('countersign.chat').thread_of(buf) --[[@as string]], true)
    else
      require('countersign.pick').queue(call.words)
    end
  end },
  stop = { desc = 'Stop the running turn', composer = true, run = function()
    with_thread(function(thread)
      if require('countersign.recover').stop(thread) then
        return client.tell('retry canceled.')
      end
      client.request(thread.client, 'turn/interrupt', { threadId = thread.id }, function(result)
        if not result.interrupted then
          client.tell('no turn is running.')
        end
      end)
    end)
  end },
  retry = { desc = 'Try again: after a turn that failed, or now instead of later', composer = true, complete = { 'wait', 'model' }, run = function(call)
    with_thread(function(thread)
      require('countersign.recover').retry(thread, call.words)
    end)
  end },
  recover = { desc = 'Choose how to recover from a failed turn', composer = true, run = function()
    with_thread(function(thread)
      require('countersign.recover').pick(thread)
    end)
  end },
  answer = { desc = 'Open the pending question', run = function()
    require('countersign.ask').open()
  end },
  add = { desc = 'Point at a file in the next message', composer = true, complete = 'file', range = true, run = function(call)
    local path = call.words ~= '' and call.words or require('countersign.explorer').path()
    if not path then
      return client.tell('there is no file here. Name one: :Countersign add FILE')
    end
    local lines = call.range and call.words == '' and { start = call.range[1] - 1, ['end'] = call.range[2] } or nil
    require('countersign.composer').mention(path, lines)
  end },
  image = { desc = 'Send a picture along', composer = true, complete = 'file', run = function(call)
    if call.words ~= '' then
      return require('countersign.composer').attach(call.words)
    end
    picker.input({ prompt = 'Picture: ', completion = 'file' }, function(path)
      if path and path ~= '' then
        require('countersign.composer').attach(path)
      end
    end)
  end },
  shell = { desc = 'Run a command in your shell, beside the agent', run = function(call)
    if call.words == '' then
      return client.tell('say which command: :Countersign shell make test')
    end
    with_thread(function(thread)
      require('countersign.chat.window').show(thread.id)
      client.request(thread.client, 'thread/shellCommand', { threadId = thread.id, command = call.words })
    end)
  end },
  ['send-output'] = { desc = 'Send the output of your last command to the agent', composer = true, run = function()
    with_thread(function(thread)
      for i = #thread.items, 1, -1 do
        local item = thread.items[i]
        if item.type == 'commandExecution' and item.source == 'user' then
          local input = { { type = 'commandOutput', itemId = item.id } }
          return client.request(thread.client, 'turn/start', { threadId = thread.id, input = input })
        end
      end
      client.tell('you have run no command in this conversation. !command in the composer does.')
    end)
  end },
  exec = { desc = 'Run a command in the sandbox, beside all conversations', run = function(call)
    if call.words == '' then
      return client.tell('say which command: :Countersign exec make test')
    end
    require('countersign.exec').run(call.words)
  end },
  terminals = { desc = 'Show commands of the agent that still run; ! ends one', run = function(call)
    require('countersign.terminals').pick(call.bang and 'kill' or 'open')
  end },
  overrule = { desc = 'Allow once what the automatic reviewer denied', complete = function()
    return require('countersign.notices').denied()
  end, run = function(call)
    require('countersign.notices').overrule(call.words)
  end },
  servers = { desc = 'Show the MCP servers and their status', run = function()
    client.with(function(server)
      client.request(server, 'mcp/list', {}, function(result)
        local lines = {}
        for _, one in ipairs(result.data) do
          lines[#lines + 1] = ('%s: %s, %d tools%s'):format(one.name, one.status, #one.tools, one.error and ' (' .. one.error .. ')' or '')
        end
        client.tell(#lines > 0 and table.concat(lines, '\n') or 'no MCP server is configured.')
      end)
    end)
  end },
  restart = { desc = 'Restart the server', run = function()
    require('countersign.server').restart()
  end },
  log = { desc = "Open the server's log", run = function()
    local home = vim.env.COUNTERSIGN_HOME or (vim.uv.os_homedir() .. '/.countersign')
    local path = home .. '/log/countersign.log'
    if vim.fn.filereadable(path) == 0 then
      return client.tell(('there is no log at %s yet.'):format(path))
    end
    vim.cmd('tabedit ' .. vim.fn.fnameescape(path))
    vim.bo.readonly, vim.bo.modifiable = true, false
    vim.cmd('normal! G')
  end },
  messages = { desc = 'All messages, whole', run = function()
    local lines = {}
    for _, message in ipairs(client.told()) do
      vim.list_extend(lines, vim.split(message, '\n', { plain = true }))
    end
    vim.cmd('botright 12new')
    local buf = vim.api.nvim_get_current_buf()
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
    vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile, vim.bo[buf].modifiable = 'nofile', 'wipe', false, false
    vim.wo.wrap = true
    vim.cmd('normal! G')
  end },
  health = { desc = 'Check the setup', run = function()
    vim.cmd('checkhealth countersign')
  end },
}
