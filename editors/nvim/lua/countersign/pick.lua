--- Lists to choose from: conversations, models, modes, prompts. All through `vim.ui.select`.
local chat = require('countersign.chat')
local client = require('countersign.client')
local threads = require('countersign.threads')
local picker = require('countersign.picker')

local M = {}

--- A span of minutes in a word or two.
---@param minutes integer
---@return string
function M.minutes(minutes)
  if minutes % 1440 == 0 then
    return ('%d %s'):format(minutes / 1440, minutes == 1440 and 'day' or 'days')
  elseif minutes % 60 == 0 then
    return ('%d %s'):format(minutes / 60, minutes == 60 and 'hour' or 'hours')
  end
  return ('%d minutes'):format(minutes)
end

--- How long ago something was, in a word or two.
---@param ms integer Since the epoch.
---@param now? integer Seconds since the epoch.
---@return string
function M.age(ms, now)
  local seconds = (now or os.time()) - math.floor(ms / 1000)
  for _, unit in ipairs({ { 86400 * 7, 'w' }, { 86400, 'd' }, { 3600, 'h' }, { 60, 'min' } }) do
    if seconds >= unit[1] then
      return ('%d %s'):format(math.floor(seconds / unit[1]), unit[2])
    end
  end
  return 'now'
end

local function line(thread)
  local name = (thread.name or thread.preview or ''):gsub('%s+', ' ')
  name = name ~= '' and vim.fn.strcharpart(name, 0, 60) or '(no words yet)'
  local marks = { active = '● ', waitingOnApproval = '? ', waitingOnUserInput = '? ' }
  local branch = thread.gitInfo and thread.gitInfo.branch
  return ('%s%s  %s  %s%s'):format(marks[thread.status] or '  ', name, M.age(thread.updatedAtMs), vim.fn.fnamemodify(thread.cwd, ':~'), branch and ' (' .. branch .. ')' or '')
end

--- Lets the person choose a conversation.
---@param options { prompt: string, search?: string, archived?: boolean, everywhere?: boolean }
---@param chosen fun(thread: table, server: vim.lsp.Client)
function M.thread(options, chosen)
  client.with(function(server)
    local params = { limit = 100, archived = options.archived, modelProviders = {} }
    if options.search and options.search ~= '' then
      params.searchTerm = options.search
    end
    if not options.everywhere then
      params.cwd = client.folder()
    end
    client.request(server, 'thread/list', params, function(result)
      if #result.data == 0 and not options.everywhere then
        options.everywhere = true
        return M.thread(options, chosen)
      elseif #result.data == 0 then
        return client.tell('there is no such conversation.')
      end
      picker.select(result.data, { prompt = options.prompt, kind = 'countersign.thread', format_item = line }, function(thread)
        if thread then
          chosen(thread, server)
        end
      end)
    end)
  end)
end

--- Opens a stored conversation.
---@param id string
---@param how? 'split'
function M.open(id, how)
  local window = require('countersign.chat.window')
  local live = threads.get(id)
  if live and live.live then
    return window.open(id, how)
  end
  chat.resume(id, function(thread)
    window.open(thread.id, how)
  end)
end

--- Looks for words in what was said, and opens what is chosen.
---@param words string
function M.search(words)
  client.with(function(server)
    client.request(server, 'thread/search', { searchTerm = words, limit = 50 }, function(result)
      if #result.data == 0 then
        return client.tell(('nobody said “%s” in a stored conversation.'):format(words))
      end
      picker.select(result.data, {
        prompt = 'Conversations with “' .. words .. '”',
        kind = 'countersign.thread',
        format_item = function(found)
          return ('%s: %s'):format(found.thread.name or found.thread.preview, found.snippet):gsub('%s+', ' ')
        end,
      }, function(found)
        if found then
          M.open(found.thread.id)
        end
      end)
    end)
  end)
end

--- Changes the settings of a conversation. They go with its next turn and stay in force.
local function settings(thread, change, words)
  thread.wanted = vim.tbl_extend('force', thread.wanted or {}, change)
  thread.settings = vim.tbl_extend('force', thread.settings or {}, change)
  require('countersign.events').emit('changed', { thread = thread })
  client.tell(words)
end

--- Chooses the model of the conversation.
---@param name? string
---@param done? fun() Hears that one was chosen.
function M.model(name, done)
  chat.with(function(thread)
    local function take(model)
      settings(thread, { model = model.id, modelProvider = model.provider }, ('the model is %s from the next turn on.'):format(model.displayName or model.id))
      if done then
        done()
      end
    end
    client.request(thread.client, 'model/list', {}, function(result)
      for _, model in ipairs(result.data) do
        if model.id == name then
          return take(model)
        end
      end
      if name and name ~= '' then
        return take({ id = name })
      end
      picker.select(result.data, {
        prompt = 'Model',
        kind = 'countersign.model',
        format_item = function(model)
          local now = thread.settings and thread.settings.model == model.id and '● ' or '  '
          local window = model.contextWindow and ('  %s tokens'):format(require('countersign.chat.bar').tokens(model.contextWindow)) or ''
          return ('%s%s  (%s)%s'):format(now, model.displayName, model.provider, window)
        end,
      }, function(model)
        if model then
          take(model)
        end
      end)
    end)
  end)
