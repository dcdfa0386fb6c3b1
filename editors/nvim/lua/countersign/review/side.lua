--- A proposal side by side, in a tab of its own: the file as it is beside the file as it would be. The after side can be
--- edited and written, which changes the hunks; deciding is done from either side.
local client = require('countersign.client')
local edit = require('countersign.review.edit')
local keys = require('countersign.keys')
local proposals = require('countersign.proposals')

local M = {}

---@class countersign.Side
---@field proposal string
---@field path string
---@field tab integer
---@field before integer Buffer.
---@field after integer Buffer.
---@field result string What the after side was set to.
---@field hunks table[]

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

--- Only the colours of a kind of file: nothing that would start a language server for one that is none.
local function colour(buf, path)
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
  colour(buf, path)
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

local function bar(view)
  local open, decided = 0, 0
  for _, hunk in ipairs(view.hunks) do
    if hunk.status == 'pending' or hunk.status == 'conflicting' then
      open = open + 1
    else
      decided = decided + 1
    end
  end
  return (' proposed · %d waiting%s%%= %%<:w edits '):format(open, decided > 0 and (', %d decided'):format(decided) or '')
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
        view.hunks = file.hunks
        local result = file.result or ''
        if result ~= view.result or not view.filled then
          view.result, view.filled = result, true
          set(view.after, result)
        end
        for _, win in ipairs(vim.fn.win_findbuf(view.after)) do
          vim.wo[win].winbar = bar(view)
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
---@param done? fun(view: countersign.Side)
local function put(proposal, fresh, done)
  vim.cmd('tabnew')
  local view = { proposal = proposal.id, path = fresh.path, tab = vim.api.nvim_get_current_tabpage(), hunks = fresh.hunks, result = fresh.result or '', filled = true }
  local empty = vim.api.nvim_get_current_buf()
  local name = ('countersign://after/%s/%s'):format(proposal.id:sub(-6), vim.fn.fnamemodify(fresh.path, ':.'))
  view.after = scratch(name, fresh.path, 'acwrite')
  if fresh.current then
    vim.cmd.edit(vim.fn.fnameescape(fresh.path))
    view.before = vim.api.nvim_get_current_buf()
  else
    view.before = scratch(name:gsub('^countersign://after', 'countersign://before'), fresh.path, 'nofile')
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
  vim.wo.winbar = bar(view)
  vim.cmd('diffthis')
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
      colour(view.after, view.path)
      M.reload(view)
    end,
  })
  -- The before side is a file of the person's: it leaves the comparison with the view.
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = view.after,
    callback = function()
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
  require('countersign.review.inline').draw(view.before)
  if done then
    done(view)
  end
end

--- Shows one file of a proposal.
---@param proposal table
---@param file table
---@param done? fun(view: countersign.Side)
---@param by_itself? boolean Nobody asked for it: it waits until the keys rest.
local function open_file(proposal, file, done, by_itself)
  local function show(fresh)
    local known = find(proposal.id, file.path)
    if not known then
      return put(proposal, fresh, done)
    end
    vim.api.nvim_set_current_tabpage(known.tab)
    if done then
      done(known)
    end
  end
  local function wanted()
    return proposals.get(proposal.id) ~= nil
  end
  -- It takes the keys: not while somebody types, also if they began to while the server was asked.
  local may = by_itself and keys.are_still or keys.are_free
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
---@param by_itself? boolean Nobody asked for it.
function M.open(proposal, path, done, by_itself)
  path = path or vim.api.nvim_buf_get_name(0)
  local chosen = proposal.files[1]
  for _, file in ipairs(proposal.files) do
    chosen = file.path == path and file or chosen
  end
  open_file(proposal, chosen, done, by_itself)
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
    end
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
