local T = ...
local tests = {}

local function hunk(id, from, to, new, status)
  return { id = id, range = { start = from, ['end'] = to }, newText = new, oldText = '', status = status or 'pending' }
end

tests['edits of the after side find their hunks'] = function()
  local edit = require('countersign.review.edit')
  -- Of the file a b c d e f: b becomes B, then two lines come in before e, and f goes.
  local hunks = { hunk('1', 1, 2, 'B\n'), hunk('2', 4, 4, 'x\ny\n'), hunk('3', 5, 6, '') }
  local before = 'a\nB\nc\nd\nx\ny\ne\n'
  local placed = edit.place(hunks)
  T.equal(vim.tbl_map(function(one)
    return { one.first, one.last }
  end, placed), { { 1, 2 }, { 4, 6 }, { 7, 7 } })
  for _, row in ipairs({
    { before, {} },
    { 'a\nBB\nc\nd\nx\ny\ne\n', { { '1', 'BB\n' } } },
    { 'a\nB\nB2\nc\nd\nx\ny\ne\n', { { '1', 'B\nB2\n' } } },
    { 'a\nc\nd\nx\ny\ne\n', { { '1', '' } } },
    { 'a\nB1\nB2\nc\nd\nx\nz\ny\ne\n', { { '1', 'B1\nB2\n' }, { '2', 'x\nz\ny\n' } } },
    { 'a\nB\nc\nd\nx\ny\ne\nkept\n', { { '3', 'kept\n' } } },
    { 'a\nB\nc\nD\nx\ny\ne\n', 'line 4' },
    { 'A\nB\nc\nd\nx\ny\ne\n', 'line 1' },
    { 'a\nB\nC\nd\nx\ny\ne\n', 'line 3' },
  }) do
    local edited, problem = edit.texts(before, row[1], placed)
    if type(row[2]) == 'string' then
      T.equal(edited, nil, row[1])
      T.has(problem, row[2])
    else
      T.equal(vim.tbl_map(function(one)
        return { one.id, one.newText }
      end, edited or {}), row[2], row[1])
    end
  end
end

