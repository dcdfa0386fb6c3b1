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

local function on(line, command)
  vim.api.nvim_win_set_cursor(0, { line + 1, 0 })
  require('countersign.commands').run(command:match('%S+'), command:match(' (.*)') or '')
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
  T.has(T.messages[#T.messages][1], 'no change of the agent waits on this line')
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
  T.equal(decided, { '1', 'p' })
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
  vim.cmd('silent undo')
  vim.bo.modified = false
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
  T.has(proposals.none('for this file', nil, elsewhere), 'no change of the agent waits for this file')
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
  T.has(proposals.none('on this line'), 'no change of the agent waits on this line')
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
  on(0, 'accept file')
  T.wait('the decision on the file', function()
    return #decided == 2
  end)
  vim.wait(50, function() end)
  T.equal(decided, { '2', 'o' })
end

return tests
