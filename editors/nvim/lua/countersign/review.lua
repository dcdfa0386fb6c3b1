--- The person's way through what the agent proposes: from hunk to hunk, with a decision on each, a file, or all.
local client = require('countersign.client')
local events = require('countersign.events')
local inline = require('countersign.review.inline')
local keys = require('countersign.keys')
local picker = require('countersign.picker')
local proposals = require('countersign.proposals')

local M = {}

--- What a buffer shows: a file of the person's, or one side of a proposal's view.
---@param buf integer
---@return string? path
---@return fun(line: integer): integer to_file Lines of the buffer to lines of the file, from 0.
local function subject(buf)
  local side = vim.b[buf].countersign_side
  if side then
    return side.path, function(line)
      return require('countersign.review.side').file_line(buf, line)
    end
  end
  local name = vim.api.nvim_buf_get_name(buf)
  return name ~= '' and name or nil, function(line)
    return line
  end
end

--- Where the cursor is now, for looking from there later too, when it is elsewhere.
---@return fun(only?: string): countersign.Place?, boolean? look The hunk there, of that proposal only where one is named; on a
---side of a proposal only its own are meant. The second value tells whether there is none because several cover the line.
local function spot()
  local buf = vim.api.nvim_get_current_buf()
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local side = vim.b[buf].countersign_side
  local shown = side and require('countersign.review.side').hunk_at(buf, row)
  local path, to_file = subject(buf)
  local line = to_file(row)
  return function(only)
    if shown then
      return proposals.find(side.proposal, shown)
    elseif path then
      return proposals.at(path, line, side and side.proposal or only)
    end
  end
end

--- The hunk under the cursor.
---@return countersign.Place?
---@return boolean? several Whether there is none because several cover the line.
local function here()
  return spot()()
end

--- Opens a file at a hunk, in a window that shows files.
---@param place countersign.Place
local function go_to(place)
  local side = vim.b.countersign_side
  if side and side.path == place.file.path then
    return require('countersign.review.side').go_to(place)
  end
  local path = place.file.path
  if vim.api.nvim_buf_get_name(0) ~= path then
    if place.file.kind.type == 'add' and vim.fn.filereadable(path) == 0 then
      return require('countersign.review.side').open(place.proposal, path)
    end
    local win = client.file_window()
    if win then
      vim.api.nvim_set_current_win(win)
    end
    vim.cmd.edit(vim.fn.fnameescape(path))
  end
  vim.cmd("normal! m'")
  local line = math.min(place.range.start + 1, vim.api.nvim_buf_line_count(0))
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  vim.cmd('normal! zv')
end

M.go_to = go_to