end

local modes = {
  { id = 'agent', text = 'agent: reads, runs commands in the sandbox, proposes changes' },
  { id = 'plan', text = 'plan: reads only and makes a plan' },
  { id = 'ask', text = 'ask: answers questions, changes nothing' },
}

--- Chooses how far the agent may go in the conversation.
---@param name? string
function M.mode(name)
  chat.with(function(thread)
    local function take(mode)
      settings(thread, { mode = mode.id }, ('the mode is %s from the next turn on.'):format(mode.id))
    end
    for _, mode in ipairs(modes) do
      if mode.id == name then
        return take(mode)
      end
    end
    picker.select(modes, {
      prompt = 'Mode',
      kind = 'countersign.mode',
      format_item = function(mode)
        return (thread.settings and thread.settings.mode == mode.id and '● ' or '  ') .. mode.text
      end,
    }, function(mode)
      if mode then
        take(mode)
      end
    end)
  end)
end

--- Chooses what commands and patches of the conversation may do without a question.
---@param name? string
function M.permissions(name)
  chat.with(function(thread)
    client.request(thread.client, 'permissions/profiles', { cwd = thread.cwd }, function(result)
      local now = thread.settings and thread.settings.permissions
      local function take(profile)
        settings(thread, { permissions = profile.id }, ('the permission profile is %s from the next turn on.'):format(profile.id))
      end
      for _, profile in ipairs(result.data) do
        if profile.id == name then
          return take(profile)
        end
      end
      picker.select(result.data, {
        prompt = 'Permission profile',
        kind = 'countersign.permissions',
        format_item = function(profile)
          return ('%s%s  %s'):format(now == profile.id and '● ' or '  ', profile.id, profile.description or '')
        end,
      }, function(profile)
        if profile then
          take(profile)
        end
      end)
    end)
  end)
end

--- Chooses one of the person's prompts and puts it into the composer.
function M.prompt()
  chat.with(function(thread)
    client.request(thread.client, 'prompt/list', { cwd = thread.cwd }, function(result)
      for _, problem in ipairs(result.problems or {}) do
        client.tell(problem.message, vim.log.levels.WARN)
      end
      if #result.data == 0 then
        return client.tell('there are no prompts yet: Markdown files in the folder prompts of your home folder for Countersign.')
      end
      picker.select(result.data, {
        prompt = 'Prompt',
        kind = 'countersign.prompt',
        format_item = function(prompt)
          return ('/%s %s  %s'):format(prompt.name, prompt.argumentHint, prompt.description or '')
        end,
      }, function(prompt)
        if prompt then
          require('countersign.chat.window').open(thread.id)
          require('countersign.composer').give_back(thread.id, '/' .. prompt.name .. ' ')
        end
      end)
    end)
  end)
end

--- What waits for its turn: each can be changed, taken out, or said first.
---@param deed? string
function M.queue(deed)
  chat.with(function(thread)
    local words = require('countersign.chat.words')
    if deed == 'clear' then
      return client.request(thread.client, 'turn/queue/remove', { threadId = thread.id })
    elseif deed == 'resume' then
      return client.request(thread.client, 'turn/queue/resume', { threadId = thread.id })
    elseif #thread.queue.inputs == 0 then
      return client.tell('no message is queued.')
    end
    picker.select(thread.queue.inputs, {
      prompt = 'Queued messages',
      kind = 'countersign.queue',
      format_item = function(queued)
        return (words.input(queued.input):gsub('%s+', ' '))
      end,
    }, function(queued)
      if not queued then
        return
      end
      local deeds = {
        { text = 'Change it', run = function()
          picker.input({ prompt = 'Message: ', default = words.input(queued.input) }, function(text)
            if text and vim.trim(text) ~= '' then
              client.request(thread.client, 'turn/queue/edit', { threadId = thread.id, queuedId = queued.id, input = { { type = 'text', text = text } } })
            end
          end)
        end },
        { text = 'Say it first', run = function()
          client.request(thread.client, 'turn/queue/reorder', { threadId = thread.id, queuedIds = { queued.id } })
        end },
        { text = 'Take it out', run = function()
          client.request(thread.client, 'turn/queue/remove', { threadId = thread.id, queuedId = queued.id })
        end },
      }
      picker.select(deeds, { prompt = 'Choose an action', kind = 'countersign.queue', format_item = function(one)
        return one.text
      end }, function(one)
        if one then
          one.run()
        end
      end)
    end)
  end)
end

return M
