--- Sub-commands about conversations and their settings.
local client = require('countersign.client')
local picker = require('countersign.picker')

local function with_thread(done)
  require('countersign.chat').with(done)
end

local function confirm(prompt, yes, deed)
  picker.select({ 'No', yes }, { prompt = prompt, kind = 'countersign.confirm' }, function(chosen)
    if chosen == yes then
      deed()
    end
  end)
end

---@type table<string, countersign.Command>
return {
  threads = { desc = 'Choose a conversation', composer = true, run = function(call)
    require('countersign.pick').thread({ prompt = 'Conversations', search = call.words, everywhere = call.bang }, function(thread)
      require('countersign.pick').open(thread.id)
    end)
  end },
  search = { desc = 'Search all conversations', run = function(call)
    if call.words ~= '' then
      return require('countersign.pick').search(call.words)
    end
    picker.input({ prompt = 'Look for: ' }, function(words)
      if words and words ~= '' then
        require('countersign.pick').search(words)
      end
    end)
  end },
  resume = { desc = 'Resume the last conversation of this folder', run = function()
    local here = require('countersign.chat').thread_of(vim.api.nvim_get_current_buf())
    if here then
      return require('countersign.pick').open(here)
    end
    client.with(function(server)
      client.request(server, 'thread/list', { limit = 1, cwd = client.folder(), modelProviders = {} }, function(result)
        if result.data[1] then
          require('countersign.pick').open(result.data[1].id)
        else
          client.tell('there is no conversation in this folder yet. :Countersign chat begins one.')
        end
      end)
    end)
  end },
  fork = { desc = 'Fork the conversation', composer = true, run = function()
    with_thread(function(thread)
      client.request(thread.client, 'thread/fork', { threadId = thread.id }, function(result)
        require('countersign.threads').adopt(result.thread, thread.client, result.settings)
        -- A copy has no tools of the editor's yet.
        require('countersign.chat').resume(result.thread.id, function(copy)
          require('countersign.chat.window').open(copy.id)
        end)
      end)
    end)
  end },
  rename = { desc = 'Give the conversation a name', composer = true, run = function(call)
    with_thread(function(thread)
      local function name(words)
        if words and vim.trim(words) ~= '' then
          client.request(thread.client, 'thread/name/set', { threadId = thread.id, name = vim.trim(words) })
        end
      end
      if call.words ~= '' then
        name(call.words)
      else
        picker.input({ prompt = 'Name: ', default = thread.name or '' }, name)
      end
    end)
  end },
  archive = { desc = 'Archive the conversation', run = function()
    with_thread(function(thread)
      client.request(thread.client, 'thread/archive', { threadId = thread.id }, function()
        client.tell('conversation archived. :Countersign unarchive undoes it.')
      end)
    end)
  end },
  unarchive = { desc = 'Unarchive a conversation', run = function()
    require('countersign.pick').thread({ prompt = 'Unarchive', archived = true, everywhere = true }, function(thread, server)
      client.request(server, 'thread/unarchive', { threadId = thread.id }, function()
        require('countersign.pick').open(thread.id)
      end)
    end)
  end },
  delete = { desc = 'Delete a conversation for good', run = function()
    require('countersign.pick').thread({ prompt = 'Delete' }, function(thread, server)
      confirm(('Delete “%s”? This cannot be undone.'):format(require('countersign.picker').line(thread.name or thread.preview)), 'Delete it', function()
        client.request(server, 'thread/delete', { threadId = thread.id }, function()
          client.tell('the conversation is deleted.')
        end)
      end)
    end)
  end },
  rollback = { desc = 'Restore checkpoint: conversation, files, or both, as before your last message', composer = true, run = function(call)
    with_thread(function(thread)
      require('countersign.rollback').begin(thread, math.max(1, math.floor(tonumber(call.words) or 1)))
    end)
  end },
  compact = { desc = 'Compact the conversation to make room', composer = true, run = function()
    with_thread(function(thread)
      client.request(thread.client, 'thread/compact', { threadId = thread.id })
    end)
  end },
  context = { desc = 'Show what fills the context window', composer = true, run = function()
    with_thread(function(thread)
      client.request(thread.client, 'thread/context', { threadId = thread.id }, function(context)
        require('countersign.usage').show(context)
      end)
    end)
  end },
  model = { desc = 'Choose the model', composer = true, run = function(call)
    require('countersign.pick').model(call.words)
  end },
  mode = { desc = 'Choose the mode', composer = true, complete = { 'agent', 'plan', 'ask' }, run = function(call)
    require('countersign.pick').mode(call.words)
  end },
  permissions = { desc = 'Choose what may be done without a question', composer = true, run = function(call)
    require('countersign.pick').permissions(call.words)
  end },
  memory = { desc = 'Whether this conversation may be remembered', complete = { 'on', 'off' }, run = function(call)
    local modes = { on = 'enabled', off = 'disabled' }
    if not modes[call.words] then
      return client.tell('say on or off: :Countersign memory off')
    end
    with_thread(function(thread)
      client.request(thread.client, 'thread/memoryMode/set', { threadId = thread.id, mode = modes[call.words] }, function()
        client.tell(call.words == 'on' and 'the conversation may be remembered.' or 'the conversation is not remembered.')
      end)
    end)
  end },
  prompts = { desc = 'Choose one of your prompts', run = function()
    require('countersign.pick').prompt()
  end },
}
