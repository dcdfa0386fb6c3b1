--- A proposal side by side, in a tab of its own: the file as it is beside the file as it would be. The after side can be
--- edited and written, which changes the hunks; deciding is done from either side.
local client = require('countersign.client')
local beside = require('countersign.review.beside')
local edit = require('countersign.review.edit')
local keys = require('countersign.keys')
local proposals = require('countersign.proposals')
local screen = require('countersign.review.screen')
local seen = require('countersign.review.seen')

local M = {}


---@class countersign.Side
---@field proposal string
---@field path string
---@field tab integer
---@field before integer Buffer.
---@field after integer Buffer.
---@field result string What the after side was set to.
---@field hunks table[]
---@field file table As it was last read.
---@field hides? boolean Something in the lines of its changes does not show by itself.
---@field words? integer The extmark of what is said of the file, where the bar has no room for it.

---@type countersign.Side[]
local views = {}

local function find(proposal, path)
  for i, view in ipairs(views) do
    if not vim.api.nvim_tabpage_is_valid(view.tab) then
      table.remove(views, i)
      return find(proposal, path)
    end
    if view.proposal == proposal and (not path or view.path == path) then
      return view
    end
  end
end

local function by_buffer(buf)
  for _, view in ipairs(views) do
    if view.after == buf or view.before == buf then
      return view
    end
  end
end

local BOM = '\239\187\191'

--- Whether each line of a text ends as on Windows. Where only some do they are shown, as in the file itself.
local function is_dos(text)
  local _, all = text:gsub('\n', '')
  local _, dos = text:gsub('\r\n', '')
  return all > 0 and all == dos
end

local function set(buf, text)
  local was = vim.bo[buf].modifiable
  vim.bo[buf].modifiable = true
  vim.bo[buf].fileformat, vim.bo[buf].bomb = is_dos(text) and 'dos' or 'unix', vim.startswith(text, BOM)
  text = text:sub(vim.bo[buf].bomb and #BOM + 1 or 1)
  text = vim.bo[buf].fileformat == 'dos' and text:gsub('\r\n', '\n') or text
  local lines = vim.split(text, '\n', { plain = true })
  if #lines > 1 and lines[#lines] == '' then
    lines[#lines] = nil
    vim.bo[buf].endofline = true
  end
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = was
  vim.bo[buf].modified = false
end

local function text_of(buf, like)
  local eol = vim.bo[buf].fileformat == 'dos' and '\r\n' or '\n'
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), eol)
  if text == '' and like == '' then
    return ''
  end
  text = (vim.bo[buf].bomb and BOM or '') .. text
  -- A text that had no end of its last line, gets none.
  return (like == '' or vim.endswith(like, '\n')) and text .. eol or text
end

--- Only the colors of a kind of file: nothing that would start a language server for one that is none.
local function color(buf, path)
  local filetype = vim.filetype.match({ filename = path })
  if filetype then
    vim.bo[buf].syntax = filetype
    pcall(vim.treesitter.start, buf, vim.treesitter.language.get_lang(filetype) or filetype)
  end
end

local function scratch(name, path, kind)
  local buf = vim.api.nvim_create_buf(false, true)
  pcall(vim.api.nvim_buf_set_name, buf, name)
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = kind, 'wipe', false
  color(buf, path)
  return buf
end

--- Takes what the person wrote on the after side as edits of the hunks.
local function write(view)
  local proposal = proposals.get(view.proposal)
  if not proposal then
    return client.tell('your edit was not taken: ' .. proposals.gone(view.proposal), vim.log.levels.WARN)
  end
  local after = text_of(view.after, view.result)
  local edited, problem = edit.texts(view.result, after, edit.place(view.hunks))
  if not edited then
    return client.tell('not taken: ' .. problem, vim.log.levels.ERROR)
  end
  local left = #edited
  if left == 0 then
    vim.bo[view.after].modified = false
    return
  end
  for _, one in ipairs(edited) do
    local params = { proposalId = view.proposal, hunkId = one.id, newText = one.newText }
    client.request(proposal.client, 'proposal/edit', params, function()
      left = left - 1
      if left == 0 and vim.api.nvim_buf_is_valid(view.after) then
        vim.bo[view.after].modified = false
        client.tell('your edit is in the proposal; it still has to be accepted.')
        M.reload(view)
      end
    end)
  end
