--- Waiting changes in the files' own buffers: what goes is marked, what comes stands below it as virtual lines.
local config = require('countersign.config')
local proposals = require('countersign.proposals')

local M = {}

local namespace = vim.api.nvim_create_namespace('countersign.inline')
local shown = true

--- Where two lines differ: the length of what they begin with alike, and of what they end with alike, in bytes.
local function differ(a, b)
  local most = math.min(#a, #b)
  local head = 0
  while head < most and a:byte(head + 1) == b:byte(head + 1) do
    head = head + 1
  end
  local tail = 0
  while tail < most - head and a:byte(#a - tail) == b:byte(#b - tail) do
    tail = tail + 1
  end
  -- Not within a character.
  while head > 0 and (a:byte(head + 1) or 0) >= 0x80 and (a:byte(head + 1) or 0) < 0xC0 do
    head = head - 1
  end
  while tail > 0 and b:byte(#b - tail + 1) >= 0x80 and b:byte(#b - tail + 1) < 0xC0 do
    tail = tail - 1
  end
  return head, tail
end

local function lines_of(text)
  local lines = vim.split(text:gsub('\r\n', '\n'), '\n', { plain = true })
  if lines[#lines] == '' then
    lines[#lines] = nil
  end
  return lines
end

--- A line of the new text in pieces: what is new in it is set off against the old line.
local function pieces(new, old, width)
  local function padded(text)
    text = text:gsub('\t', '    ')
    return text
  end
  local chunks
  if old and old ~= new then
    local head, tail = differ(old, new)
    if head + tail > #new * 0.3 then
      chunks = {
        { padded(new:sub(1, head)), 'CountersignAdd' },
        { padded(new:sub(head + 1, #new - tail)), 'CountersignAddText' },
        { padded(new:sub(#new - tail + 1)), 'CountersignAdd' },
      }
    end
  end
  chunks = chunks or { { padded(new), 'CountersignAdd' } }
  local rest = width - vim.fn.strdisplaywidth(new)
  if rest > 0 then
    chunks[#chunks + 1] = { (' '):rep(rest), 'CountersignAdd' }
  end
  return chunks
end

local words = {
  accepted = { '✓ accepted, with the rest', 'CountersignAccepted' },
  rejected = { '✗ rejected', 'CountersignRejected' },
  applied = { '✓ applied', 'CountersignAccepted' },
}

local function draw_hunk(buf, place, number, count)
  local hunk, last = place.hunk, vim.api.nvim_buf_line_count(buf)
  local first, behind = math.min(place.range.start, last), math.min(place.range['end'], last)
  local decided = words[hunk.status]
  if decided then
    vim.api.nvim_buf_set_extmark(buf, namespace, math.min(first, last - 1), 0, { virt_text = { decided }, virt_text_pos = 'eol' })
    return
  end
  local title = ('change %d of %d'):format(number, count)
  if hunk.status == 'conflicting' then
    local row = math.min(first, last - 1)
    local text = ('⚠ %s does not fit any more: %s'):format(title, hunk.conflict or 'the text has changed')
    vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, { virt_text = { { text, 'CountersignConflict' } }, virt_text_pos = 'eol' })
    return
  end
  local old, new = lines_of(hunk.oldText), lines_of(hunk.newText)
  for row = first, behind - 1 do
    vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, { line_hl_group = 'CountersignDelete', priority = 50 })
  end
  local paired = #old == #new
  local width = 0
  for _, line in ipairs(new) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  for _, line in ipairs(old) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  if paired then
    for i, line in ipairs(old) do
      local row = first + i - 1
      local text = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1]
      if text == line then
        local head, tail = differ(line, new[i])
        if head + tail > #line * 0.3 and head < #line - tail then
          vim.api.nvim_buf_set_extmark(buf, namespace, row, head, { end_col = #line - tail, hl_group = 'CountersignDeleteText', priority = 60 })
        end
      end
    end
  end
  local virtual = {}
  for i, line in ipairs(new) do
    virtual[i] = pieces(line, paired and old[i] or nil, width + 2)
  end
  local label = { { title .. (#new == 0 and ': goes' or ''), 'CountersignHunk' } }
  if hunk.proposedText then
    label[1][1] = label[1][1] .. ', edited by you'
  end
  local row, above = behind - 1, false
  if behind == first then
    -- Comes before the line at `first`.
    row, above = first - 1, false
    if row < 0 then
      row, above = 0, true
    end
  end
  if #virtual > 0 then
    vim.list_extend(virtual[1], { { ' ', 'Normal' }, label[1] })
    vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, { virt_lines = virtual, virt_lines_above = above, priority = 60 })
  else
    vim.api.nvim_buf_set_extmark(buf, namespace, first, 0, { virt_text = label, virt_text_pos = 'eol' })
  end
end

--- Draws what waits for a buffer's file.
---@param buf integer
function M.draw(buf)
  if not vim.api.nvim_buf_is_valid(buf) or not vim.api.nvim_buf_is_loaded(buf) or vim.bo[buf].buftype ~= '' then
    return
  end
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  if not shown or not config.get().review.inline or require('countersign.review.side').shows(buf) then
    return
  end
  local places = proposals.in_file(vim.api.nvim_buf_get_name(buf))
  for i, place in ipairs(places) do
    draw_hunk(buf, place, i, #places)
  end
end

--- Draws the files of a proposal again.
---@param proposal table
function M.refresh(proposal)
  local paths = {}
  for _, file in ipairs(proposal.files) do
    paths[file.path] = true
  end
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and paths[vim.api.nvim_buf_get_name(buf)] then
      M.draw(buf)
    end
  end
end

--- Shows or hides the marks in all files.
function M.toggle()
  shown = not shown
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    M.draw(buf)
  end
end

return M
