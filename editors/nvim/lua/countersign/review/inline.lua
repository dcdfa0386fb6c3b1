--- Waiting changes in the files' own buffers: what goes is marked, what comes stands below it as virtual lines.
local config = require('countersign.config')
local hold = require('countersign.review.hold')
local proposals = require('countersign.proposals')
local screen = require('countersign.review.screen')
local seen = require('countersign.review.seen')
local visible = require('countersign.visible')

local M = {}

local namespace = vim.api.nvim_create_namespace('countersign.inline')
local shown = true

--- Virtual lines that are drawn of one change, and bytes of one line: no window could show more, and it cannot be scrolled within them.
local MOST_LINES, MOST_BYTES = 200, 8000

---@class countersign.Drawn
---@field mark integer The extmark that has what comes, or the label.
---@field text string What comes, as drawn.
---@field rows integer Virtual lines.
---@field width integer Columns of the widest.
---@field words string What is said of the file beside its lines.
---@field cut? boolean Not all of it was drawn.
---@field covered? boolean Another window lay over it when it was looked at last.

--- What is drawn in a buffer, by proposal and hunk, and for windows of which width.
---@type table<integer, { width: integer, hunks: table<string, countersign.Drawn> }>
local drawn = {}

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
local function pieces(new, old)
  local function padded(text)
    return vim.fn.strtrans(visible.text((text:gsub('\t', '    '))))
  end
  if old and old ~= new then
    local head, tail = differ(old, new)
    if head + tail > #new * 0.3 then
      return {
        { padded(new:sub(1, head)), 'CountersignAdd' },
        { padded(new:sub(head + 1, #new - tail)), 'CountersignAddText' },
        { padded(new:sub(#new - tail + 1)), 'CountersignAdd' },
      }
    end
  end
  return { { padded(new), 'CountersignAdd' } }
end

local function width_of(chunks)
  return vim.fn.strdisplaywidth(table.concat(vim.tbl_map(function(chunk)
    return chunk[1]
  end, chunks)))
end

--- The new lines as virtual ones, none wider than the windows, and as wide as the widest where there is room.
local function new_lines(new, old, room)
  local virtual, width, cut = {}, 0, false
  for i, line in ipairs(new) do
    if #virtual > MOST_LINES or #line > MOST_BYTES then
      cut = true
      virtual[#virtual + 1] = { { ('… %d more lines, which :Countersign diff shows'):format(#new - i + 1), 'CountersignConflict' } }
      break
    end
    vim.list_extend(virtual, screen.wrapped(pieces(line, old and old[i]), room))
  end
  for _, chunks in ipairs(virtual) do
    width = math.max(width, width_of(chunks))
  end
  for _, chunks in ipairs(virtual) do
    local rest = math.min(width + 2, room) - width_of(chunks)
    if rest > 0 then
      chunks[#chunks + 1] = { (' '):rep(rest), 'CountersignAdd' }
    end
  end
  return virtual, cut
end

local words = {
  rejected = { '✗ rejected', 'CountersignRejected' },
  applied = { '✓ applied', 'CountersignAccepted' },
}

--- How many changes of a proposal nobody has decided on.
local function undecided(proposal)
  local count = 0
  for _, file in ipairs(proposal.files) do
    for _, hunk in ipairs(file.hunks) do
      count = count + ((hunk.status == 'pending' or hunk.status == 'conflicting') and 1 or 0)
    end
  end
  return count
end

--- What was decided and can be decided again.
local function decision(place)
  local text, group = unpack(words[place.hunk.status] or { '✓ accepted (pending)', 'CountersignAccepted' })
  local left = undecided(place.proposal)
  if place.hunk.status == 'accepted' and left > 0 then
    text = ('✓ accepted, applied when %d more %s decided'):format(left, left == 1 and 'is' or 'are')
  end
  if place.hunk.status ~= 'applied' then
    text = text .. ' · undo decision: :Countersign reset'
  end
  return { text, group }
end

--- Marks the old lines of a hunk, and in each what goes of it.
---@return boolean paired Whether each old line has a new one.
local function mark_old(buf, first, behind, old, new)
  for row = first, behind - 1 do
    vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, { line_hl_group = 'CountersignDelete', priority = 50 })
  end
  if #old ~= #new then
    return false
  end
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
  return true
end

--- How the person decides on the change under the cursor: by their keys, where they have bound some.
local function how()
  local keys = { ['accept-hunk'] = ':Countersign accept', ['reject-hunk'] = ':Countersign reject' }
  for _, map in ipairs(vim.api.nvim_get_keymap('n')) do
    local name = (map.rhs or ''):match('^<Plug>%(countersign%-(.*)%)$')
    if keys[name or ''] then
      keys[name] = map.lhs:gsub(' ', '<Space>')
    end
  end
  return (' · accept: %s · reject: %s'):format(keys['accept-hunk'], keys['reject-hunk'])
end

--- Puts a label at what comes, where that has room for it, else above it.
local function with_label(virtual, chunk, room)
  if #virtual > 0 and width_of(virtual[1]) + 1 + width_of({ chunk }) <= room then
    vim.list_extend(virtual[1], { { ' ', 'Normal' }, chunk })
    return virtual
  end
  return vim.list_extend(screen.wrapped({ chunk }, room), virtual)
end

--- Draws what can not be decided as it is: what would have come is there to be read. It is none of what was shown to be accepted.
local function draw_aside(buf, row, new, chunk, room)
  local virtual = new_lines(new, nil, room)
  for _, chunks in ipairs(virtual) do
    for _, one in ipairs(chunks) do
      one[2] = 'CountersignQuiet'
    end
  end
  vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, { virt_lines = vim.list_extend(screen.wrapped({ chunk }, room), virtual), priority = 60 })
end

--- Draws one hunk; what was drawn, where that is one that waits and fits.
---@return countersign.Drawn?
local function draw_hunk(buf, place, number, total, room, hint)
  local hunk, last = place.hunk, vim.api.nvim_buf_line_count(buf)
  local first, behind = math.min(place.range.start, last), math.min(place.range['end'], last)
  if words[hunk.status] then
    vim.api.nvim_buf_set_extmark(buf, namespace, math.min(first, last - 1), 0, { virt_text = { decision(place) }, virt_text_pos = 'eol' })
    return
  end
  local title = ('change %d of %d'):format(number, total)
  local old, new = lines_of(hunk.oldText), lines_of(hunk.newText)
  if hunk.status == 'conflicting' then
    local text = ('⚠ %s does not fit any more: %s'):format(title, visible.text(hunk.conflict or 'the text has changed'))
    text = text .. (#new > 0 and '. What was proposed:' or '')
    return draw_aside(buf, math.max(math.min(behind, last) - 1, 0), new, { text, 'CountersignConflict' }, room)
  end
  local paired = mark_old(buf, first, behind, old, new)
  local virtual, cut = new_lines(new, paired and old or nil, room)
  local beyond = proposals.beyond_text(place.file)
  -- That a file is deleted is said at its top.
  local row = math.max((place.file.kind.type == 'delete' and first + 1 or behind) - 1, 0)
  if hunk.status == 'accepted' then
    vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, { virt_lines = with_label(virtual, decision(place), room), priority = 60 })
    return
  end
  local label = title
  if #new == 0 and #old > 0 then
    label = label .. ': lines removed'
  elseif #new > 0 and behind == 0 and (last > 1 or vim.api.nvim_buf_get_lines(buf, 0, 1, false)[1] ~= '') then
    -- What is above the first line of a window is not on the screen.
    label = label .. ', comes before line 1'
  end
  label = label .. (hunk.proposedText and ', edited by you' or '') .. (beyond and (': ' .. beyond) or '')
  local chunk = { label, 'CountersignHunk' }
  if #virtual > 0 or beyond then
    -- Said only where it takes no row of its own.
    local hinted = { label .. hint, 'CountersignHunk' }
    local has_room = #virtual > 0 and width_of(virtual[1]) + 1 + width_of({ hinted }) <= room
    virtual = with_label(virtual, has_room and hinted or chunk, room)
  end
  local mark
  if #virtual > 0 then
    mark = vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, { virt_lines = virtual, priority = 60 })
  else
    mark = vim.api.nvim_buf_set_extmark(buf, namespace, math.min(first, last - 1), 0, { virt_text = { chunk }, virt_text_pos = 'eol' })
  end
  local width = 0
  for _, chunks in ipairs(virtual) do
    width = math.max(width, width_of(chunks))
  end
  return { mark = mark, text = hunk.newText, rows = #virtual, width = width, words = beyond or '', cut = cut }
end

local function key_of(place)
  return place.proposal.id .. '/' .. place.hunk.id
end

--- Columns that all windows have which show a buffer.
local function room_of(buf)
  local room = vim.o.columns
  for _, win in ipairs(screen.windows(buf)) do
    room = math.min(room, screen.width(win))
  end
  return room
end

--- Draws what waits for a buffer's file.
---@param buf integer
function M.draw(buf)
  if not vim.api.nvim_buf_is_valid(buf) or not vim.api.nvim_buf_is_loaded(buf) or vim.bo[buf].buftype ~= '' then
    return
  end
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  drawn[buf] = nil
  if not shown or not config.get().review.inline or require('countersign.review.side').shows(buf) then
    return
  end
  local places = proposals.in_file(vim.api.nvim_buf_get_name(buf))
  if #places == 0 then
    return
  end
  local now, hint = { width = room_of(buf), hunks = {} }, how()
  for i, place in ipairs(places) do
    now.hunks[key_of(place)] = draw_hunk(buf, place, i, #places, now.width, hint)
  end
  drawn[buf] = now
end

--- Where what comes stands.
local function row_of(buf, one)
  return vim.api.nvim_buf_get_extmark_by_id(buf, namespace, one.mark, {})[1]
end

--- Notes which changes are on the screen in a window.
---@param win integer
function M.look(win)
  local buf = vim.api.nvim_win_get_buf(win)
  local now = drawn[buf]
  if not now then
    return
  elseif now.width ~= room_of(buf) then
    -- They are on the screen in other lines than they are to be.
    return M.draw(buf)
  end
  for _, place in ipairs(proposals.in_file(vim.api.nvim_buf_get_name(buf))) do
    local one, hunk, id = now.hunks[key_of(place)], place.hunk, place.proposal.id
    local row = one and one.text == hunk.newText and row_of(buf, one)
    if row then
      for _, line in ipairs(screen.lines(win, place.range.start, place.range['end'])) do
        seen.note(id, hunk, 'old', line.row - place.range.start + 1)
      end
      local whole = not one.cut and one.width <= screen.width(win)
      local below, covered = screen.shows_below(win, row, one.width)
      one.covered = covered
      if whole and (one.rows > 0 and below or one.rows == 0 and #screen.lines(win, row, row + 1) > 0) then
        seen.note_new(id, hunk)
        seen.note_words(id, hunk, one.words)
      end
    end
  end
end

--- Whether what comes would be on the screen, if no other window lay over it.
---@param buf integer
---@param place countersign.Place
---@return boolean
function M.is_covered(buf, place)
  local one = drawn[buf] and drawn[buf].hunks[key_of(place)]
  return one ~= nil and one.covered == true
end

--- Scrolls a window so that a change is on the screen, or what was not yet of it. Says whether the window can show it.
---@param win integer
---@param place countersign.Place
---@return boolean
function M.bring(win, place)
  local buf = vim.api.nvim_win_get_buf(win)
  local one = drawn[buf] and drawn[buf].hunks[key_of(place)]
  local row = one and row_of(buf, one)
  local above = screen.covered_at_top(win)
  local height = screen.height(win) - above
  if not row or one.cut or one.width > screen.width(win) or one.rows + 2 > height then
    return false
  end
  local first, behind = place.range.start, math.max(place.range.start, place.range['end'])
  local last = vim.api.nvim_buf_line_count(buf)
  vim.api.nvim_win_call(win, function()
    for _, at in ipairs({ first + 1, row + 1, row + 2 }) do
      if vim.fn.foldclosed(at) ~= -1 then
        vim.cmd(('silent! %d,%dfoldopen!'):format(at, at))
      end
    end
    local what, line = seen.lacks(place.proposal.id, place.file, place.hunk)
    local top, cursor = vim.fn.line('w0'), math.min(first + 1, last)
    if what == 'old' then
      top, cursor = first + line - above, first + line
    elseif behind - first + one.rows + 2 > height then
      top, cursor = row + 1 - above, row + 1
    elseif not screen.shows_below(win, row, one.width) or first + 1 < top + above then
      top = first + 1 - above - math.floor((height - (behind - first) - one.rows - 1) / 2)
    end
    vim.fn.winrestview({ lnum = math.min(cursor, last), col = 0, topline = math.max(1, math.min(top, last)), topfill = 0, leftcol = 0, skipcol = 0 })
  end)
  return true
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
      hold.still(buf, function()
        M.draw(buf)
      end)
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

vim.api.nvim_create_autocmd('BufUnload', {
  group = vim.api.nvim_create_augroup('countersign.inline', {}),
  callback = function(event)
    drawn[event.buf] = nil
  end,
})

return M
