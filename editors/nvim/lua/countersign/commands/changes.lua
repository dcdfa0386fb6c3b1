--- Sub-commands about what the agent changes: deciding, looking, reviewing, taking back.
local client = require('countersign.client')
local picker = require('countersign.picker')

local function with_thread(done)
  require('countersign.chat').with(done)
end

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
    return client.tell('the turn changed no file.')
  end
  vim.cmd('tabnew')
  local buf = vim.api.nvim_get_current_buf()
  local text = require('countersign.visible').text((diff:gsub('\r\n', '\n')))
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split(text, '\n', { plain = true, trimempty = true }))
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile, vim.bo[buf].modifiable = 'nofile', 'wipe', false, false
  vim.bo[buf].filetype = 'diff'
  pcall(vim.api.nvim_buf_set_name, buf, ('countersign://diff/%s.diff'):format(title))
end

local function review(call)
  local first, rest = call.words:match('^(%S*)%s*(.*)$')
  local function start(target)
    with_thread(function(thread)
      client.request(thread.client, 'review/start', { threadId = thread.id, target = target }, function()
        client.tell('review started. Findings are diagnostics on their lines.')
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
    picker.input({ prompt = prompt, default = default }, function(words)
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
    custom = { 'Custom instructions…', function()
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
  picker.select(list, { prompt = 'Review', kind = 'countersign.review', format_item = function(one)
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
    return client.tell('no finding of a review is open.')
  end
  vim.fn.setqflist({}, ' ', { title = 'What the review found', items = vim.diagnostic.toqflist(items) })
  vim.cmd('botright copen')
end

---@type table<string, countersign.Command>
return {
  diff = { desc = 'Show the proposed changes side by side', run = function()
    require('countersign.review').sides()
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
  reject = { desc = 'Reject the change under the cursor, the file’s, or all; a comment goes to the model, ! asks for it', complete = { 'hunk', 'file', 'all' }, run = function(call)
    local which, words = scope(call)
    if call.bang then
      require('countersign.review').reject_with_words(which)
    else
      require('countersign.review').decide('reject', which, words)
    end
  end },
  reset = { desc = 'Reset the decision on a change', complete = { 'hunk', 'file', 'all' }, run = function(call)
    require('countersign.review').decide('reset', (scope(call)))
  end },
  edit = { desc = 'Edit what the change under the cursor puts in', run = function()
    require('countersign.review').sides()
  end },
  review = { desc = 'Start a code review', composer = true, complete = { 'uncommitted', 'branch', 'commit', 'custom' }, run = review },
  findings = { desc = 'List what reviews found (quickfix)', run = findings },
  ['clear-findings'] = { desc = 'Clear all findings of reviews', run = function()
    with_thread(function(thread)
      client.request(thread.client, 'review/dismiss', { threadId = thread.id }, function(result)
        client.tell(('%d findings cleared.'):format(result.dismissed))
      end)
    end)
  end },
  changes = { desc = 'Show what the last turn changed', composer = true, run = function()
    with_thread(function(thread)
      client.request(thread.client, 'turn/diff', { threadId = thread.id }, function(result)
        show_diff(result.diff, result.turnId or thread.id)
      end)
    end)
  end },
  files = { desc = 'Keep or undo the files that a command changed', composer = true, run = function()
    with_thread(function(thread)
      local item = require('countersign.chat.changed').last(thread)
      if not item then
        return client.tell('no command has changed a file that is not kept or undone.')
      end
      require('countersign.chat.changed').pick(thread, item)
    end)
  end },
  undo = { desc = 'Undo the last turn’s changes to files', composer = true, run = function()
    with_thread(function(thread)
      client.request(thread.client, 'turn/undo', { threadId = thread.id })
    end)
  end },
}
