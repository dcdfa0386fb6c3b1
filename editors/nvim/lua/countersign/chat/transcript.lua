--- The text of one conversation in its buffer. Only what is new is written, so that nothing flickers; a window follows if its
--- cursor stands on the last line, and is not moved otherwise.
local words = require('countersign.chat.words')

local M = {}

local namespace = vim.api.nvim_create_namespace('countersign.chat')

---@class countersign.Shown
---@field id string
---@field row integer First line in the buffer, from 0.
---@field lines string[]
---@field turn? string
---@field folded? boolean
---@field fold? integer[]
---@field status? table[]
---@field mark? integer
---@field line_marks? integer[]

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
  return setmetatable({ buf = buf, shown = {}, by_id = {}, fold = fold, rows = 0 }, Transcript)
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
function Transcript:replace(row, old, new)
  local head = 0
  while head < #old and head < #new and old[head + 1] == new[head + 1] do
    head = head + 1
  end
  if head == #old and head == #new then
    return
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
      return
    end
    vim.api.nvim_buf_set_lines(self.buf, row + head, row + #old - tail, false, rest)
    return
  end
  vim.api.nvim_buf_set_lines(self.buf, row + head, row + #old - tail, false, vim.list_slice(new, head + 1, #new - tail))
end

--- Folds a block in the windows that show it, unless the cursor is in it.
function Transcript:close(one)
  if not self.fold or not one.fold then
    return
  end
  local first, last = one.row + one.fold[1], one.row + one.fold[2]
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    vim.api.nvim_win_call(win, function()
      if vim.wo.foldmethod ~= 'manual' or vim.fn.foldlevel(first) > 0 then
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
  local lines = vim.list_extend(vim.list_slice(block.lines), { '' })
  self:change(function()
    local at = self.by_id[id]
    local one = self.shown[at]
    if not one then
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
    else
      self:replace(one.row, one.lines, lines)
    end
    local grown = #lines - #one.lines
    one.lines = lines
    self.rows = self.rows + grown
    if grown ~= 0 then
      for i = at + 1, #self.shown do
        self.shown[i].row = self.shown[i].row + grown
      end
    end
    one.fold, one.status = block.fold, block.status
    self:decorate(one, block)
    if complete and block.fold and not one.folded then
      one.folded = true
      self:close(one)
    end
  end)
end

--- Shows other blocks in the place of all that is shown. Lines that are the same are not touched, so whoever reads them stays
--- there, and what they have folded or opened stays so.
---@param blocks { id: string, block: countersign.Block, turn?: string, complete?: boolean }[]
function Transcript:rebuild(blocks)
  local before, after, folded = {}, {}, {}
  for _, one in ipairs(self.shown) do
    vim.list_extend(before, one.lines)
    folded[one.id] = one.folded and one.lines
  end
  local shown = {}
  for i, given in ipairs(blocks) do
    local lines = vim.list_extend(vim.list_slice(given.block.lines), { '' })
    shown[i] = { id = given.id, row = #after, lines = lines, turn = given.turn, fold = given.block.fold, status = given.block.status }
    vim.list_extend(after, lines)
  end
  self:change(function()
    vim.api.nvim_buf_clear_namespace(self.buf, namespace, 0, -1)
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
    for i, one in ipairs(shown) do
      local given = blocks[i]
      self.by_id[one.id] = i
      self:decorate(one, given.block)
      if given.complete and one.fold then
        one.folded = true
        if not vim.deep_equal(folded[one.id], one.lines) then
          self:close(one)
        end
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
end

--- The block at a line.
---@param row integer From 0.
---@return string? id
---@return countersign.Shown?
function Transcript:at(row)
  local found
  for _, one in ipairs(self.shown) do
    if one.row > row then
      break
    end
    found = one
  end
  return found and found.id, found
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
