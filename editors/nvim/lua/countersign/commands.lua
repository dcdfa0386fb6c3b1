--- `:Countersign` and its sub-commands.
local M = {}

local function client()
  return require('countersign.client')
end
local function with_thread(done)
  require('countersign.chat').with(done)
end

---@class countersign.Call
---@field words string What stands behind the sub-command.
---@field range? { [1]: integer, [2]: integer }
---@field bang boolean

---@class countersign.Command
---@field desc string
---@field run fun(call: countersign.Call)
---@field complete? string[]|fun(): string[]
---@field composer? boolean Also after a slash in the composer.
---@field range? boolean

--- Which hunks are meant, and the rest of the words.
local function scope(call)
  local first, rest = call.words:match('^(%S*)%s*(.*)$')
  if first == 'hunk' or first == 'file' or first == 'all' then
    return first, rest
  end
  return 'hunk', call.words
end

local function show_diff(diff, title)
  if diff == '' then
    return client().tell('the turn has changed no file.')
  end
  vim.cmd('tabnew')
  local buf = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(diff, '\n', { plain = true, trimempty = true }))
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile, vim.bo[buf].modifiable = 'nofile', 'wipe', false, false
  vim.bo[buf].filetype = 'diff'
  pcall(vim.api.nvim_buf_set_name, buf, ('countersign://diff/%s.diff'):format(title))
end


local function review(call)
  local first, rest = call.words:match('^(%S*)%s*(.*)$')
  local function start(target)
    with_thread(function(thread)
      client().request(thread.client, 'review/start', { threadId = thread.id, target = target }, function()
        client().tell('the review has begun; what it finds are diagnostics on its lines.')
      end)
    end)
  end
  local function branch(name)
    start({ type = 'baseBranch', branch = name })
  end
  local function commit(name)
    start({ type = 'commit', sha = name })
  end
  local function custom(words)
    start({ type = 'custom', instructions = words })
  end
  local function ask(prompt, default, take)
    vim.ui.input({ prompt = prompt, default = default }, function(words)
      if words and vim.trim(words) ~= '' then
        take(vim.trim(words))
      end
    end)
  end
  local targets = {
    uncommitted = { 'Uncommitted changes', function()
      start({ type = 'uncommittedChanges' })
    end },
    branch = { 'Against a branch…', function()
      if rest ~= '' then
        branch(rest)
      else
        ask('Branch: ', 'main', branch)
      end
    end },
    commit = { 'A commit…', function()
      if rest ~= '' then
        commit(rest)
      else
        ask('Commit: ', 'HEAD', commit)
      end
    end },
    custom = { 'What you say…', function()
      if rest ~= '' then
        custom(rest)
      else
        ask('Review: ', nil, custom)
      end
    end },
  }
  if targets[first] then
    return targets[first][2]()
  elseif call.words ~= '' then
    return custom(call.words)
  end
  local list = { targets.uncommitted, targets.branch, targets.commit, targets.custom }
  vim.ui.select(list, { prompt = 'Review', kind = 'countersign.review', format_item = function(one)
    return one[1]
  end }, function(one)
    if one then
      one[2]()
    end
  end)
end

