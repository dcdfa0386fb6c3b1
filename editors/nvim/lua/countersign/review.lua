--- The person's way through what the agent proposes: from hunk to hunk, with a decision on each, a file, or all.
local client = require('countersign.client')
local events = require('countersign.events')
local inline = require('countersign.review.inline')
local keys = require('countersign.keys')
local picker = require('countersign.picker')
local proposals = require('countersign.proposals')
local seen = require('countersign.review.seen')
local visible = require('countersign.visible')

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
  -- All of it, where the window has room.
  inline.bring(vim.api.nvim_get_current_win(), place)
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
    -- In a conversation, which is no file, the only one there is can be meant.
    if not place and not several and vim.bo.buftype ~= '' and not vim.b.countersign_side then
      local open = proposals.open_hunks()
      place = #open == 1 and open[1] or nil
    end
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
    client.tell(proposals.none(where[scope], ':Countersign next goes to those that wait, accept all decides on them.', path))
    return nil
  end
  return list
end

--- Notes what is on the screen now.
function M.look()
  if #proposals.list() > 0 then
    for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      inline.look(win)
      require('countersign.review.side').look(win)
    end
  end
end

--- Changes that could not be shown in the file's own window although it was tried, by proposal and hunk.
local tried = {}

--- Brings a change before the person: where it stands in a window of this tab page that has room for it, else side by side.
local function show(proposal, file, hunk)
  local side = require('countersign.review.side')
  local key = proposal.id .. '/' .. hunk.id
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local buf = vim.api.nvim_win_get_buf(win)
    local place = proposals.find(proposal.id, hunk.id)
    if place and (tried[key] or 0) < 2 and vim.api.nvim_buf_get_name(buf) == file.path and inline.bring(win, place) then
      tried[key] = (tried[key] or 0) + 1
      return vim.api.nvim_set_current_win(win)
    end
  end
  side.open(proposal, file.path, function(view)
    side.bring(view, hunk.id)
  end, false, true)
end

local function warn(message, ...)
  client.tell(message:format(...), vim.log.levels.WARN)
end

local function ids(hunks)
  return vim.tbl_map(function(hunk)
    return hunk.id
  end, hunks)
end

