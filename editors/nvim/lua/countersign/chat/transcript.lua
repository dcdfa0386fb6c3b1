--- The text of one conversation in its buffer. Only what is new is written, so that nothing flickers; a window follows if its
--- cursor stands on the last line, and is not moved otherwise.
local paint = require('countersign.chat.paint')
local words = require('countersign.chat.words')

local M = {}

local namespace = vim.api.nvim_create_namespace('countersign.chat')
--- How items stand, before their rows.
local signs = vim.api.nvim_create_namespace('countersign.chat.signs')

---@class countersign.Shown
---@field id string
---@field row integer First line in the buffer, from 0.
---@field lines string[]
---@field turn? string
---@field folded? boolean
---@field fold? integer[]
---@field status? table[]
---@field state? { [1]: string, [2]: string }
---@field failed? boolean
---@field deed? countersign.Deed
---@field close? boolean The next block stands close to it, without a blank line.
---@field complete? boolean
---@field group? integer Blocks from this one on that are one line, because all of them are done.
---@field mark? integer
---@field line_marks? integer[]
---@field of? table The text that is still coming, of which these lines were made, and how often that was done.
---@field version? integer
---@field painted? table<integer, boolean> Chunks of lines that have their colors.

---@class countersign.Transcript
---@field buf integer
---@field shown countersign.Shown[]
---@field by_id table<string, integer>
---@field fold boolean
local Transcript = {}
Transcript.__index = Transcript

---@param buf integer
---@param fold boolean Fold what is complete.
---@return countersign.Transcript
function M.new(buf, fold)
  local view = setmetatable({ buf = buf, shown = {}, by_id = {}, fold = fold, rows = 0 }, Transcript)
  paint.attach(view)
  return view
end