local function findings()
  local items = {}
  for _, one in ipairs(vim.diagnostic.get()) do
    if one.source == 'countersign review' then
      items[#items + 1] = one
    end
  end
  if #items == 0 then
    return client().tell('no finding of a review is open.')
  end
  vim.fn.setqflist({}, ' ', { title = 'What the review found', items = vim.diagnostic.toqflist(items) })
  vim.cmd('botright copen')
end

local function confirm(prompt, yes, deed)
  vim.ui.select({ 'No', yes }, { prompt = prompt, kind = 'countersign.confirm' }, function(chosen)
    if chosen == yes then
      deed()
    end
  end)
end

---@type table<string, countersign.Command>
M.list = {
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
  new = { desc = 'Begin a conversation; with ! in a window of its own', composer = true, run = function(call)
    require('countersign.chat.window').new(call.bang and 'split' or nil)
  end },
  ask = { desc = 'Ask about the line or the range', range = true, run = function(call)
    require('countersign.actions').ask(call.range, call.words)
  end },
  fix = { desc = 'Have the problems of the line or the range mended', range = true, run = function(call)
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
      client().tell('there is no composer here; :Countersign chat opens one.')
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
      client().request(thread.client, 'turn/interrupt', { threadId = thread.id }, function(result)
        if not result.interrupted then
          client().tell('nothing runs.')
        end
      end)
    end)
  end },
  answer = { desc = 'Open the question that waits', run = function()
    require('countersign.ask').open()
  end },
  diff = { desc = 'Show the proposed changes side by side', run = function()
    local proposal = require('countersign.review').proposal()
    if proposal then
      require('countersign.review.side').open(proposal)
    end
  end },
  inline = { desc = 'Show or hide the proposed changes in the files', run = function()
    require('countersign.review.inline').toggle()
  end },
  hunks = { desc = 'List the proposed changes (quickfix)', run = function()
    require('countersign.review').quickfix()
  end },
  next = { desc = 'Go to the next proposed change', run = function()
    require('countersign.review').move(1)
  end },
  prev = { desc = 'Go to the previous proposed change', run = function()
    require('countersign.review').move(-1)
  end },
  accept = { desc = 'Accept the change under the cursor, the file’s, or all', complete = { 'hunk', 'file', 'all' }, run = function(call)
    require('countersign.review').decide('accept', (scope(call)))
  end },
  reject = { desc = 'Reject the change under the cursor, the file’s, or all; words go to the model, ! asks for them', complete = { 'hunk', 'file', 'all' }, run = function(call)
    local which, words = scope(call)
    if call.bang then
      require('countersign.review').reject_with_words(which)
    else
      require('countersign.review').decide('reject', which, words)
    end
  end },
  reset = { desc = 'Take a decision on a change back', complete = { 'hunk', 'file', 'all' }, run = function(call)
    require('countersign.review').decide('reset', (scope(call)))
  end },
  edit = { desc = 'Edit what the change under the cursor puts in', run = function()
    local place = require('countersign.review').here()
    local proposal = place and place.proposal or require('countersign.review').proposal()
    if proposal then
      require('countersign.review.side').open(proposal, place and place.file.path, function(view)
        vim.api.nvim_set_current_win(vim.fn.win_findbuf(view.after)[1])
        if place then
          require('countersign.review.side').go_to(place)
        end
      end)
    end
  end },
  review = { desc = 'Have changes reviewed', composer = true, complete = { 'uncommitted', 'branch', 'commit', 'custom' }, run = review },
  findings = { desc = 'List what reviews found (quickfix)', run = findings },
  dismiss = { desc = 'Take all findings of reviews away', run = function()
    with_thread(function(thread)
      client().request(thread.client, 'review/dismiss', { threadId = thread.id }, function(result)
        client().tell(('%d findings dismissed.'):format(result.dismissed))
      end)
    end)
  end },
  changes = { desc = 'Show what the last turn changed', composer = true, run = function()
    with_thread(function(thread)
      client().request(thread.client, 'turn/diff', { threadId = thread.id }, function(result)
        show_diff(result.diff, result.turnId or thread.id)
      end)
    end)
  end },
  undo = { desc = 'Take the last turn’s changes to files back', composer = true, run = function()
    with_thread(function(thread)
      client().request(thread.client, 'turn/undo', { threadId = thread.id })
    end)
  end },
  rollback = { desc = 'Drop the last turns from the conversation; files stay', composer = true, run = function(call)
    with_thread(function(thread)
      local count = tonumber(call.words) or 1
      client().request(thread.client, 'thread/rollback', { threadId = thread.id, numTurns = count }, function(result)
        require('countersign.threads').adopt(result.thread, thread.client)
        client().tell(result.message)
      end)
    end)
  end },
  compact = { desc = 'Sum the conversation up to make room', composer = true, run = function()
    with_thread(function(thread)
      client().request(thread.client, 'thread/compact', { threadId = thread.id })
    end)
  end },
  threads = { desc = 'Choose a conversation', composer = true, run = function(call)
    require('countersign.pick').thread({ prompt = 'Conversations', search = call.words, everywhere = call.bang }, function(thread)
      require('countersign.pick').open(thread.id)
    end)
  end },
  search = { desc = 'Look for words in what was said', run = function(call)
    if call.words ~= '' then
      return require('countersign.pick').search(call.words)
    end
    vim.ui.input({ prompt = 'Look for: ' }, function(words)
      if words and words ~= '' then
        require('countersign.pick').search(words)
      end
    end)
  end },
  resume = { desc = 'Go on with the last conversation of this folder', run = function()
    local here = require('countersign.chat').thread_of(vim.api.nvim_get_current_buf())
    if here then
      return require('countersign.pick').open(here)
    end
    client().with(function(server)
      client().request(server, 'thread/list', { limit = 1, cwd = client().folder(), modelProviders = {} }, function(result)
        if result.data[1] then
          require('countersign.pick').open(result.data[1].id)
        else
          client().tell('there is no conversation in this folder yet. :Countersign chat begins one.')
        end
      end)
    end)
  end },
  fork = { desc = 'Go on in a copy of the conversation', composer = true, run = function()
    with_thread(function(thread)
      client().request(thread.client, 'thread/fork', { threadId = thread.id }, function(result)
        local copy = require('countersign.threads').adopt(result.thread, thread.client, result.settings)
        require('countersign.chat.window').open(copy.id)
      end)
    end)
  end },
  rename = { desc = 'Give the conversation a name', composer = true, run = function(call)
    with_thread(function(thread)
      local function name(words)
        if words and vim.trim(words) ~= '' then
          client().request(thread.client, 'thread/name/set', { threadId = thread.id, name = vim.trim(words) })
        end
      end
      if call.words ~= '' then
        name(call.words)
      else
        vim.ui.input({ prompt = 'Name: ', default = thread.name or '' }, name)
      end
    end)
  end },
  archive = { desc = 'Put the conversation away', run = function()
    with_thread(function(thread)
      client().request(thread.client, 'thread/archive', { threadId = thread.id }, function()
        client().tell('the conversation is archived; :Countersign unarchive brings it back.')
      end)
    end)
  end },
  unarchive = { desc = 'Bring an archived conversation back', run = function()
    require('countersign.pick').thread({ prompt = 'Bring back', archived = true, everywhere = true }, function(thread, server)
      client().request(server, 'thread/unarchive', { threadId = thread.id }, function()
        require('countersign.pick').open(thread.id)
      end)
    end)
  end },
  delete = { desc = 'Delete a conversation for good', run = function()
    require('countersign.pick').thread({ prompt = 'Delete for good' }, function(thread, server)
      confirm(('Delete “%s” for good? Nothing brings it back.'):format(thread.name or thread.preview), 'Delete it', function()
        client().request(server, 'thread/delete', { threadId = thread.id }, function()
          client().tell('the conversation is deleted.')
        end)
      end)
    end)
  end },
  model = { desc = 'Choose the model', composer = true, run = function(call)
    require('countersign.pick').model(call.words)
  end },
  mode = { desc = 'Choose how far the agent may go', composer = true, complete = { 'agent', 'plan', 'ask' }, run = function(call)
    require('countersign.pick').mode(call.words)
  end },
  prompts = { desc = 'Choose one of your prompts', run = function()
    require('countersign.pick').prompt()
  end },
  image = { desc = 'Send a picture along', composer = true, complete = 'file', run = function(call)
    if call.words ~= '' then
      return require('countersign.composer').attach(call.words)
    end
    vim.ui.input({ prompt = 'Picture: ', completion = 'file' }, function(path)
      if path and path ~= '' then
        require('countersign.composer').attach(path)
      end
    end)
  end },
  shell = { desc = 'Run a command in your shell, beside the agent', run = function(call)
    if call.words == '' then
      return client().tell('say which command: :Countersign shell make test')
    end
    with_thread(function(thread)
      require('countersign.chat.window').show(thread.id)
      client().request(thread.client, 'thread/shellCommand', { threadId = thread.id, command = call.words })
    end)
  end },
  tell = { desc = 'Send the output of your last command to the agent', composer = true, run = function()
    with_thread(function(thread)
      for i = #thread.items, 1, -1 do
        local item = thread.items[i]
        if item.type == 'commandExecution' and item.source == 'user' then
          local input = { { type = 'commandOutput', itemId = item.id } }
          return client().request(thread.client, 'turn/start', { threadId = thread.id, input = input })
        end
      end
      client().tell('you have run no command in this conversation. !command in the composer does.')
    end)
  end },
  exec = { desc = 'Run a command in the sandbox, beside all conversations', run = function(call)
    if call.words == '' then
      return client().tell('say which command: :Countersign exec make test')
    end
    require('countersign.exec').run(call.words)
  end },
  terminals = { desc = 'Look at commands of the agent that run on; ! ends one', run = function(call)
    require('countersign.terminals').pick(call.bang and 'kill' or 'open')
  end },
  overrule = { desc = 'Allow once what the automatic reviewer denied', run = function()
    require('countersign.notices').overrule()
  end },
  servers = { desc = 'The tool servers and how they are', run = function()
    client().with(function(server)
      client().request(server, 'mcp/list', {}, function(result)
        local lines = {}
        for _, one in ipairs(result.data) do
          lines[#lines + 1] = ('%s: %s, %d tools%s'):format(one.name, one.status, #one.tools, one.error and ' (' .. one.error .. ')' or '')
        end
        client().tell(#lines > 0 and table.concat(lines, '\n') or 'no tool server is configured.')
      end)
    end)
  end },
  restart = { desc = 'Start the server again', run = function()
    require('countersign.server').restart()
  end },
  log = { desc = "Open the server's log", run = function()
    local home = vim.env.COUNTERSIGN_HOME or (vim.uv.os_homedir() .. '/.countersign')
    local path = home .. '/log/countersign.log'
    if vim.fn.filereadable(path) == 0 then
      return client().tell(('there is no log at %s yet.'):format(path))
    end
    vim.cmd('tabedit ' .. vim.fn.fnameescape(path))
    vim.bo.readonly, vim.bo.modifiable = true, false
    vim.cmd('normal! G')
  end },
  health = { desc = 'Look whether all is well', run = function()
    vim.cmd('checkhealth countersign')
  end },
}

--- Runs a sub-command.
---@param name string
---@param words string
---@param range? { [1]: integer, [2]: integer }
---@param bang? boolean
function M.run(name, words, range, bang)
  local command = M.list[name]
  if not command then
    local near = vim.tbl_filter(function(one)
      return vim.startswith(one, name)
    end, M.names())
    if #near == 1 then
      command = M.list[near[1]]
    else
      return client().tell(('there is no sub-command %s. There are: %s.'):format(name, table.concat(#near > 0 and near or M.names(), ', ')), vim.log.levels.ERROR)
    end
  end
  command.run({ words = vim.trim(words or ''), range = command.range and range or nil, bang = bang or false })
end

---@return string[]
function M.names()
  local names = vim.tbl_keys(M.list)
  table.sort(names)
  return names
end

--- Takes `:Countersign …`; without a sub-command it opens the chat.
---@param given vim.api.keyset.create_user_command.command_args
function M.command(given)
  local name, words = given.args:match('^(%S*)%s*(.*)$')
  local range = given.range > 0 and { given.line1, given.line2 } or nil
  M.run(name == '' and 'chat' or name, words, range, given.bang)
end

--- Completes `:Countersign …`.
---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local words = line:gsub("^.-Countersign!?%s+", '', 1)
  local name = words:match('^(%S+)%s')
  local offered
  if not name then
    offered = M.names()
  else
    local command = M.list[name]
    local complete = command and command.complete
    if complete == 'file' then
      return vim.fn.getcompletion(lead, 'file')
    end
    offered = type(complete) == 'function' and complete() or complete or {}
  end
  return vim.tbl_filter(function(one)
    return vim.startswith(one, lead)
  end, offered)
end

--- Whether a word after a slash in the composer is one of ours.
---@param name string
---@return boolean
function M.from_composer(name)
  return M.list[name] ~= nil and M.list[name].composer == true
end

--- The sub-commands for the composer, by name.
---@return { name: string, desc: string }[]
function M.for_composer()
  local list = {}
  for _, name in ipairs(M.names()) do
    if M.list[name].composer then
      list[#list + 1] = { name = name, desc = M.list[name].desc }
    end
  end
  return list
end

return M
