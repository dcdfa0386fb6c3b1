--- The colors of a conversation. No parser has the buffer, which would read all of it again for each word that comes: what is on the
--- screen, and a little around it, is read by itself, block by block and once, and what comes from its paragraph on.
local M = {}

local namespace = vim.api.nvim_create_namespace('countersign.paint')

--- Lines that are painted at a time; of a block that is read whole; before those that are painted, of one that is not; and around a window.
local CHUNK, WHOLE, BACK, AROUND = 100, 400, 40, 100
--- Lines of a paragraph that is still coming.
local PARAGRAPH = 40
--- Milliseconds at a time.
local SLICE = 10

---@type table<integer, countersign.Transcript> By buffer.
local views = {}
---@type table<integer, true> Buffers that are to be painted.
local due = {}

---@type table<string, vim.treesitter.Query|false>
local queries = {}

local function query_of(language)
  if queries[language] == nil then
    local good, query = pcall(vim.treesitter.query.get, language, 'highlights')
    queries[language] = good and query or false
  end
  return queries[language]
end

--- The block of code that is open at a line: the line that begins it. How far it was looked for is kept.
local function open_at(one, row)
  local known = one.fenced
  if not known or known.upto > row then
    known = { upto = 0 }
    one.fenced = known
  end
  for at = known.upto, row - 1 do
    local marks, rest = one.lines[at + 1]:match('^[%s>]*(```+)(.*)$')
    if not marks then
      marks, rest = one.lines[at + 1]:match('^[%s>]*(~~~+)(.*)$')
    end
    if marks and not known.row and not rest:find('`', 1, true) then
      known.row, known.marks = at, marks
    elseif marks and known.row and vim.startswith(marks, known.marks) and not rest:find('%S') then
      known.row, known.marks = nil, nil
    end
    known.upto = at + 1
  end
  return known.row
end

--- The text that has to be read for some lines, and by how much its rows are less than the block's.
local function piece(one, first, last)
  if #one.lines <= WHOLE then
    return table.concat(one.lines, '\n') .. '\n', 0
  end
  local from = math.max(0, first - BACK)
  local open = open_at(one, from)
  local lines = vim.list_slice(one.lines, from + 1, last)
  if open then
    table.insert(lines, 1, one.lines[open + 1])
    return table.concat(lines, '\n') .. '\n', from - 1
  end
  return table.concat(lines, '\n') .. '\n', from
end

local function mark(buf, row, range, first, last, options)
  local top, column, bottom, behind = range[1], range[2], range[4], range[5]
  if top < first then
    top, column = first, 0
  end
  if bottom >= last then
    bottom, behind = last, 0
  end
  if top > bottom or (top == bottom and column >= behind) then
    return
  end
  options.end_row, options.end_col, options.strict = row + bottom, behind, false
  pcall(vim.api.nvim_buf_set_extmark, buf, namespace, row + top, column, options)
end

local diff_groups = { ['+'] = 'CountersignDiffAdd', ['-'] = 'CountersignDiffDelete', ['@'] = 'CountersignDiffHunk' }