--- Does something to the buffer, which nobody else may change, and lets the windows follow that stand at its end.
function Transcript:change(deed)
  local buf = self.buf
  local last = vim.api.nvim_buf_line_count(buf)
  local following = {}
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    if vim.api.nvim_win_get_cursor(win)[1] == last then
      following[#following + 1] = win
    end
  end
  vim.bo[buf].modifiable = true
  local good, why = pcall(deed)
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
  if not good then
    error(why, 0)
  end
  local now = vim.api.nvim_buf_line_count(buf)
  for _, win in ipairs(following) do
    if vim.api.nvim_win_get_cursor(win)[1] ~= now then
      vim.api.nvim_win_set_cursor(win, { now, 0 })
    end
  end
end

--- Writes lines over others, but only where they differ.
---@param row integer
---@param old string[]
---@param new string[]
---@param before? fun(head: integer) Hears how many are the same, before anything is done.
---@return integer? head Lines at the beginning that are the same; nil where all are.
function Transcript:replace(row, old, new, before)
  local head = 0
  while head < #old and head < #new and old[head + 1] == new[head + 1] do
    head = head + 1
  end
  if head == #old and head == #new then
    return nil
  end
  local same = head
  if before then
    before(head)
  end
  local tail = 0
  while tail < #old - head and tail < #new - head and old[#old - tail] == new[#new - tail] do
    tail = tail + 1
  end
  local line, grown = old[head + 1], new[head + 1]
  if head < #old - tail and head < #new - tail and vim.startswith(grown, line) and #grown > #line then
    -- Text was added to a line: nothing of it is written again.
    local rest = vim.list_slice(new, head + 2, #new - tail)
    vim.api.nvim_buf_set_text(self.buf, row + head, #line, row + head, #line, { grown:sub(#line + 1) })
    head = head + 1
    if #rest == 0 and #old - tail - head == 0 then
      return same
    end
    vim.api.nvim_buf_set_lines(self.buf, row + head, row + #old - tail, false, rest)
    return same
  end
  vim.api.nvim_buf_set_lines(self.buf, row + head, row + #old - tail, false, vim.list_slice(new, head + 1, #new - tail))
  return same
end

--- Writes what a block has become over what is shown of it. Of a text that is still coming only the lines are looked at that may be others.
---@return integer grown Lines that there are more.
function Transcript:renew(one, block)
  local grown, from, before = block.grown, 0, #one.lines
  if grown and one.of == grown.of and one.version == grown.version - 1 then
    from = math.min(grown.from, before)
  end
  local old, new = vim.list_slice(one.lines, from + 1), vim.list_slice(block.lines, from + 1)
  new[#new + 1] = not one.close and '' or nil
  local head = self:replace(one.row + from, old, new, function(head)
    paint.forget(self, one, from + head)
  end)
  if head then
    for i = before, from + head + 1, -1 do
      one.lines[i] = nil
    end
    for i = head + 1, #new do
      one.lines[from + i] = new[i]
    end
    one.changed = from + head
  end
  one.of, one.version = grown and grown.of, grown and grown.version
  return #one.lines - before
end

--- Folds a block in the windows that show it, unless the cursor is in it.
function Transcript:close(one)
  if one.fold then
    self:fold_lines(one.row + one.fold[1], one.row + one.fold[2], 0)
  end
end

--- Folds lines in the windows that show them, unless the cursor is in them, or they are in so many folds and one more.
---@param first integer From 1, both included.
---@param last integer
---@param level integer
function Transcript:fold_lines(first, last, level)
  if not self.fold then
    return
  end
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    vim.api.nvim_win_call(win, function()
      if vim.wo.foldmethod ~= 'manual' or vim.fn.foldlevel(first) > level then
        return
      end
      local cursor = vim.api.nvim_win_get_cursor(win)[1]
      pcall(vim.cmd, ('%d,%dfold'):format(first, last))
      if cursor >= first and cursor <= last then
        pcall(vim.cmd, ('%d,%dfoldopen'):format(first, first))
      end
    end)
  end
end

--- Folds everything again, for a window that has just begun to show the buffer.
function Transcript:fold_all()
  for _, one in ipairs(self.shown) do
    if one.folded then
      self:close(one)
    end
  end
  for i in ipairs(self.shown) do
    self:close_group(i)
  end
end

--- Folds what a group of blocks has to one line.
function Transcript:close_group(at)
  local one = self.shown[at]
  if one.group then
    local last = self.shown[at + one.group - 1]
    self:fold_lines(one.row + 1, last.row + #last.lines - (last.close and 0 or 1), one.folded and 1 or 0)
  end
end

--- Makes a group of what tools did in a row, if all of it is done.
---@param at integer The last block of the row.
function Transcript:gather(at)
  local function is_tool(i)
    local one = self.shown[i]
    return one and one.deed and one.deed.kind ~= 'thought'
  end
  while self.shown[at] and self.shown[at].deed and not is_tool(at) do
    at = at - 1
  end
  local first, count = at, is_tool(at) and 1 or 0
  for i = at, 1, -1 do
    local one = self.shown[i]
    if not one.deed or not one.complete or one.turn ~= self.shown[at].turn then
      break
    elseif is_tool(i) then
      first, count = i, count + (i < at and 1 or 0)
    end
  end
  if count > 1 and self.shown[at].complete and self.shown[first].group ~= at - first + 1 then
    self.shown[first].group = at - first + 1
    self:close_group(first)
  end
end

--- Makes the groups of a turn that is over.
---@param turn string
function Transcript:gather_turn(turn)
  for i = #self.shown, 1, -1 do
    local one, behind = self.shown[i], self.shown[i + 1]
    if one.turn == turn and one.deed and not (behind and behind.deed) then
      self:gather(i)
    end
  end
end

--- The deeds of the group that a fold is of; nil where it is of one block.
---@param first integer Lines from 1, both included.
---@param last integer
---@return countersign.Deed[]?
function Transcript:deeds(first, last)
  local from, to = self:index(first - 1), self:index(last - 1)
  if from == to then
    return nil
  end
  local list = {}
  for i = from, to do
    list[#list + 1] = self.shown[i].deed
  end
  return list
end

--- Says before its row how an item stands. The whole row of what failed has the color of that.
function Transcript:sign(one, block)
  one.state, one.failed, one.deed = block.state, block.failed, block.deed
  vim.api.nvim_buf_clear_namespace(self.buf, signs, one.row, one.row + 1)
  if block.state then
    vim.api.nvim_buf_set_extmark(self.buf, signs, one.row, 0, { virt_text = { { block.state[1] .. ' ', block.state[2] } }, virt_text_pos = 'inline' })
  end
  if block.failed then
    vim.api.nvim_buf_set_extmark(self.buf, signs, one.row, 0, { end_row = one.row, end_col = #one.lines[1], hl_group = 'CountersignFailed', priority = 200 })
  end
end

function Transcript:decorate(one, block)
  local buf = self.buf
  local options = { id = one.mark, virt_text_pos = 'eol' }
  if block.status and #block.status > 0 then
    options.virt_text = block.status
    one.mark = vim.api.nvim_buf_set_extmark(buf, namespace, one.row, 0, options)
  elseif one.mark then
    vim.api.nvim_buf_del_extmark(buf, namespace, one.mark)
    one.mark = nil
  end
  for _, mark in ipairs(one.line_marks or {}) do
    vim.api.nvim_buf_del_extmark(buf, namespace, mark)
  end
  one.line_marks = {}
  self:sign(one, block)
  for _, mark in ipairs(block.marks or {}) do
    table.insert(one.line_marks, vim.api.nvim_buf_set_extmark(buf, namespace, one.row + mark.line - 1, 0, { line_hl_group = mark.group }))
  end
end

--- Shows a block, at the end or in the place of what was shown of it.
---@param id string
---@param block countersign.Block
---@param turn? string
---@param complete? boolean Its folds close.
function Transcript:put(id, block, turn, complete)
  self:change(function()
    local at, grown = self.by_id[id], 0
    local one = self.shown[at]
    if not one then
      local lines, before = vim.list_slice(block.lines), self.shown[#self.shown]
      if block.deed and before and before.deed then
        -- The blank line at the end is behind this one from now on.
        before.close, before.lines[#before.lines] = true, nil
        self.rows = self.rows - 1
      else
        lines[#lines + 1] = ''
      end
      one = { id = id, row = self.rows, lines = {}, turn = turn }
      self.shown[#self.shown + 1] = one
      self.by_id[id] = #self.shown
      at = #self.shown
      -- The one line that an empty buffer has is the first line of the first block.
      if self.rows == 0 then
        vim.api.nvim_buf_set_lines(self.buf, 0, -1, false, lines)
      else
        vim.api.nvim_buf_set_lines(self.buf, one.row, one.row, false, lines)
      end
      grown = #lines
      if block.deed and before and before.deed then
        lines[#lines + 1], grown = '', #lines + 1
      end
      one.lines = lines
      one.of, one.version = block.grown and block.grown.of, block.grown and block.grown.version
    else
      grown = self:renew(one, block)
    end
    self.rows = self.rows + grown
    if grown ~= 0 then
      for i = at + 1, #self.shown do
        self.shown[i].row = self.shown[i].row + grown
      end
    end
    one.fold, one.status = block.fold, block.status
    if one.changed then
      paint.changed(self, one, one.changed)
      one.changed = nil
    end
    if complete and not one.complete then
      one.complete = true
      paint.completed(self, one)
    end
    self:decorate(one, block)
    if complete and block.fold and not one.folded then
      one.folded = true
      self:close(one)
    end
    if at == #self.shown and at > 1 and not one.deed and self.shown[at - 1].deed then
      self:gather(at - 1)
    end
  end)
end

--- Shows other blocks in the place of all that is shown. Lines that are the same are not touched, so whoever reads them stays
--- there, and what they have folded or opened stays so.
---@param blocks { id: string, block: countersign.Block, turn?: string, complete?: boolean }[]
---@param runs? boolean The last turn is not over.
function Transcript:rebuild(blocks, runs)
  self.runs = runs
  local before, after, folded, grouped = {}, {}, {}, {}
  for _, one in ipairs(self.shown) do
    vim.list_extend(before, one.lines)
    folded[one.id], grouped[one.id] = one.folded and one.lines, one.group
  end
  local shown = {}
  for i, given in ipairs(blocks) do
    local lines, behind = vim.list_slice(given.block.lines), blocks[i + 1]
    local close = given.block.deed and behind and behind.block.deed and true or nil
    lines[#lines + 1] = not close and '' or nil
    shown[i] = { id = given.id, row = #after, lines = lines, turn = given.turn, fold = given.block.fold, status = given.block.status, close = close }
    vim.list_extend(after, lines)
  end
  self:change(function()
    vim.api.nvim_buf_clear_namespace(self.buf, namespace, 0, -1)
    vim.api.nvim_buf_clear_namespace(self.buf, signs, 0, -1)
    self.tail_mark = nil
    if #before == 0 or #after == 0 then
      vim.api.nvim_buf_set_lines(self.buf, 0, -1, false, #after > 0 and after or { '' })
    else
      local regions = vim.diff(table.concat(before, '\n') .. '\n', table.concat(after, '\n') .. '\n', { result_type = 'indices' }) --[[@as integer[][] ]]
      for i = #regions, 1, -1 do
        local old, count, new, more = unpack(regions[i])
        local first = count == 0 and old or old - 1
        vim.api.nvim_buf_set_lines(self.buf, first, first + count, false, vim.list_slice(after, new, new + more - 1))
      end
    end
    self.shown, self.by_id, self.rows = shown, {}, #after
    paint.reset(self)
    for i, one in ipairs(shown) do
      local given = blocks[i]
      self.by_id[one.id] = i
      self:decorate(one, given.block)
      one.complete = given.complete
      if given.complete and one.fold then
        one.folded = true
        if not vim.deep_equal(folded[one.id], one.lines) then
          self:close(one)
        end
      end
      -- What was a group is one: whether it is open stays as it was.
      one.group = grouped[one.id]
    end
    for i, one in ipairs(shown) do
      local behind = shown[i + 1]
      if one.deed and not (behind and behind.deed) and (behind or not self.runs) then
        self:gather(i)
      end
    end
  end)
end

--- What stands below the last line: what goes on, what waits. Virtual, so that it moves nothing.
---@param lines { [1]: string, [2]: string }[][]
function Transcript:tail(lines)
  local last = vim.api.nvim_buf_line_count(self.buf) - 1
  if #lines == 0 then
    if self.tail_mark then
      vim.api.nvim_buf_del_extmark(self.buf, namespace, self.tail_mark)
      self.tail_mark = nil
    end
    return
  end
  self.tail_mark = vim.api.nvim_buf_set_extmark(self.buf, namespace, last, 0, { id = self.tail_mark, virt_lines = lines })
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    if vim.api.nvim_win_get_cursor(win)[1] == last + 1 then
      self:show_end(win)
    end
  end
end

--- Scrolls a window that follows so far that what stands below the last line is in it, which Neovim does not do by itself.
---@param win integer
function Transcript:show_end(win)
  vim.api.nvim_win_call(win, function()
    local last, height = vim.fn.line('$'), vim.fn.winheight(0)
    -- What is further up than a window cannot be in it, but for what is folded.
    local top = math.max(1, vim.fn.line('w0'))
    if last - top > 20 * height then
      return
    end
    local from = top
    while top < last and vim.api.nvim_win_text_height(0, { start_row = top - 1, start_vcol = 0 }).all > height do
      top = math.max(top, vim.fn.foldclosedend(top)) + 1
    end
    if top ~= from then
      vim.fn.winrestview({ topline = math.min(top, last), topfill = 0, skipcol = 0 })
    end
  end)
end

--- The block at a line.
---@param row integer From 0.
---@return string? id
---@return countersign.Shown?
function Transcript:at(row)
  local found = self.shown[self:index(row)]
  return found and found.id, found
end

--- Which block is at a line; the first where none is.
---@param row integer From 0.
---@return integer
function Transcript:index(row)
  local low, high = 1, #self.shown
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if self.shown[middle].row <= row then
      low = middle
    else
      high = middle - 1
    end
  end
  return low
end

--- The first lines of the person's messages, for going from turn to turn.
---@return integer[] rows From 0.
function Transcript:turns()
  local rows = {}
  for _, one in ipairs(self.shown) do
    if one.lines[1] == '## You' then
      rows[#rows + 1] = one.row
    end
  end
  return rows
end

M.words = words

return M