end

--- Notes what of a view is on the screen in a window.
---@param win integer
function M.look(win)
  local buf = vim.api.nvim_win_get_buf(win)
  local view = by_buffer(buf)
  if not view or not vim.api.nvim_buf_is_valid(view.after) or vim.bo[view.after].modified or not view.filled then
    return
  end
  local words = proposals.beyond_text(view.file) or ''
  local said = buf == view.after and beside.says(win, view)
  local lone = #screen.windows(view.before) == 0
  for _, one in ipairs(edit.place(view.hunks)) do
    local place = proposals.find(view.proposal, one.hunk.id)
    if place and place.hunk.status == 'pending' and place.hunk.newText == one.hunk.newText then
      local range = one.hunk.range
      if buf == view.after then
        for _, line in ipairs(screen.lines(win, one.first, one.last)) do
          seen.note(view.proposal, place.hunk, 'new', line.row - one.first + 1, line.from, line.to, line.width)
        end
        if said then
          seen.note_words(view.proposal, place.hunk, words)
        end
      end
      if buf == view.before then
        for _, line in ipairs(screen.lines(win, range.start, range['end'])) do
          seen.note(view.proposal, place.hunk, 'old', line.row - range.start + 1)
        end
      elseif lone then
        -- What was closed by the person is not asked for.
        for line = 1, range['end'] - range.start do
          seen.note(view.proposal, place.hunk, 'old', line)
        end
      end
    end
  end
end

local function look_soon()
  vim.schedule(function()
    require('countersign.review').look()
  end)
end

--- Scrolls the sides so that a change is on the screen, or what was not yet of it.
---@param view countersign.Side
---@param hunk string
function M.bring(view, hunk)
  local place = proposals.find(view.proposal, hunk)
  for _, one in ipairs(place and edit.place(view.hunks) or {}) do
    if one.hunk.id == hunk then
      local what, line, column = seen.lacks(view.proposal, place.file, place.hunk)
      local buf = what == 'old' and view.before or view.after
      local win = screen.windows(buf)[1]
      local row = what == 'words' and 0 or (what == 'old' and one.hunk.range.start or one.first) + (line or 1) - 1
      if what == 'words' then
        beside.say_below(view)
      end
      if win then
        vim.api.nvim_set_current_win(win)
        row = math.min(row, vim.api.nvim_buf_line_count(buf) - 1)
        local hidden = screen.covered_at_top(win)
        local columns, height = screen.width(win), screen.height(win) - hidden
        local begins = (line or 1) == 1 and (column or 0) == 0
        -- With a little of what is around it, where all of it has room then.
        local above = hidden + (begins and math.max(0, math.min(3, height - (one.last - one.first) - 1)) or 0)
        local skip = math.max(0, math.floor((column or 0) / columns) - 1) * columns
        vim.cmd(('silent! %d,%dfoldopen!'):format(row + 1, row + 1))
        local at = math.max(0, vim.fn.virtcol2col(win, row + 1, (column or 0) + 1) - 1)
        vim.fn.winrestview({ topline = math.max(1, row + 1 - above), lnum = row + 1, col = at, leftcol = 0, topfill = 0, skipcol = vim.wo.wrap and skip or 0 })
      end
    end
  end
end

--- Whether the person has written something in any view of a proposal that is not in it yet.
---@param proposal string
---@return boolean
function M.is_edited(proposal)
  return vim.iter(views):any(function(view)
    return view.proposal == proposal and vim.api.nvim_buf_is_valid(view.after) and vim.bo[view.after].modified
  end)
end

--- Reads the proposal anew and shows it, unless the person has an edit that is not written.
---@param view countersign.Side
function M.reload(view)
  local proposal = proposals.get(view.proposal)
  if not proposal or not vim.api.nvim_buf_is_valid(view.after) then
    return
  end
  client.request(proposal.client, 'proposal/read', { proposalId = view.proposal }, function(read)
    if not vim.api.nvim_buf_is_valid(view.after) or vim.bo[view.after].modified then
      return
    end
    for _, file in ipairs(read.proposal.files) do
      if file.path == view.path then
        view.hunks, view.file = file.hunks, file
        local result = file.result or ''
        if result ~= view.result or not view.filled then
          view.result, view.filled = result, true
          set(view.after, result)
        end
        beside.annotate(view)
        beside.wrap(view)
        look_soon()
        for _, win in ipairs(vim.fn.win_findbuf(view.after)) do
          vim.api.nvim_win_call(win, function()
            vim.cmd('silent! diffupdate')
          end)
        end
      end
    end
  end, function() end)