--- Leaves out what has only just come, since a yes that was typed before it could be seen is not meant for it, and what was not on
--- the screen yet: the first such change is brought there, to be accepted once it was looked at. What is left names its hunks.
local function acceptable(list)
  M.look()
  local left, first, count = {}, nil, 0
  for _, target in ipairs(list) do
    local proposal = target.proposal
    local meant, in_conflict = seen.meant(proposal, target.which)
    local missing, fresh = {}, not keys.can_mean(proposal.came)
    for _, one in ipairs(meant) do
      if seen.lacks(proposal.id, one.file, one.hunk) then
        missing[#missing + 1] = one
      end
      fresh = fresh or (#missing == 0 and not keys.can_mean(seen.shown_at(proposal.id, one.hunk)))
    end
    if fresh and #missing == 0 or not keys.can_mean(proposal.came) then
      warn('not accepted, since it has only just come: %s. Look at it, then accept it.', proposals.summary(proposal))
    elseif #missing > 0 then
      first = first or { proposal, missing[1].file, missing[1].hunk }
      count = count + #missing
    elseif #meant > 0 then
      -- Of the whole, what does not fit is left out, as it is now: it is not taken if it fits in a moment.
      target.left_out = not target.which and ids(in_conflict) or {}
      if #in_conflict > 0 then
        local which = target.which and 'not accepted' or 'left out'
        warn('%s %s, since the text there has changed.', #in_conflict == 1 and 'one change is' or #in_conflict .. ' changes are', which)
      end
      target.which = { hunkIds = ids(vim.tbl_map(function(one)
        return one.hunk
      end, meant)) }
      left[#left + 1] = target
    elseif #in_conflict > 0 then
      warn('nothing is accepted, since it does not fit any more: %s. :Countersign reject leaves it out.', visible.text(in_conflict[1].conflict or 'the text has changed'))
    else
      warn('nothing is accepted, since no change waits there.')
    end
  end
  if not first then
    return left
  end
  local proposal, file, hunk = unpack(first)
  local name = visible.text(vim.fn.fnamemodify(file.path, ':.'))
  if hunk.status == 'rejected' then
    warn('not accepted, since it has not been shown yet: %s. :Countersign reset makes it wait again.', name)
    return left
  end
  local place, buf = proposals.find(proposal.id, hunk.id), vim.fn.bufnr(file.path)
  if (tried[proposal.id .. '/' .. hunk.id] or 0) > 0 and place and inline.is_covered(buf, place) then
    warn('not accepted, since another window lies over it: %s. Close that window, then accept again.', name)
    return left
  end
  local more = count == 1 and '' or count == 2 and ' One more change has not been shown.' or (' %d more changes have not been shown.'):format(count - 1)
  warn('not accepted, since it has not been shown yet: %s. Look at it now, and accept again.%s', name, more)
  show(proposal, file, hunk)
  return left
end

--- Leaves out proposals of which a view has an edit of the person's that is not in them: what is on the screen is not what they are.
local function unedited(list)
  return vim.tbl_filter(function(target)
    local edited = require('countersign.review.side').is_edited(target.proposal.id)
    if edited then
      local mine = vim.b.countersign_side and vim.b.countersign_side.proposal == target.proposal.id
      warn('nothing is decided: %s an edit of yours. :write takes it into the proposal, undo drops it.', mine and 'this side has' or 'its side by side view has')
    end
    return not edited
  end, list)
end

--- What the model is told about a change that is left out.
local LEFT_OUT = 'Left out, since the text there has changed and the change did not fit any more.'

--- Decides on some hunks of proposals.
---@param list { proposal: table, which?: table }[]
---@param decision 'accept'|'reject'|'reset'
---@param feedback? string Words to the model.
function M.decide_on(list, decision, feedback)
  list = unedited(list)
  for _, target in ipairs(decision == 'accept' and acceptable(list) or list) do
    proposals.decide(target.proposal, decision, target.which, feedback, function(proposal)
      if #(target.left_out or {}) > 0 and proposals.is_waiting(proposal) then
        proposals.decide(proposal, 'reject', { hunkIds = target.left_out }, LEFT_OUT)
      end
    end)
  end
end

--- Decides on the hunk under the cursor, the file's, or all.
---@param decision 'accept'|'reject'|'reset'
---@param scope 'hunk'|'file'|'all'
---@param feedback? string Words to the model.
function M.decide(decision, scope, feedback)
  M.decide_on(targets(scope) or {}, decision, feedback)
end

--- Rejects and asks for words to the model.
---@param scope 'hunk'|'file'|'all'
function M.reject_with_words(scope)
  local list = unedited(targets(scope) or {})
  if #list == 0 then
    return
  end
  picker.input({ prompt = 'What should the agent change? ' }, function(words)
    if words == nil then
      return
    end
    M.decide_on(list, 'reject', words)
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
      text = ('+%d −%d  %s%s'):format(plus, minus, hunk.conflict and ('in conflict (%s): '):format(visible.text(hunk.conflict)) or '', proposals.headline(hunk)),
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
    prompt = 'Several changes are pending. Which one?',
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

--- Opens the two sides at the hunk under the cursor, else at the next one of the file, else at the first.
function M.sides()
  local path, to_file = subject(vim.api.nvim_get_current_buf())
  local line = to_file(vim.api.nvim_win_get_cursor(0)[1] - 1)
  M.choose(function(proposal, place)
    for _, one in ipairs(path and not place and proposals.in_file(path) or {}) do
      if one.proposal.id == proposal.id and one.range.start >= line then
        place = place or one
      end
    end
    local side = require('countersign.review.side')
    side.open(proposal, place and place.file.path or path, function(view)
      side.go(view, place)
    end)
  end)
end

events.on('proposal', function(data)
  for key in pairs(proposals.is_waiting(data.proposal) and {} or tried) do
    tried[key] = not vim.startswith(key, data.proposal.id .. '/') and tried[key] or nil
  end
  inline.refresh(data.proposal)
  require('countersign.review.side').refresh(data.proposal, data.moved)
  vim.schedule(M.look)
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

-- Whatever is drawn, it is looked at what of it is on the screen now.
local looks = false
vim.api.nvim_set_decoration_provider(vim.api.nvim_create_namespace('countersign.review'), {
  on_end = function()
    if not looks and #proposals.list() > 0 then
      looks = true
      vim.defer_fn(function()
        looks = false
        M.look()
      end, 50)
    end
  end,
})

return M