tests['whatever is edited within the hunks is taken as it stands'] = function()
  local edit = require('countersign.review.edit')
  math.randomseed(7)
  for round = 1, 300 do
    local lines, hunks, row = {}, {}, 0
    for i = 1, math.random(1, 4) do
      for k = 1, math.random(2, 4) do
        lines[#lines + 1] = ('keep %d %d %d'):format(round, i, k)
        row = row + 1
      end
      local old, new = math.random(0, 2), {}
      for k = 1, math.random(old == 0 and 1 or 0, 3) do
        new[k] = ('new %d %d\n'):format(i, k)
      end
      hunks[i] = hunk(tostring(i), row, row + old, table.concat(new))
      vim.list_extend(lines, vim.split(table.concat(new), '\n', { trimempty = true }))
      row = row + old
    end
    lines[#lines + 1] = 'the end'
    local placed = edit.place(hunks)
    local wanted, after = {}, vim.list_slice(lines)
    for i = #placed, 1, -1 do
      if math.random() < 0.5 then
        local mine = {}
        for k = 1, math.random(0, 3) do
          mine[k] = ('mine %d %d'):format(i, k)
        end
        for _ = 1, placed[i].last - placed[i].first do
          table.remove(after, placed[i].first + 1)
        end
        for k = #mine, 1, -1 do
          table.insert(after, placed[i].first + 1, mine[k])
        end
        wanted[tostring(i)] = #mine > 0 and table.concat(mine, '\n') .. '\n' or ''
      end
    end
    local edited, problem = edit.texts(table.concat(lines, '\n') .. '\n', table.concat(after, '\n') .. '\n', placed)
    T.check(edited, problem)
    local got = {}
    for _, one in ipairs(edited) do
      got[one.id] = one.newText
    end
    for id, text in pairs(wanted) do
      T.equal(got[id] or hunks[tonumber(id)].newText, text, 'round ' .. round)
    end
  end
end

local function proposal(path, hunks)
  return { id = 'p', threadId = 't', turnId = 'u', status = 'proposed', diff = '', files = { { path = path, uri = vim.uri_from_fname(path), kind = { type = 'update' }, open = true, hunks = hunks } } }
end

local function marks(buf)
  local list = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, vim.api.nvim_create_namespace('countersign.inline'), 0, -1, { details = true })) do
    local text = ''
    for _, line in ipairs(mark[4].virt_lines or {}) do
      for _, chunk in ipairs(line) do
        text = text .. chunk[1]
      end
      text = vim.trim(text) .. '|'
    end
    for _, chunk in ipairs(mark[4].virt_text or {}) do
      text = text .. chunk[1]
    end
    if text ~= '' then
      list[#list + 1] = { mark[2], text }
    end
  end
  return list
end

tests['what waits is drawn in its file, and what moved lies elsewhere'] = function()
  require('countersign.review')
  local proposals = require('countersign.proposals')
  local path = vim.fn.tempname()
  vim.fn.writefile({ 'one', 'two', 'three' }, path)
  vim.cmd.edit(path)
  local buf = vim.api.nvim_get_current_buf()
  path = vim.api.nvim_buf_get_name(buf)
  local first, second = hunk('1', 0, 1, 'ONE\n'), hunk('2', 3, 3, 'four\n')
  first.oldText = 'one\n'
  proposals.created({ proposal = proposal(path, { first, second }) }, 1)
  local drawn = marks(buf)
  T.equal(#drawn, 2)
  T.has(drawn[1][2], 'ONE')
  T.has(drawn[2][2], 'four')
  T.equal(drawn[2][1], 2)
  T.equal(proposals.at(path, 0).hunk.id, '1')
  T.equal(proposals.at(path, 2).hunk.id, '2')
  proposals.moved({ proposalId = 'p', status = 'conflicting', files = { { path = path, open = true, hunks = { { id = '1', status = 'conflicting', range = { start = 1, ['end'] = 2 }, conflict = 'typed into' } } } } })
  T.has(marks(buf)[1][2], 'typed into')
  T.equal(proposals.at(path, 1).hunk.id, '1')
  require('countersign.review').quickfix()
  T.equal(#vim.fn.getqflist(), 2)
  T.equal(vim.fn.getqflist()[1].type, 'W')
  vim.cmd.cclose()
  local settled = proposal(path, { first, second })
  settled.status = 'applied'
  proposals.updated({ proposal = settled }, 1)
  T.equal(marks(buf), {})
  T.equal(proposals.list(), {})
  vim.fn.delete(path)
end

--- A buffer of a file with lines, and its path.
local function file(lines)
  local path = vim.fn.tempname()
  vim.fn.writefile(lines, path)
  vim.cmd.edit(path)
  return vim.api.nvim_get_current_buf(), vim.api.nvim_buf_get_name(0)
end

--- A server that notes what is decided; the list of hunk ids.
local function deciding(made)
  local list = {}
  local id = T.countersign({ ['countersign/proposal/decide'] = function(params)
    list[#list + 1] = params.hunkIds and params.hunkIds[1] or params.proposalId
    return { proposal = made() }
  end })
  return id, list
end

--- Waits for as long as somebody needs to see something.
local function sees()
  vim.wait(320, function() end)
end

local function on(line, command)
  vim.api.nvim_win_set_cursor(0, { line + 1, 0 })
  require('countersign.commands').run(command:match('%S+'), command:match(' (.*)') or '')
end

tests['a change in conflict still shows what was proposed, and an accepted one says when it is applied'] = function()
  require('countersign.review')
  local proposals = require('countersign.proposals')
  local path = vim.fn.tempname()
  vim.fn.writefile({ 'one', 'two', 'three', 'four', 'five', 'six' }, path)
  vim.cmd.edit(path)
  local buf = vim.api.nvim_get_current_buf()
  path = vim.api.nvim_buf_get_name(buf)
  local list = { hunk('1', 0, 1, 'ONE\n', 'accepted'), hunk('2', 2, 3, 'THREE\n', 'conflicting'), hunk('3', 4, 5, 'FIVE\n'), hunk('4', 5, 6, 'SIX\n', 'rejected') }
  list[1].oldText, list[2].oldText, list[3].oldText, list[2].conflict = 'one\n', 'three\n', 'five\n', 'typed into'
  proposals.created({ proposal = proposal(path, list) }, 1)
  local drawn = marks(buf)
  T.equal(#drawn, 4)
  T.equal(drawn[1][1], 0)
  T.has(drawn[1][2], 'ONE')
  T.has(drawn[1][2], '✓ accepted, applied when 2 more are decided · undo decision: :Countersign reset')
  T.equal(drawn[2][1], 2)
  T.has(drawn[2][2], 'does not fit any more: typed into. What was proposed:|THREE|')
  T.has(drawn[4][2], '✗ rejected · undo decision: :Countersign reset')
  -- What waits for the rest is not taken for what may be accepted.
  T.equal(require('countersign.review.seen').lacks('p', { path = path, kind = { type = 'update' } }, list[2]) ~= nil, true)
  list[2].status, list[3].status = 'rejected', 'rejected'
  proposals.moved({ proposalId = 'p', status = 'partlyDecided', files = { { path = path, open = true, hunks = { { id = '2', status = 'rejected', range = list[2].range }, { id = '3', status = 'pending', range = list[3].range } } } } })
  T.has(marks(buf)[1][2], 'applied when 1 more is decided')
end

tests['beside a change stands how it is decided, by the keys that are bound'] = function()
  require('countersign.review')
  local proposals = require('countersign.proposals')
  local path = vim.fn.tempname()
  vim.fn.writefile({ 'one', 'two' }, path)
  vim.cmd.edit(path)
  local buf = vim.api.nvim_get_current_buf()
  path = vim.api.nvim_buf_get_name(buf)
  proposals.created({ proposal = proposal(path, { hunk('1', 0, 1, 'ONE\n') }) }, 1)
  T.has(marks(buf)[1][2], 'change 1 of 1 · accept: :Countersign accept · reject: :Countersign reject')
  vim.keymap.set('n', '<Space>cy', '<Plug>(countersign-accept-hunk)')
  require('countersign.review.inline').draw(buf)
  T.has(marks(buf)[1][2], 'accept: <Space>cy · reject: :Countersign reject')
  vim.keymap.del('n', '<Space>cy')
end

tests['a change that comes or goes does not move the line under the cursor'] = function()
  require('countersign.review')
  local proposals = require('countersign.proposals')
  local path = vim.fn.tempname()
  local lines = {}
  for i = 1, 200 do
    lines[i] = ('line %d'):format(i)
  end
  vim.fn.writefile(lines, path)
  vim.cmd('only')
  vim.cmd.edit(path)
  path = vim.api.nvim_buf_get_name(0)
  for _, case in ipairs({ { top = 100, line = 110, row = 105 }, { top = 100, line = 101, row = 100 }, { top = 100, line = 110, row = 115 }, { top = 95, line = 110, row = 20 } }) do
    vim.fn.winrestview({ topline = case.top, lnum = case.line, col = 2 })
    vim.cmd('redraw')
    local before, view = vim.fn.winline(), vim.fn.winsaveview()
    proposals.created({ proposal = proposal(path, { hunk('1', case.row, case.row, 'one\ntwo\nthree\n') }) }, 1)
    vim.cmd('redraw')
    T.equal(vim.fn.winline(), before, vim.inspect(case))
    T.equal(vim.api.nvim_win_get_cursor(0), { case.line, 2 })
    local settled = proposal(path, { hunk('1', case.row, case.row, 'one\ntwo\nthree\n') })
    settled.status = 'rejected'
    proposals.updated({ proposal = settled }, 1)
    vim.cmd('redraw')
    T.equal(vim.fn.winline(), before, 'gone: ' .. vim.inspect(case))
    T.equal(vim.fn.winsaveview().topline, view.topline)
  end
end

tests['a decision is on the hunk that is seen, also before the server has heard of the last keys'] = function()
  require('countersign.review')
  local proposals = require('countersign.proposals')
  local buf, path = file({ 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h' })
  local made = proposal(path, { hunk('1', 2, 3, 'C\n'), hunk('2', 4, 5, 'E\n') })
  made.files[1].version = 7
  made.files[1].hunks[1].oldText, made.files[1].hunks[2].oldText = 'c\n', 'e\n'
  local id, decided = deciding(function()
    return vim.deepcopy(made)
  end)
  vim.lsp.util.buf_versions[buf] = 7
  proposals.created({ proposal = vim.deepcopy(made) }, id)
  proposals.list()[1].came = 0
  sees()
  -- Two lines come above: the first hunk lies where the second was.
  vim.api.nvim_buf_set_lines(buf, 0, 0, false, { 'x', 'y' })
  vim.lsp.util.buf_versions[buf] = 8
  on(4, 'accept')
  T.wait('the decision', function()
    return #decided == 1
  end)
  T.equal(decided, { '1' })
  -- So is it drawn, whatever has it drawn again meanwhile, and so do the motions go.
  vim.api.nvim_exec_autocmds('BufWinEnter', { buffer = buf })
  T.equal(marks(buf)[1][1], 4)
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  require('countersign.review').move(1)
  T.equal(vim.api.nvim_win_get_cursor(0)[1], 5)
  -- The server has heard: its word counts again.
  proposals.moved({ proposalId = 'p', status = 'proposed', files = { { path = path, open = true, version = 8, hunks = { { id = '1', status = 'pending', range = { start = 4, ['end'] = 5 } }, { id = '2', status = 'pending', range = { start = 6, ['end'] = 7 } } } } } })
  on(6, 'reject')
  T.wait('the decision', function()
    return #decided == 2
  end)
  T.equal(decided, { '1', '2' })
end

tests['between two hunks none is meant, and one that waits goes before one that is decided'] = function()
  require('countersign.review')
  local proposals = require('countersign.proposals')
  local _, path = file({ 'a', 'b', 'c', 'd', 'e' })
  proposals.created({ proposal = proposal(path, { hunk('1', 0, 1, 'A\n'), hunk('2', 2, 3, 'C\n') }) }, 1)
  T.equal(proposals.at(path, 1), nil)
  T.equal(proposals.at(path, 3).hunk.id, '2')
  local other = proposal(path, { hunk('3', 0, 1, 'AA\n', 'rejected') })
  other.id = 'o'
  proposals.created({ proposal = other }, 1)
  T.equal(proposals.at(path, 0).hunk.id, '1')
  on(1, 'accept')
  T.has(T.messages[#T.messages][1], 'no pending change on this line')
end

tests['in a conversation the only change that waits is meant, in another file none'] = function()
  require('countersign.review')
  local proposals = require('countersign.proposals')
  local _, path = file({ 'a', 'b', 'c', 'd', 'e' })
  proposals.created({ proposal = proposal(path, { hunk('1', 0, 1, 'A\n'), hunk('2', 2, 3, 'C\n') }) }, 1)
  local function answer()
    T.messages = {}
    on(0, 'accept')
    T.wait('an answer', function()
      return #T.messages > 0
    end)
    return T.messages[#T.messages][1]
  end
  vim.cmd.new()
  vim.bo.buftype = 'nofile'
  T.has(answer(), 'no pending change on this line')
  proposals.moved({ proposalId = 'p', status = 'partlyDecided', files = { { path = path, open = true, hunks = { { id = '1', status = 'applied', range = { start = 0, ['end'] = 1 } }, { id = '2', status = 'pending', range = { start = 2, ['end'] = 3 } } } } } })
  -- The rules on what was seen hold for it as for any other.
  T.has(answer(), 'not accepted, since it has only just come')
  vim.cmd.only()
  vim.cmd.new()
  T.has(answer(), 'no pending change on this line')
  vim.cmd.only()
end

tests['a yes that was begun before a change could be seen is not one to it'] = function()
  require('countersign.review')
  local proposals = require('countersign.proposals')
  local _, path = file({ 'a', 'b', 'c' })
  local id, decided = deciding(function()
    return proposal(path, { hunk('1', 0, 1, 'A\n') })
  end)
  proposals.created({ proposal = proposal(path, { hunk('1', 0, 1, 'A\n') }) }, id)
  for _, words in ipairs({ 'accept', 'accept file', 'accept all' }) do
    on(0, words)
    T.has(T.messages[#T.messages][1], 'not accepted, since it has only just come')
  end
  T.equal(decided, {})
  -- A no loses nothing.
  on(0, 'reject')
  T.wait('the rejection', function()
    return #decided == 1
  end)
  -- One came while the command was typed: it is left out.
  proposals.list()[1].came = vim.uv.now() - 1000
  local late = proposal(path, { hunk('9', 2, 3, 'C\n') })
  late.id = 'late'
  sees()
  vim.api.nvim_exec_autocmds('CmdlineEnter', {})
  vim.wait(20, function() end)
  proposals.created({ proposal = late }, id)
  vim.wait(400, function() end)
  vim.api.nvim_exec_autocmds('CmdlineLeave', {})
  on(0, 'accept all')
  T.wait('the acceptance', function()
    return #decided == 2
  end)
  vim.wait(50, function() end)
  T.equal(decided, { '1', '1' })
end

--- The last message, also where it was too long for its line.
local function told()
  local all = require('countersign.client').told()
  return all[#all]
end

--- All that is on the screen, as it was drawn last.
local function as_drawn()
  local rows = {}
  for row = 1, vim.o.lines do
    local cells = {}
    for column = 1, vim.o.columns do
      cells[column] = vim.fn.screenstring(row, column)
    end
    rows[row] = vim.trim(table.concat(cells))
  end
  return table.concat(rows, '\n')
end

--- All that is to be on the screen.
local function on_screen()
  vim.cmd('redraw!')
  return as_drawn()
end

--- A server that has a proposal and notes which hunks are accepted, each time.
local function accepting(made, result, current)
  local decided = {}
  local id = T.countersign({
    ['countersign/proposal/read'] = function()
      local full = vim.deepcopy(made)
      full.files[1].current, full.files[1].result = current, result
      return { proposal = full }
    end,
    ['countersign/proposal/decide'] = function(params)
      if params.decision == 'reject' then
        decided.rejected = params.hunkIds
      else
        decided[#decided + 1] = params.hunkIds or 'without ids'
      end
      return { proposal = vim.deepcopy(made) }
    end,
  })
  require('countersign.proposals').created({ proposal = vim.deepcopy(made) }, id)
  require('countersign.proposals').list()[1].came = 0
  return decided, id
end

--- Says yes to all once, and waits for what comes of it: a decision, or a message that says why not; then for what that brings into
--- view.
local function press(decided)
  sees()
  local before, messages, screen = #decided, #T.messages, as_drawn()
  require('countersign.commands').run('accept', 'all')
  T.wait('a decision, or why there is none', function()
    return #decided > before or #T.messages > messages
  end)
  local message = #decided == before and T.messages[#T.messages][1] or ''
  if message:find('has not been shown yet', 1, true) then
    vim.wait(2000, function()
      return on_screen() ~= screen
    end, 20)
  end
  return message
end

--- The same; a yes that comes too soon after it, since on a busy machine it is noted late what is in view, is said again.
local function accept(decided)
  for _ = 1, 20 do
    if not press(decided):find('it has only just come', 1, true) then
      return
    end
  end
end

local function numbered(from, to, word)
  local lines = {}
  for i = from, to do
    lines[#lines + 1] = ('%s %d'):format(word, i)
  end
  return lines
end

tests['a change is accepted once all of it was on the screen, and what was not is brought there'] = function()
  local long = 'x = ("' .. ('a'):rep(130) .. '"); evil()'
  local tall = numbered(1, 90, 'new')
  tall[50] = 'evil()'
  for _, row in ipairs({
    -- Where it is, lines of the file, range, what comes; how often a yes is said at most, and what is done before.
    { 'in view', { 'a', 'b' }, 0, 1, { 'evil()' }, most = 1 },
    { 'wider than the window', { 'a', 'b' }, 0, 1, { long }, most = 1 },
    { 'above the first line', { 'a', 'b' }, 0, 0, { 'evil()' }, most = 1 },
    { 'far below', numbered(1, 300, 'line'), 250, 251, { 'evil()' }, most = 2 },
    { 'in a fold', numbered(1, 20, 'line'), 10, 11, { 'evil()' }, most = 2, before = function()
      vim.wo.foldmethod = 'manual'
      vim.cmd('5,15fold')
    end },
    { 'in another tab page', { 'a', 'b' }, 0, 1, { 'evil()' }, most = 2, before = function()
      vim.cmd('tabnew')
    end },
    { 'taller than the window', { 'a', 'b' }, 1, 1, tall, most = 7 },
    { 'below the last line', numbered(1, 22, 'line'), 22, 22, { 'b', 'c', 'evil()' }, most = 2 },
    { 'longer than the window', { 'a', 'b' }, 0, 1, { 'x = "' .. ('a'):rep(4000) .. '"; evil()' }, most = 8 },
  }) do
    local what, lines, first, last, new = unpack(row)
    T.fresh()
    require('countersign.review')
    local buf, path = file(lines)
    vim.api.nvim_win_set_cursor(0, { 1, 0 })
    if row.before then
      row.before()
    end
    local one = hunk('1', first, last, table.concat(new, '\n') .. '\n')
    one.oldText = table.concat(vim.list_slice(lines, first + 1, last), '\n') .. (last > first and '\n' or '')
    local after = vim.list_slice(lines, 1, first)
    vim.list_extend(after, new)
    vim.list_extend(after, lines, last + 1)
    local decided = accepting(proposal(path, { one }), table.concat(after, '\n') .. '\n', table.concat(lines, '\n') .. '\n')
    local seen, count = '', 0
    repeat
      sees()
      seen, count = seen .. on_screen():gsub('\n', ''):gsub('│', ''), count + 1
      accept(decided)
    until #decided > 0 or count > 12
    T.equal(decided, { { '1' } }, what)
    T.check(seen:find('evil()', 1, true), what .. seen)
    T.check(count <= row.most, ('%s: %d times'):format(what, count))
    T.check(vim.api.nvim_buf_is_valid(buf))
    vim.cmd('silent! tabonly!')
    vim.cmd('silent! only!')
  end
end

tests['what another window lies over is not on the screen'] = function()
  local function over(config, blend, words)
    local buf = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, { words or 'a popup' })
    local win = vim.api.nvim_open_win(buf, false, vim.tbl_extend('error', { relative = 'editor', style = 'minimal', focusable = false }, config))
    vim.wo[win].winblend = blend or 0
    return win
  end
  for _, row in ipairs({
    { 'a popup over what comes', true, { row = 1, col = 4, width = 20, height = 3 } },
    { 'its border', true, { row = 4, col = 0, width = 20, height = 3, border = 'single' } },
    { 'a popup beside it', false, { row = 1, col = 40, width = 20, height = 3 } },
    { 'a popup below it', false, { row = 12, col = 0, width = 20, height = 3 } },
    { 'a scroll bar', false, { row = 0, col = 4, width = 1, height = 15 } },
    { 'a shade', false, { row = 0, col = 0, width = 60, height = 15 }, 60, '' },
  }) do
    local what, covers, config, blend, words = unpack(row)
    T.fresh()
    require('countersign.review')
    local lines = { 'one', 'two', 'three', 'four' }
    local _, path = file(lines)
    local one = hunk('1', 2, 3, 'evil()\nmore()\n')
    one.oldText = 'three\n'
    local win = over(config, blend, words)
    local decided = accepting(proposal(path, { one }), 'one\ntwo\nevil()\nmore()\nfour\n', table.concat(lines, '\n') .. '\n')
    for _, message in ipairs({ 'it has not been shown yet', 'another window lies over it' }) do
      on_screen()
      if #decided == 0 then
        accept(decided)
      end
      if covers then
        T.equal(decided, {}, what)
        T.has(told(), message)
      end
    end
    T.equal(#decided > 0, not covers, what)
    vim.api.nvim_win_close(win, true)
    if covers then
      on_screen()
      accept(decided)
    end
    T.equal(decided[1], { '1' }, what)
    vim.cmd('silent! only!')
  end
end

tests['a yes covers what was shown as fitting, by its ids, and nothing that fits only since'] = function()
  require('countersign.review')
  local proposals = require('countersign.proposals')
  local _, path = file({ 'a', 'b', 'c' })
  local second = hunk('2', 2, 3, 'evil()\n', 'conflicting')
  second.conflict = 'the text has changed'
  local made = proposal(path, { hunk('1', 0, 1, 'A\n'), second })
  made.status = 'conflicting'
  local decided, id = accepting(made)
  local function becomes(status)
    proposals.moved({ proposalId = 'p', status = status == 'pending' and 'proposed' or 'conflicting', files = { { path = path, open = true, hunks = { { id = '2', status = status, range = { start = 2, ['end'] = 3 } } } } } })
  end
  sees()
  -- That it can be read while it is in conflict is no showing of one that fits.
  T.check(on_screen():find('What was proposed', 1, true) and on_screen():find('evil', 1, true), on_screen())
  require('countersign.commands').run('accept', 'all')
  T.wait('the decision', function()
    return #decided == 1
  end)
  T.equal(decided[1], { '1' })
  T.has(told(), 'one change is left out, since the text there has changed')
  T.wait('the rest to be left out', function()
    return decided.rejected
  end)
  T.equal(decided.rejected, { '2' })
  -- A menu of the server's says the same.
  local commands = require('countersign.actions').commands()
  for i, argument in ipairs({ { proposalId = 'p', decision = 'accept' }, { proposalId = 'p', decision = 'accept', path = path } }) do
    commands['countersign.decide']({ arguments = { argument } })
    T.wait('the decision', function()
      return #decided == i + 1
    end)
    T.equal(decided[i + 1], { '1' })
  end
  commands['countersign.decide']({ arguments = { { proposalId = 'p', decision = 'accept', hunkIds = { '2' } } } })
  T.has(told(), 'it does not fit any more: the text has changed')
  -- It fits since this moment, and again after it was in conflict.
  for _ = 1, 2 do
    becomes('pending')
    commands['countersign.acceptAll']({ arguments = {} })
    vim.wait(50, function() end)
    T.has(T.messages[#T.messages][1], 'not accepted, since it has only just come')
    T.equal(#decided, 3)
    becomes('conflicting')
    vim.wait(50, function() end)
  end
  becomes('pending')
  sees()
  T.check(on_screen():find('evil', 1, true))
  commands['countersign.acceptAll']({ arguments = {} })
  T.wait('the decision', function()
    return #decided == 4
  end)
  T.equal(decided[4], { '1', '2' })
  T.check(not pcall(proposals.decide, proposals.get('p'), 'accept', { path = path }), 'none is sent without ids')
  T.check(id)
end

tests['what happens to a file beside its lines is said wherever it is shown'] = function()
  for _, row in ipairs({
    { { type = 'update', movePath = '/elsewhere/conftest.py' }, nil, nil, 'the file moves to /elsewhere/conftest.py' },
    { { type = 'update' }, 493, nil, 'it can be run as a program (mode 755)' },
    { { type = 'update' }, 420, nil, 'it gets the mode 644' },
    { { type = 'update', movePath = '/x/' .. ('long'):rep(30) .. '/b' }, 493, nil, '/b, it can be run as a program (mode 755)' },
    { { type = 'update', movePath = '/x/y' }, nil, 'a link to /etc\u{202e}', 'the file moves to /x/y, a link to /etc<U+202E>' },
    { { type = 'delete' }, nil, nil, 'the file is deleted' },
    { { type = 'update', movePath = '/x/y' }, nil, nil, 'the file moves to /x/y, “у” looks like “y”<U+202E>', { '“у” looks like “y”\u{202e}' } },
  }) do
    for _, new in ipairs({ '', 'B\n' }) do
      T.fresh()
      require('countersign.review')
      local _, path = file({ 'a' })
      local one = hunk('1', 0, new == '' and 0 or 1, row[1].type == 'delete' and '' or new)
      local made = proposal(path, { one })
      made.files[1].kind, made.files[1].mode, made.files[1].notText = row[1], row[2], row[3]
      made.files[1].notes = row[5]
      accepting(made, 'a\n', 'a\n')
      T.has(told(), row[4])
      T.equal(require('countersign.review.seen').lacks('p', made.files[1], one) ~= nil, true)
      local function shown()
        return (on_screen():gsub('%s', ''):gsub('│', ''):gsub('↪', ''))
      end
      T.has(shown(), (row[4]:gsub(' ', '')))
      T.check(not shown():find('goes', 1, true), shown())
      require('countersign.review').look()
      T.equal(require('countersign.review.seen').lacks('p', made.files[1], one), nil)
      require('countersign.commands').run('diff', '')
      T.wait('the two sides', function()
        return vim.b.countersign_side ~= nil
      end)
      local text = vim.wo.winbar
      for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('countersign.side'), 0, -1, { details = true })) do
        for _, line in ipairs(mark[4].virt_lines or {}) do
          for _, chunk in ipairs(line) do
            text = text .. (chunk[1] == '↪ ' and '' or chunk[1])
          end
        end
      end
      T.has(text, row[4])
      vim.cmd('silent! tabonly!')
      vim.cmd('silent! only!')
    end
  end
end

tests['what is said of a file is said below its first line where the bar is somebody else’s'] = function()
  require('countersign.review')
  local path = vim.fn.tempname()
  local made = proposal(path, { hunk('1', 0, 0, '') })
  made.files[1].kind.movePath = '/x/conftest.py'
  local decided = accepting(made, 'a\n', 'a\n')
  require('countersign.commands').run('diff', '')
  T.wait('the two sides', function()
    return vim.b.countersign_side ~= nil
  end)
  vim.wo.winbar = 'mine'
  require('countersign.review.seen').forget('p')
  for count = 1, 2 do
    press(decided)
    T.equal(#decided, count - 1)
    T.has(on_screen(), 'the file moves to /x/conftest.py')
  end
  T.equal(decided, { { '1' } })
  vim.cmd('silent! tabonly!')
end

tests['what hides in the lines of a change is marked on both sides'] = function()
  require('countersign.review')
  local _, path = file({ 'a\u{200b}b', 'b\u{3164}' })
  local one = hunk('1', 0, 1, 'c(ping,\u{3164}) \u{e0041}\u{e0042}|\u{fe0f}\n')
  one.oldText = 'a\u{200b}b\n'
  accepting(proposal(path, { one }), one.newText .. 'b\u{3164}\n', 'a\u{200b}b\nb\u{3164}\n')
  require('countersign.commands').run('diff', '')
  T.wait('the two sides', function()
    return vim.b.countersign_side ~= nil
  end)
  local screen = on_screen()
  for _, part in ipairs({ '<U+3164>', '<U+E0041>', '<U+E0042>', '<U+FE0F>', '<U+200B>', 'what hides is marked' }) do
    T.has(screen, part)
  end
  T.equal(select(2, screen:gsub('<U%+3164>', '')), 1, 'lines of the person’s own are as they are')
  local before = vim.fn.bufnr(path)
  vim.cmd('silent! tabclose!')
  vim.wait(50, function() end)
  T.equal(vim.api.nvim_buf_get_extmarks(before, vim.api.nvim_create_namespace('countersign.side'), 0, -1, {}), {})
end

tests['what was never in view is shown before it is accepted'] = function()
  require('countersign.review')
  local proposals = require('countersign.proposals')
  local _, path = file({ 'a', 'b', 'c' })
  local made = proposal(path, { hunk('1', 0, 1, 'A\n') })
  local new = { path = path .. '.new', uri = 'file://' .. path .. '.new', kind = { type = 'add' }, open = false, hunks = { hunk('2', 0, 0, 'new\n') } }
  made.files[2] = new
  local decided = {}
  local id = T.countersign({
    ['countersign/proposal/read'] = function()
      local full = vim.deepcopy(made)
      full.files[2].result = 'new\n'
      return { proposal = full }
    end,
    ['countersign/proposal/decide'] = function(params)
      decided[#decided + 1] = params.proposalId
      return { proposal = vim.deepcopy(made) }
    end,
  })
  proposals.created({ proposal = vim.deepcopy(made) }, id)
  proposals.list()[1].came = 0
  -- The open file has its marks; the new one stands nowhere.
  on(0, 'accept all')
  T.has(T.messages[#T.messages][1], 'not accepted, since it has not been shown yet')
  T.wait('the new file', function()
    return vim.bo.buftype == 'acwrite'
  end)
  T.equal(decided, {})
  T.equal(vim.api.nvim_buf_get_lines(0, 0, -1, false), { 'new' })
  sees()
  on(0, 'accept all')
  T.wait('the decision', function()
    return #decided == 1
  end)
  vim.cmd('silent! tabonly!')
end

tests['nothing is decided on a side that has an edit which is not written'] = function()
  require('countersign.review')
  local proposals = require('countersign.proposals')
  local _, path = file({ 'one' })
  local first = hunk('1', 0, 1, 'ONE\n')
  first.oldText = 'one\n'
  local made = proposal(path, { first })
  local decided = {}
  local id = T.countersign({
    ['countersign/proposal/read'] = function()
      local full = vim.deepcopy(made)
      full.files[1].current, full.files[1].result = 'one\n', 'ONE\n'
      return { proposal = full }
    end,
    ['countersign/proposal/decide'] = function(params)
      decided[#decided + 1] = params.hunkIds[1]
      return { proposal = vim.deepcopy(made) }
    end,
  })
  proposals.created({ proposal = vim.deepcopy(made) }, id)
  proposals.list()[1].came = 0
  require('countersign.commands').run('diff', '')
  T.wait('the two sides', function()
    return vim.bo.buftype == 'acwrite'
  end)
  vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'mine' })
  on(1, 'accept')
  T.has(T.messages[#T.messages][1], 'this side has an edit of yours')
  T.equal(decided, {})
  -- Nor from anywhere else, while what is on the screen is not what would be accepted.
  for _, leave in ipairs({ 'wincmd h', 'tabfirst' }) do
    vim.cmd(leave)
    for _, command in ipairs({ 'accept all', 'accept file', 'reject all' }) do
      require('countersign.commands').run(command:match('%S+'), command:match(' (.*)'))
      T.has(told(), 'side by side view has an edit of yours')
    end
  end
  vim.cmd('tablast')
  vim.cmd('wincmd l')
  T.equal(decided, {})
  vim.cmd('silent undo')
  vim.bo.modified = false
  require('countersign.review').look()
  sees()
  on(0, 'accept')
  T.wait('the decision', function()
    return #decided == 1
  end)
  vim.cmd('silent! tabonly!')
end

tests['the after side of a file with the line ends of Windows is as the file is shown, and is edited as such'] = function()
  T.fresh()
  require('countersign.review')
  local edited
  local path = vim.fn.tempname()
  for _, row in ipairs({
    { 'a\r\nb\r\nc\r\n', 'a\r\nB\r\nc\r\n', { 'a', 'B', 'c' }, 'mine\r\n' },
    { '\239\187\191a\r\nb\r\nc\r\n', '\239\187\191a\r\nB\r\nc\r\n', { 'a', 'B', 'c' }, 'mine\r\n' },
    { 'a\nb\r\nc\n', 'a\nB\r\nc\n', { 'a', 'B\r', 'c' }, 'mine\n' },
    { 'a\r\nb\r\nc', 'a\r\nB\r\nc', { 'a', 'B', 'c' }, 'mine\r\n' },
  }) do
    local now, result, lines, wanted = unpack(row)
    vim.fn.writefile(vim.split(now, '\n', { plain = true }), path, 'b')
    vim.cmd('edit! ' .. path)
    local one = proposal(path, { hunk('1', 1, 2, vim.split(result, '\n', { plain = true })[2] .. '\n') })
    one.files[1].result, one.files[1].current = result, now
    local id = T.countersign({
      ['countersign/proposal/read'] = function()
        return { proposal = vim.deepcopy(one) }
      end,
      ['countersign/proposal/edit'] = function(params)
        edited = params.newText
        return { proposal = vim.deepcopy(one) }
      end,
    })
    require('countersign.proposals').created({ proposal = vim.deepcopy(one) }, id)
    require('countersign.review.side').open(require('countersign.proposals').list()[1])
    T.wait('the two sides', function()
      return vim.b.countersign_side ~= nil
    end)
    T.equal(vim.api.nvim_buf_get_lines(0, 0, -1, false), lines)
    T.check(not vim.bo.modified)
    vim.cmd('silent write')
    T.equal(edited, nil, 'what is as it was is no edit')
    vim.api.nvim_buf_set_lines(0, 1, 2, false, { 'mine' })
    vim.cmd('silent write')
    T.wait('the edit', function()
      return edited
    end)
    T.equal(edited, wanted)
    -- What is not written is taken back as in any file.
    vim.wait(50, function() end)
    vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'other' })
    vim.cmd('silent edit!')
    T.equal(vim.api.nvim_buf_get_lines(0, 0, -1, false), lines)
    T.check(not vim.bo.modified and vim.bo.modifiable and vim.bo.buftype == 'acwrite')
    edited = nil
    T.fresh()
    require('countersign.review')
  end
  vim.fn.delete(path)
end

tests['the two sides open by themselves only while the keys rest'] = function()
  T.fresh({ review = { open = 'side' }, questions = { pause = 10 } })
  require('countersign.review')
  local path = vim.fn.tempname()
  vim.fn.writefile({ 'one' }, path)
  vim.cmd.edit(path)
  path = vim.api.nvim_buf_get_name(0)
  local first = hunk('1', 0, 1, 'ONE\n')
  first.oldText = 'one\n'
  local made = proposal(path, { first })
  local mode = vim.api.nvim_get_mode
  local read
  local id = T.countersign({ ['countersign/proposal/read'] = function()
    -- The person has begun to type since.
    vim.api.nvim_get_mode = function()
      return { mode = 'i', blocking = false }
    end
    local full = vim.deepcopy(made)
    full.files[1].current, full.files[1].result = 'one\n', 'ONE\n'
    read = true
    return { proposal = full }
  end })
  local good, why = pcall(function()
    require('countersign.proposals').created({ proposal = made }, id)
    T.wait('the proposal to be read', function()
      return read
    end)
    vim.wait(500, function() end)
    T.equal(#vim.api.nvim_list_tabpages(), 1, 'it opened while somebody typed')
    vim.api.nvim_get_mode = mode
    T.wait('the two sides', function()
      return #vim.api.nvim_list_tabpages() == 2
    end)
  end)
  vim.api.nvim_get_mode = mode
  vim.cmd('silent! tabonly!')
  vim.fn.delete(path)
  T.check(good, why)
end

tests['a hunk at the top of a file, in an empty one and behind its end can be drawn'] = function()
  require('countersign.review')
  local proposals = require('countersign.proposals')
  for _, row in ipairs({ { {}, 0, 0 }, { { 'a' }, 0, 0 }, { { 'a' }, 1, 1 }, { { 'a' }, 7, 9 } }) do
    local path = vim.fn.tempname()
    vim.fn.writefile(row[1], path)
    vim.cmd.edit(path)
    proposals.reset()
    proposals.created({ proposal = proposal(vim.api.nvim_buf_get_name(0), { hunk('1', row[2], row[3], 'new 🍐\n\tline') }) }, 1)
    T.equal(#marks(0), 1, vim.inspect(row))
    vim.fn.delete(path)
  end
end

--- Two proposals, `p` and `o`, with a change each of the same line of a file.
local function two(path, id)
  local proposals = require('countersign.proposals')
  local mine, other = proposal(path, { hunk('1', 1, 2, 'B\n') }), proposal(path, { hunk('2', 1, 2, '') })
  other.id = 'o'
  proposals.created({ proposal = mine }, id)
  proposals.created({ proposal = other }, id)
  for _, one in ipairs(proposals.list()) do
    one.came = 0
  end
  return mine, other
end

--- Those two for an open file and a server that takes decisions.
local function two_to_decide()
  require('countersign.review')
  local _, path = file({ 'a', 'b', 'c' })
  local id, decided = deciding(function()
    return proposal(path, {})
  end)
  local _, other = two(path, id)
  return { proposals = require('countersign.proposals'), path = path, client = id, decided = decided, other = other }
end

tests['of two changes that cover a line none is decided, and it is told why'] = function()
  local set = two_to_decide()
  local proposals, path = set.proposals, set.path
  T.equal({ proposals.at(path, 1) }, { nil, true })
  on(1, 'accept')
  T.has(T.messages[#T.messages][1], 'two changes cover this line')
  -- One that is decided beside them is not taken instead.
  local third = proposal(path, { hunk('3', 1, 2, 'X\n', 'rejected') })
  third.id = 'd'
  proposals.created({ proposal = third }, set.client)
  T.equal({ proposals.at(path, 1) }, { nil, true })
  set.other.files[1].hunks[1].status = 'rejected'
  T.equal(proposals.at(path, 1).hunk.id, '1')
  T.equal(set.decided, {})
end

tests['of several proposals the two sides show the one under the cursor, and where that is not clear the one that is chosen'] = function()
  require('countersign.review')
  local proposals = require('countersign.proposals')
  local buf, path = file({ 'a', 'b', 'c', 'd' })
  local made = {}
  local id = T.countersign({ ['countersign/proposal/read'] = function(params)
    local full = vim.deepcopy(made[params.proposalId])
    full.files[1].current, full.files[1].result = 'a\nb\nc\nd\n', 'a\nB\nc\nd\n'
    return { proposal = full }
  end })
  made.p, made.o = two(path, id)
  made.p.files[1].hunks[2] = hunk('9', 3, 4, 'D\n')
  local asked
  vim.ui.select = function(items, options, done)
    asked = { lines = vim.tbl_map(options.format_item, items), kind = options.kind, choose = function(i)
      done(items[i])
    end }
  end
  --- Opens by a command on a line; the proposal that is shown.
  local function opened(line, command, choose)
    asked = nil
    vim.cmd('silent! tabonly!')
    vim.api.nvim_set_current_buf(buf)
    vim.cmd('silent! only!')
    on(line, command)
    if choose then
      T.equal(#vim.api.nvim_list_tabpages(), 1, 'nothing opens before it is chosen')
      asked.choose(choose)
    end
    T.wait('the two sides', function()
      return vim.b.countersign_side ~= nil
    end)
    return vim.b.countersign_side.proposal
  end
  for _, command in ipairs({ 'diff', 'edit' }) do
    T.equal(opened(3, command), 'p', 'the one under the cursor')
    T.equal(asked, nil, 'which is clear')
    T.equal(opened(1, command, 2), 'o', 'the one that is chosen')
    T.equal(asked.kind, 'countersign.proposal')
    T.check(asked.lines[1] ~= asked.lines[2] and asked.lines[1]:find(': B', 1, true), asked.lines)
  end
  -- One of another file only is not meant here.
  local elsewhere = proposal('/elsewhere', { hunk('8', 0, 1, 'X\n') })
  elsewhere.id = 'x'
  proposals.created({ proposal = elsewhere }, id)
  made.o.status = 'rejected'
  proposals.updated({ proposal = made.o }, id)
  T.equal(opened(0, 'diff'), 'p')
  T.equal(asked, nil)
  -- Nobody is asked for nothing, and what was decided while it was chosen is not shown.
  made.o.status = 'proposed'
  proposals.updated({ proposal = made.o }, id)
  vim.cmd('silent! tabonly!')
  vim.api.nvim_set_current_buf(buf)
  on(1, 'diff')
  made.p.status = 'applied'
  proposals.updated({ proposal = made.p }, id)
  asked.choose(1)
  T.has(T.messages[#T.messages][1], 'does not wait any more')
  vim.cmd('silent! tabonly!')
  vim.ui.select = T.ui.select
end

--- Holds back what is to be done half a minute after a server has started; what does it, and what takes it up again.
local function looked()
  local defer, held = vim.defer_fn, {}
  vim.defer_fn = function(done, ms)
    if ms ~= 30000 then
      return defer(done, ms)
    end
    held[#held + 1] = done
  end
  return function()
    for _, done in ipairs(held) do
      done()
    end
    held = {}
  end, function()
    vim.defer_fn = defer
  end
end

tests['the two sides open at the change under the cursor, else at the next one, else at the first'] = function()
  require('countersign.review')
  local proposals = require('countersign.proposals')
  local lines, after = {}, {}
  for i = 1, 120 do
    lines[i], after[i] = ('line %d'):format(i), ('line %d'):format(i)
  end
  after[21], after[91] = 'TWENTY\nONE', 'NINETY'
  local buf, path = file(lines)
  local made
  local id = T.countersign({ ['countersign/proposal/read'] = function()
    local full = vim.deepcopy(made)
    full.files[1].current, full.files[1].result = table.concat(lines, '\n') .. '\n', table.concat(after, '\n') .. '\n'
    return { proposal = full }
  end })
  made = proposal(path, { hunk('1', 20, 21, 'TWENTY\nONE\n'), hunk('2', 90, 91, 'NINETY\n') })
  proposals.created({ proposal = made }, id)
  for _, case in ipairs({ { 21, 'TWENTY' }, { 91, 'NINETY' }, { 50, 'NINETY' }, { 110, 'TWENTY' }, { 1, 'TWENTY' } }) do
    for _, command in ipairs({ 'diff', 'edit' }) do
      vim.cmd('silent! tabonly!')
      vim.api.nvim_set_current_buf(buf)
      vim.cmd('silent! only!')
      vim.api.nvim_win_set_cursor(0, { case[1], 0 })
      require('countersign.commands').run(command)
      T.wait('the two sides', function()
        return vim.b.countersign_side ~= nil
      end)
      T.equal(vim.api.nvim_get_current_line(), case[2], command .. ' from line ' .. case[1])
    end
  end
end

tests['where the server has ended, that is told, and not that a change does not wait'] = function()
  T.fresh({ cmd = { '/no/such/server' } })
  local half_a_minute, free = looked()
  require('countersign.review')
  local proposals = require('countersign.proposals')
  local buf, path = file({ 'a', 'b', 'c' })
  local full
  local answers = { ['countersign/proposal/read'] = function()
    full.files[1].current, full.files[1].result = 'a\nb\nc\n', 'a\nB\nc\n'
    return { proposal = vim.deepcopy(full) }
  end }
  local id, wire = T.countersign(answers)
  local first, other = two(path, id)
  full = vim.deepcopy(first)
  local looked_at = proposals.list()[1]
  require('countersign.review.side').open(looked_at)
  T.wait('the two sides', function()
    return vim.b.countersign_side ~= nil
  end)
  vim.api.nvim_buf_set_lines(0, 1, 2, false, { 'mine' })
  wire.exit(1)
  T.wait('the end', function()
    return #proposals.list() == 0 and #require('countersign.client').all() == 0
  end)
  local function told(part)
    local all = require('countersign.client').told()
    local last = all[#all]
    T.has(last, part)
    T.check(not last:find('any more', 1, true) and not last:find('no change', 1, true), last)
  end
  vim.cmd('silent write')
  told('your edit was not taken')
  T.check(vim.bo.modified, 'what was typed is kept')
  proposals.decide(looked_at, 'accept')
  told('nothing was decided')
  local side = vim.api.nvim_get_current_buf()
  vim.cmd('tabnext')
  vim.api.nvim_set_current_buf(buf)
  for _, command in ipairs({ 'accept', 'accept file', 'accept all', 'diff', 'next', 'hunks' }) do
    on(1, command)
    told(':Countersign restart')
  end
  require('countersign.actions').commands()['countersign.rejectWithWords']({ arguments = { { proposalId = 'p' } } })
  told('the server has ended. What waited may come back')
  -- It comes again with the next server, and so does what was typed.
  local edited
  answers['countersign/proposal/list'] = { data = { vim.deepcopy(full) } }
  answers['countersign/proposal/edit'] = function(params)
    edited = params
    return { proposal = vim.deepcopy(full) }
  end
  T.countersign(answers)
  T.wait('the proposal', function()
    return #proposals.list() == 1
  end)
  vim.api.nvim_set_current_win(vim.fn.win_findbuf(side)[1])
  vim.cmd('silent write')
  T.wait('the edit', function()
    return edited
  end)
  T.equal({ edited.proposalId, edited.hunkId, edited.newText }, { 'p', '1', 'mine\n' })
  -- The other one may follow, as the server looks several times. If it does not, it is gone to whoever still looks at it.
  proposals.decide(other, 'accept')
  told('the server has started again. What waited may come back in a moment')
  half_a_minute()
  free()
  proposals.decide(other, 'accept')
  local all = require('countersign.client').told()
  T.has(all[#all], 'nothing was decided: this change does not wait any more')
  vim.cmd('silent! tabonly!')
end

tests['of a folder whose server has ended nothing is given up while that of another one runs'] = function()
  T.fresh({ cmd = { '/no/such/server' } })
  require('countersign.review')
  local half_a_minute, free = looked()
  local proposals = require('countersign.proposals')
  local _, elsewhere = file({ 'x' })
  local buf, path = file({ 'a', 'b', 'c' })
  T.countersign({}, '/elsewhere')
  local id, wire = T.countersign({}, '/folder')
  two(path, id)
  local third = proposal(path, { hunk('3', 0, 1, 'A\n') })
  third.id = 'd'
  proposals.created({ proposal = third }, id)
  local function ends()
    wire.exit(0)
    T.wait('the end', function()
      return #proposals.list() == 0 and #require('countersign.client').all() == 1
    end)
  end
  ends()
  half_a_minute()
  local words = 'the server of folder has ended. What waited may come back once it runs again (:Countersign restart).'
  T.equal(proposals.gone('p'), words)
  T.equal(proposals.none('for you'), words)
  T.equal(proposals.none('for this file', nil, path), words)
  T.has(proposals.none('for this file', nil, elsewhere), 'no pending change for this file')
  on(1, 'accept file')
  local all = require('countersign.client').told()
  T.has(all[#all], words)
  -- It runs again, and for a while may bring what waited. One that ends in that time gives nothing up either.
  id, wire = T.countersign({}, '/folder')
  for _, told in ipairs({ proposals.gone('p'), proposals.none('for you') }) do
    T.has(told, 'What waited may come back in a moment')
  end
  ends()
  half_a_minute()
  T.equal(proposals.gone('p'), words)
  id = T.countersign({}, '/folder')
  proposals.created({ proposal = proposal(path, { hunk('1', 1, 2, 'B\n') }) }, id)
  -- What the server says is decided is not waited for.
  local decided = proposal(path, { hunk('1', 1, 2, 'B\n') })
  decided.id, decided.status = 'd', 'rejected'
  T.has(proposals.gone('d'), 'What waited may come back in a moment')
  proposals.updated({ proposal = decided }, id)
  T.has(proposals.gone('d'), 'does not wait any more')
  T.has(proposals.gone('o'), 'What waited may come back in a moment')
  half_a_minute()
  free()
  T.equal(#proposals.list(), 1)
  T.has(proposals.gone('o'), 'does not wait any more')
  T.has(proposals.none('on this line'), 'no pending change on this line')
  T.equal(vim.api.nvim_get_current_buf(), buf)
end

tests['on the after side of a proposal nothing of another one is decided'] = function()
  local set = two_to_decide()
  local proposals, path, decided = set.proposals, set.path, set.decided
  T.equal(proposals.at(path, 1, 'o').hunk.id, '2')
  T.equal(proposals.at(path, 1, 'p').hunk.id, '1')
  vim.cmd('enew')
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'a', 'c' })
  vim.bo.modified = false
  vim.b.countersign_side = { proposal = 'o', path = path }
  on(1, 'reject')
  T.wait('the decision', function()
    return #decided == 1
  end)
  T.equal(decided, { '2' })
  proposals.reset()
  two(path, set.client)
  on(0, 'reject file')
  T.wait('the decision on the file', function()
    return #decided == 2
  end)
  vim.wait(50, function() end)
  T.equal(decided, { '2', 'o' })
end

return tests