--- Paints what a diff adds and takes away, for which Neovim brings no parser.
local function paint_diff(buf, one, first, last)
  if not one.fold then
    return
  end
  for row = first, last - 1 do
    local open, line = open_at(one, row), one.lines[row + 1]
    local group = open and one.lines[open + 1]:find('^~+diff$') and diff_groups[line:sub(1, 1)]
    if group then
      group = (line:find('^%+%+%+ ') or line:find('^%-%-%- ')) and 'CountersignDiffHunk' or group
      vim.api.nvim_buf_set_extmark(buf, namespace, one.row + row, 0, { end_col = #line, hl_group = group, priority = 110, strict = false })
    end
  end
end

--- Paints lines of a block: rows from its own first line, half open.
local function paint(buf, one, first, last)
  last = math.min(last, #one.lines)
  vim.api.nvim_buf_clear_namespace(buf, namespace, one.row + first, one.row + last)
  paint_diff(buf, one, first, last)
  local text, shift = piece(one, first, last)
  local good, parser = pcall(vim.treesitter.get_string_parser, text, 'markdown')
  if not good then
    return
  end
  parser:parse(true)
  parser:for_each_tree(function(tree, of)
    local language = of:lang()
    local query = query_of(language)
    if not query then
      return
    end
    for id, node, metadata in query:iter_captures(tree:root(), text, first - shift, last - shift) do
      local name, own = query.captures[id], metadata[id] or {}
      local range = vim.treesitter.get_range(node, text, own)
      range = { range[1] + shift, range[2], range[3], range[4] + shift, range[5] }
      local conceal = own.conceal or metadata.conceal
      local whole = own.conceal_lines or metadata.conceal_lines
      local options = { priority = tonumber(own.priority or metadata.priority) or 100, conceal = conceal, conceal_lines = whole }
      if name:sub(1, 1) ~= '_' and name ~= 'spell' and name ~= 'nospell' and name ~= 'conceal' and name ~= 'none' then
        options.hl_group = ('@%s.%s'):format(name, language)
      end
      if options.hl_group or conceal or whole then
        -- Each chunk has its own, so that it can be painted again by itself.
        for chunk = math.floor(math.max(range[1], first) / CHUNK), math.floor(math.min(range[4], last - 1) / CHUNK) do
          mark(buf, one.row, range, math.max(first, chunk * CHUNK), math.min(last, (chunk + 1) * CHUNK), options)
        end
      end
    end
  end)
end

local function is_painted(one, chunk)
  return one.painted and one.painted[chunk] == true
end

--- The chunks of blocks between two rows that are not painted yet.
---@return fun(): countersign.Shown?, integer?
local function missing(view, top, bottom)
  local at, chunk = view:index(top), nil
  return function()
    while view.shown[at] and view.shown[at].row < bottom do
      local one = view.shown[at]
      chunk = chunk and chunk + 1 or math.max(0, math.floor((top - one.row) / CHUNK))
      if chunk * CHUNK >= #one.lines or one.row + chunk * CHUNK >= bottom then
        at, chunk = at + 1, nil
      elseif not is_painted(one, chunk) then
        return one, chunk
      end
    end
  end
end

local function is_folded(win, one, chunk)
  local first, last = one.row + chunk * CHUNK + 1, one.row + math.min(#one.lines, (chunk + 1) * CHUNK)
  return vim.api.nvim_win_call(win, function()
    local closed = vim.fn.foldclosed(first)
    return closed ~= -1 and vim.fn.foldclosedend(first) >= last - 1
  end)
end

local function paint_chunk(view, one, chunk)
  one.painted = one.painted or {}
  one.painted[chunk] = true
  paint(view.buf, one, chunk * CHUNK, (chunk + 1) * CHUNK)
end

--- Paints what is in the windows, then what is around it, for so long.
local function fill(view)
  local buf, from = view.buf, vim.uv.hrtime()
  due[buf] = nil
  if views[buf] ~= view or not vim.api.nvim_buf_is_loaded(buf) then
    return
  end
  for _, around in ipairs({ 0, AROUND }) do
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      local top, bottom = vim.fn.line('w0', win) - 1 - around, vim.fn.line('w$', win) + around
      for one, chunk in missing(view, math.max(0, top), bottom) do
        if not is_folded(win, one, chunk) then
          if vim.uv.hrtime() - from > SLICE * 1e6 then
            return M.soon(view)
          end
          paint_chunk(view, one, chunk)
        end
      end
    end
  end
end

---@param view countersign.Transcript
function M.soon(view)
  if not due[view.buf] then
    due[view.buf] = true
    vim.defer_fn(function()
      fill(view)
    end, 1)
  end
end

---@param view countersign.Transcript
function M.attach(view)
  views[view.buf] = view
end

---@param buf integer
function M.detach(buf)
  views[buf], due[buf] = nil, nil
end

--- Lines of a block are about to be others, from one on: what is painted there goes.
---@param view countersign.Transcript
---@param one countersign.Shown
---@param from integer
function M.forget(view, one, from)
  vim.api.nvim_buf_clear_namespace(view.buf, namespace, one.row + from, one.row + #one.lines)
  if one.fenced and one.fenced.upto > from then
    one.fenced = nil
  end
end

--- Lines of a block are others, from one on, which was painted up to there. What comes to what was painted is painted at once.
---@param view countersign.Transcript
---@param one countersign.Shown
---@param from integer
function M.changed(view, one, from)
  local first = from
  while first > 0 and first > from - PARAGRAPH and one.lines[first]:find('%S') do
    first = first - 1
  end
  local chunk = math.floor(first / CHUNK)
  local follows = is_painted(one, chunk) and #one.lines - first <= 2 * CHUNK
  for known in pairs(one.painted or {}) do
    if known >= chunk then
      one.painted[known] = nil
    end
  end
  if follows then
    paint(view.buf, one, first, #one.lines)
    for now = chunk, math.floor((#one.lines - 1) / CHUNK) do
      one.painted[now] = true
    end
  else
    M.soon(view)
  end
end

--- A block is complete: of a long one, what was read in pieces is read again.
---@param view countersign.Transcript
---@param one countersign.Shown
function M.completed(view, one)
  if one.painted and #one.lines > CHUNK then
    one.painted = {}
    M.soon(view)
  end
end

--- Everything is other.
---@param view countersign.Transcript
function M.reset(view)
  vim.api.nvim_buf_clear_namespace(view.buf, namespace, 0, -1)
  M.soon(view)
end

vim.api.nvim_set_decoration_provider(namespace, {
  on_win = function(_, _, buf, top, bottom)
    local view = views[buf]
    if view and not due[buf] and missing(view, math.max(0, top - AROUND / 2), bottom + AROUND / 2)() then
      M.soon(view)
    end
    return false
  end,
})

return M