--- Moves to the next or previous hunk that waits, through all files.
---@param step 1|-1
function M.move(step)
  local open = proposals.open_hunks()
  if #open == 0 then
    return client.tell(proposals.none('for you'))
  end
  local path, to_file = subject(vim.api.nvim_get_current_buf())
  local line = to_file(vim.api.nvim_win_get_cursor(0)[1] - 1)
  local best, first, last
  for _, place in ipairs(open) do
    if place.file.path == path then
      local start = place.range.start
      first = first or place
      last = place
      if step > 0 and start > line and (not best or start < best.range.start) then
        best = place
      elseif step < 0 and start < line and (not best or start > best.range.start) then
        best = place
      end
    end
  end
  if best then
    return go_to(best)
  end
  -- The next file, or around to the first.
  local from
  for i, place in ipairs(open) do
    if place == (step > 0 and last or first) then
      from = i
    end
  end
  local to = from and from + step or (step > 0 and 1 or #open)
  go_to(open[(to - 1) % #open + 1])
end

--- The proposals of the file in view: on a side of one, only that.
---@return table[]
local function of_file()
  local path = subject(vim.api.nvim_get_current_buf())
  local side = vim.b.countersign_side
  return vim.tbl_filter(function(proposal)
    return (not side or side.proposal == proposal.id) and proposals.has_file(proposal, path)
  end, proposals.list())
end

--- What a decision is about.
---@param scope 'hunk'|'file'|'all'
---@return table[]? targets Each a proposal and which of its hunks.
local function targets(scope)
  local list = {}
  if scope == 'all' then
    for _, proposal in ipairs(proposals.list()) do
      list[#list + 1] = { proposal = proposal }
    end
  elseif scope == 'file' then
    local path = subject(vim.api.nvim_get_current_buf())
    for _, proposal in ipairs(of_file()) do
      list[#list + 1] = { proposal = proposal, which = { path = path } }
    end
  else
    local place, several = here()
    if several then
      client.tell('nothing is decided: two changes cover this line. :Countersign diff opens the sides; decide there.', vim.log.levels.WARN)
      return nil
    elseif place then
      list[1] = { proposal = place.proposal, which = { hunkIds = { place.hunk.id } } }
    end
  end
  if #list == 0 then
    local where = { hunk = 'on this line', file = 'for this file', all = 'for you' }
    local path = scope ~= 'all' and subject(vim.api.nvim_get_current_buf()) or nil
    client.tell(proposals.none(where[scope], ':Countersign hunks lists those that wait.', path))
    return nil
  end
  return list
end

--- Leaves out what has only just come: a yes that was typed before it could be seen is not meant for it.
local function seen(list)
  return vim.tbl_filter(function(target)
    local good = keys.can_mean(target.proposal.came)
    if not good then
      client.tell(('not accepted, since it has only just come: %s. Look at it, then accept it.'):format(proposals.summary(target.proposal)), vim.log.levels.WARN)
    end
    return good
  end, list)
end

--- Whether the person has written something on the after side that is not in the proposal yet: its lines are not the proposal's.
local function has_edit()
  if not vim.b.countersign_side or not vim.bo.modified then
    return false
  end
  client.tell('nothing is decided: this side has an edit of yours. :write takes it into the proposal, undo drops it.', vim.log.levels.WARN)
  return true
end

--- Decides on the hunk under the cursor, the file's, or all.
---@param decision 'accept'|'reject'|'reset'
---@param scope 'hunk'|'file'|'all'
---@param feedback? string Words to the model.
function M.decide(decision, scope, feedback)
  local list = not has_edit() and targets(scope) or {}
  for _, target in ipairs(decision == 'accept' and seen(list) or list) do
    proposals.decide(target.proposal, decision, target.which, feedback)
  end
end

--- Rejects and asks for words to the model.
---@param scope 'hunk'|'file'|'all'
function M.reject_with_words(scope)
  local list = not has_edit() and targets(scope) or nil
  if not list then
    return
  end
  picker.input({ prompt = 'What should be different? ' }, function(words)
    if words == nil then
      return
    end
    for _, target in ipairs(list) do
      proposals.decide(target.proposal, 'reject', target.which, words)
    end
  end)
end

--- The waiting hunks as a quickfix list.
function M.quickfix()
  local items = {}
  for i, place in ipairs(proposals.open_hunks()) do
    local hunk = place.hunk
    local _, plus = hunk.newText:gsub('\n', '')
    local _, minus = hunk.oldText:gsub('\n', '')
    items[#items + 1] = {
      filename = place.file.path,
      lnum = place.range.start + 1,
      end_lnum = math.max(place.range['end'], place.range.start + 1),
      nr = i,
      type = hunk.status == 'conflicting' and 'W' or 'I',
      text = ('+%d −%d  %s%s'):format(plus, minus, hunk.conflict and ('in conflict (%s): '):format(hunk.conflict) or '', proposals.headline(hunk)),
    }
  end
  if #items == 0 then
    return client.tell(proposals.none('for you'))
  end
  vim.fn.setqflist({}, ' ', { title = 'Changes that Countersign proposes', items = items })
  vim.cmd('botright copen')
end

--- Finds the proposal that is meant where none is named: that of the hunk under the cursor, else the one that changes the file in
--- view, else the only one. Where several may be meant the person is asked.
---@param done fun(proposal: table, place?: countersign.Place) With the proposal's hunk under the cursor.
function M.choose(done)
  local look = spot()
  local place = look()
  local list = place and { place.proposal } or of_file()
  list = #list > 0 and list or proposals.list()
  if #list == 0 then
    return client.tell(proposals.none('for you'))
  elseif #list == 1 then
    return done(list[1], look(list[1].id))
  end
  picker.select(list, {
    prompt = 'Several proposals wait. Which one?',
    kind = 'countersign.proposal',
    format_item = function(proposal)
      local shown = look(proposal.id)
      local hunk = shown and shown.hunk or proposal.files[1].hunks[1]
      return proposals.summary(proposal) .. (hunk and ': ' .. proposals.headline(hunk) or '')
    end,
  }, function(chosen)
    -- Meanwhile it may have been decided, or told of anew.
    local proposal = chosen and proposals.get(chosen.id)
    if proposal then
      done(proposal, look(proposal.id))
    elseif chosen then
      client.tell(proposals.gone(chosen.id), vim.log.levels.WARN)
    end
  end)
end

events.on('proposal', function(data)
  inline.refresh(data.proposal)
  require('countersign.review.side').refresh(data.proposal, data.moved)
end)

events.on('found', function(data)
  proposals.load(data.client)
end)

vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufWinEnter' }, {
  group = vim.api.nvim_create_augroup('countersign.review', {}),
  callback = function(event)
    inline.draw(event.buf)
  end,
})

return M