end

--- Puts the two sides of a file on the screen, in a tab of their own.
---@param proposal table
---@param fresh table The file, as it was just read.
---@param how { done?: fun(view: countersign.Side), by_itself?: boolean, looks?: boolean }
local function put(proposal, fresh, how)
  vim.cmd('tabnew')
  local view = { proposal = proposal.id, path = fresh.path, tab = vim.api.nvim_get_current_tabpage(), hunks = fresh.hunks, result = fresh.result or '', filled = true, file = fresh }
  local empty = vim.api.nvim_get_current_buf()
  local name = ('countersign://after/%s/%s'):format(proposal.id:sub(-6), vim.fn.fnamemodify(fresh.path, ':.'))
  view.after = scratch(name, fresh.path, 'acwrite')
  if fresh.current and not (how.looks and vim.fn.bufloaded(fresh.path) == 0) then
    vim.cmd.edit(vim.fn.fnameescape(fresh.path))
    view.before = vim.api.nvim_get_current_buf()
  else
    view.before = scratch(name:gsub('^countersign://after', 'countersign://before'), fresh.path, 'nofile')
    set(view.before, fresh.current or '')
    vim.bo[view.before].modifiable = false
    vim.api.nvim_win_set_buf(0, view.before)
  end
  if empty ~= view.before and vim.api.nvim_buf_is_valid(empty) and vim.api.nvim_buf_get_name(empty) == '' and not vim.bo[empty].modified then
    pcall(vim.api.nvim_buf_delete, empty, {})
  end
  vim.wo.winbar = ' now'
  vim.cmd('diffthis')
  vim.cmd('rightbelow vertical sbuffer ' .. view.after)
  set(view.after, view.result)
  vim.b[view.after].countersign_side = { proposal = proposal.id, path = fresh.path }
  vim.bo[view.after].modifiable = fresh.result ~= nil
  vim.bo[view.after].bufhidden = 'wipe'
  vim.cmd('diffthis')
  beside.annotate(view)
  beside.wrap(view)
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = view.after,
    callback = function()
      write(view)
    end,
  })
  -- Read anew it is as it was: that is how what was typed and not written is taken back.
  vim.api.nvim_create_autocmd('BufReadCmd', {
    buffer = view.after,
    callback = function()
      set(view.after, view.result)
      color(view.after, view.path)
      beside.annotate(view)
      M.reload(view)
    end,
  })
  -- The before side is a file of the person's: it leaves the comparison with the view.
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = view.after,
    callback = function()
      beside.clear(view.before)
      for _, win in ipairs(vim.fn.win_findbuf(view.before)) do
        vim.api.nvim_win_call(win, function()
          vim.cmd('diffoff')
        end)
        vim.wo[win].winbar = ''
      end
      for i, one in ipairs(views) do
        if one == view then
          table.remove(views, i)
        end
      end
      vim.schedule(function()
        require('countersign.review.inline').draw(view.before)
      end)
    end,
  })
  views[#views + 1] = view
  look_soon()
  require('countersign.review.inline').draw(view.before)
  M.go(view)
  if how.done then
    how.done(view)
  end
end

--- Shows one file of a proposal.
---@param proposal table
---@param file table
---@param how { done?: fun(view: countersign.Side), by_itself?: boolean, looks?: boolean }
local function open_file(proposal, file, how)
  local function show(fresh)
    local known = find(proposal.id, file.path)
    if not known then
      return put(proposal, fresh, how)
    end
    vim.api.nvim_set_current_tabpage(known.tab)
    if how.done then
      how.done(known)
    end
  end
  local function wanted()
    return proposals.get(proposal.id) ~= nil
  end
  -- It takes the keys: not while somebody types, also if they began to while the server was asked.
  local may = how.by_itself and keys.are_still or keys.are_free
  client.request(proposal.client, 'proposal/read', { proposalId = proposal.id }, function(read)
    local fresh
    for _, one in ipairs(read.proposal.files) do
      fresh = one.path == file.path and one or fresh
    end
    if not fresh then
      return client.tell('the proposal has no such file any more.', vim.log.levels.WARN)
    end
    keys.when(may, wanted, function()
      show(fresh)
    end)
  end)
end

--- Opens a proposal: the file that is named, else the current one if it is of the proposal, else the first.
---@param proposal table
---@param path? string
---@param done? fun(view: countersign.Side)
---@param by_itself? boolean Nobody asked for it: it waits until the keys rest.
---@param looks? boolean Only to look at: a file that is in no buffer stays in none, and so is changed on the disk.
function M.open(proposal, path, done, by_itself, looks)
  path = path or vim.api.nvim_buf_get_name(0)
  local chosen = proposal.files[1]
  for _, file in ipairs(proposal.files) do
    chosen = file.path == path and file or chosen
  end
  open_file(proposal, chosen, { done = done, by_itself = by_itself, looks = looks })
end

--- Whether a buffer is the before side of a view, which has no need of marks.
---@param buf integer
---@return boolean
function M.shows(buf)
  local view = by_buffer(buf)
  return view ~= nil and vim.api.nvim_tabpage_is_valid(view.tab)
end

--- The hunk whose text stands at a line of the after side.
---@param buf integer
---@param line integer From 0.
---@return string? hunk
function M.hunk_at(buf, line)
  local view = by_buffer(buf)
  for _, one in ipairs(edit.place(view and view.hunks or {})) do
    if line >= one.first and line < one.last then
      return one.hunk.id
    end
  end
end

--- A line of the after side as a line of the file, both from 0.
---@param buf integer
---@param line integer
---@return integer
function M.file_line(buf, line)
  local view = by_buffer(buf)
  local shift = 0
  for _, one in ipairs(edit.place(view and view.hunks or {})) do
    local range = one.hunk.range
    if line < one.first then
      break
    elseif line < math.max(one.last, one.first + 1) then
      return range.start
    end
    shift = one.last - range['end']
  end
  return line - shift
end

--- Moves the cursor of the after side to a hunk.
---@param place countersign.Place
function M.go_to(place)
  local view = by_buffer(vim.api.nvim_get_current_buf())
  for _, one in ipairs(edit.place(view and view.hunks or {})) do
    if one.hunk.id == place.hunk.id then
      local line = math.min(one.first + 1, vim.api.nvim_buf_line_count(0))
      vim.api.nvim_win_set_cursor(0, { line, 0 })
      vim.cmd('normal! zvzz')
    end
  end
end

--- Goes to a hunk of a view that has been opened; to its first one where none is named.
---@param view countersign.Side
---@param place? countersign.Place
function M.go(view, place)
  local win = screen.windows(view.after)[1]
  local first = edit.place(view.hunks)[1]
  place = place and place.file.path == view.path and place or (first and { hunk = first.hunk })
  if win and place then
    vim.api.nvim_set_current_win(win)
    M.go_to(place)
  end
end

--- Follows a proposal: its views show what is, and close when it is settled.
---@param proposal table
function M.refresh(proposal)
  for _, view in ipairs(vim.list_slice(views)) do
    if view.proposal == proposal.id then
      if proposals.is_waiting(proposal) then
        M.reload(view)
      else
        M.close(view)
      end
    end
  end
end

---@param view countersign.Side
function M.close(view)
  -- What the person has typed there and not written is theirs: the view stays, since its proposal may come again.
  if vim.api.nvim_buf_is_valid(view.after) and not vim.bo[view.after].modified then
    local alone = vim.api.nvim_tabpage_is_valid(view.tab) and #vim.api.nvim_list_tabpages() > 1 and view.tab
    -- The view goes with its buffer.
    pcall(vim.api.nvim_buf_delete, view.after, { force = true })
    if alone and vim.api.nvim_tabpage_is_valid(alone) and #vim.api.nvim_tabpage_list_wins(alone) == 1 then
      pcall(vim.cmd.tabclose, vim.api.nvim_tabpage_get_number(alone))
    end
  end
end

return M
