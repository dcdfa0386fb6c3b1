--- An item of a conversation as Markdown: its lines, what of them folds away, and its status, which is shown beside them.
local deeds = require('countersign.chat.deeds')
local fences = require('countersign.chat.fences')
local growing = require('countersign.chat.growing')
local inert = require('countersign.inert')
local visible = require('countersign.visible')

local M = { deeds = deeds.line, span = deeds.span }

---@class countersign.Block
---@field lines string[]
---@field fold? integer[] First and last line that fold once the item is complete, from 1.
---@field status? { [1]: string, [2]: string }[] Text and highlight, behind the first line.
---@field state? { [1]: string, [2]: string } How it stands, as a sign and its color, before the first line.
---@field failed? boolean The whole row has the color of what failed.
---@field deed? countersign.Deed Of a tool, whose rows stand close together and are one line once they are done.
---@field marks? { line: integer, group: string }[] Whole lines in a color, from 1.
---@field grown? { of: table, version: integer, from: integer } Of a text that is still coming: which, how often it was made into lines,
--- and how many of these are as they were the time before.

--- Lines that are kept of an output; the middle goes.
local MOST_LINES = 400

--- Lines of a command of the person's own that stay open once it is done.
local MOST_OPEN = 40

local confined = { readOnly = 'sandbox, reads only', workspace = 'sandbox', outside = 'outside the sandbox' }

--- Each line by itself.
local function clean(text)
  local lines = vim.split(text:gsub('\r\n', '\n'), '\n', { plain = true })
  for i, line in ipairs(lines) do
    -- What was printed over, as a terminal would show it in the end.
    line = line:match('([^\r]*)\r?$') or line
    lines[i] = visible.text((line:gsub('[%z\1-\8\11-\31\127]', '')))
  end
  return lines
end

--- Text of others as lines: no control sequences, no carriage returns; what else hides is written by its number.
---@param text string
---@return string[]
function M.lines(text)
  local lines = clean((text:gsub('\27%][^\7\27]*[\7\27]\\?', ''):gsub('\27%[[%d;?]*[ -/]*[@-~]', '')))
  while #lines > 1 and lines[#lines] == '' do
    lines[#lines] = nil
  end
  return lines
end

--- Markdown of others as lines: nothing in it is loaded, and it leaves nothing open.
local function markdown(text)
  return fences.close(inert.lines(M.lines(text)))
end

---@param lines string[]
---@param left_out? integer Lines that are not among them any more.
---@param behind? integer After so many.
local function bounded(lines, left_out, behind)
  left_out = left_out or 0
  if #lines <= MOST_LINES and left_out == 0 then
    return lines
  end
  local head = math.min(math.floor(MOST_LINES / 4), behind or MOST_LINES)
  local tail = math.min(MOST_LINES - head, #lines - (behind and math.max(behind, head) or head))
  local kept = vim.list_slice(lines, 1, head)
  kept[#kept + 1] = ('… %d lines left out …'):format(#lines - head - tail + left_out)
  return vim.list_extend(kept, lines, #lines - tail + 1)
end

--- A fence that nothing in the lines can close.
local function fence(lines)
  local most = 3
  for _, line in ipairs(lines) do
    local run = line:match('^%s*(~+)')
    most = math.max(most, run and #run + 1 or 0)
  end
  return ('~'):rep(math.max(most, 4))
end

--- Adds a fenced block, which folds with all above it.
local function fenced(block, language, lines)
  local mark = fence(lines)
  block.lines[#block.lines + 1] = mark .. language
  vim.list_extend(block.lines, lines)
  block.lines[#block.lines + 1] = mark
  block.fold = { 1, #block.lines }
end

local function one_line(text, limit)
  text = inert.lines({ visible.text(vim.trim((text:gsub('[%c%s]+', ' ')))) })[1]
  return vim.fn.strchars(text) > limit and vim.fn.strcharpart(text, 0, limit - 1) .. '…' or text
end

--- Text as inline code, whatever is in it.
local function code(text)
  if not text:find('`', 1, true) then
    return '`' .. text .. '`'
  end
  return '`` ' .. text .. ' ``'
end

local kinds = { read_file = 'read', list_dir = 'list', grep_files = 'search' }

local function deed(block, item, kind)
  block.deed = { kind = kind, ms = item.durationMs or 0, failed = block.failed or (item.exitCode or 0) ~= 0 }
end

--- Pieces of the person's input as text.
---@param content table[]
---@param made? fun(text: string): string What is made of their words.
---@return string
function M.input(content, made)
  local parts = {}
  for _, piece in ipairs(content or {}) do
    if piece.type == 'text' then
      parts[#parts + 1] = made and made(piece.text) or piece.text
    elseif piece.type == 'mention' then
      local lines = piece.lineRange
      parts[#parts + 1] = '@' .. vim.fn.fnamemodify(piece.path, ':.') .. (lines and ('#L%d-%d'):format(lines.start + 1, lines['end']) or '')
    elseif piece.type == 'localImage' then
      parts[#parts + 1] = ('![%s](%s)'):format(vim.fn.fnamemodify(piece.path, ':t'), piece.path)
    elseif piece.type == 'image' then
      parts[#parts + 1] = '![image]'
    elseif piece.type == 'commandOutput' then
      parts[#parts + 1] = '(the output of the command above)'
    end
  end
  return table.concat(parts, '\n')
end

--- Words about an item, set off from what it holds.
local function aside(text)
  return '*' .. one_line(text, 300):gsub('%*', '') .. '*'
end

local function quoted(line)
  return line == '' and '>' or '> ' .. line
end

--- A tab is narrower behind the sign of a quotation than it is at the margin, and could end what it would not end there.
local function untabbed(text)
  return (text:gsub('\t', '    '))
end

--- Adds a text as a quotation, which folds with all above it. What it leaves open ends with it.
local function quote(block, text)
  for _, line in ipairs(inert.lines(M.lines(untabbed(text)))) do
    block.lines[#block.lines + 1] = quoted(line)
  end
  block.fold = { 1, #block.lines }
end

local blocks = {}

function blocks.userMessage(item)
  local block = { lines = { '## You' }, marks = { { line = 1, group = 'CountersignYou' } } }
  -- Words that were pasted load nothing either, and end where they end.
  vim.list_extend(block.lines, M.lines(M.input(item.content, function(text)
    return table.concat(markdown(text), '\n')
  end)))
  local told = {}
  for _, one in ipairs(item.context or {}) do
    told[#told + 1] = one.label .. (one.note and (' (%s)'):format(one.note) or '')
  end
  if #told > 0 then
    block.status = { { ' with ' .. one_line(table.concat(told, ', '), 80), 'CountersignQuiet' } }
  end
  return block
end

--- What of a text is still coming, as a block. Nil where it is complete, or where control sequences may reach over its lines.
local function coming(item, text, made)
  if item.complete or text:find('\27', 1, true) then
    growing.forget(item)
    return nil
  end
  local one, from = growing.lines(item, text, clean, made)
  return { lines = one.lines, grown = { of = one, version = one.version, from = from } }
end

function blocks.agentMessage(item)
  local grown = not item.partial and coming(item, item.text or '')
  if grown then
    return grown
  end
  local block = { lines = markdown(item.text or '') }
  if item.partial then
    block.lines[#block.lines + 1] = '*(interrupted)*'
  end
  return block
end

function blocks.reasoning(item)
  local parts = #(item.summary or {}) > 0 and item.summary or item.content or {}
  local block = { lines = {} }
  if #parts == 0 then
    return nil
  end
  -- One quotation is one text.
  local text = table.concat(parts, '\n\n')
  local grown = coming(item, untabbed(text), quoted)
  if grown then
    block = grown
    block.fold = { 1, #block.lines }
  else
    quote(block, text)
  end
  block.status = item.complete and {} or { { ' ● thinking', 'CountersignRunning' } }
  block.deed = { kind = 'thought', ms = 0, failed = false }
  return block
end

function blocks.plan(item)
  local block = { lines = { '**Plan**' .. (item.explanation and item.explanation ~= '' and ': ' .. one_line(item.explanation, 300) or '') }, marks = {} }
  local ticks = { completed = '- [x] ', inProgress = '- [ ] ', pending = '- [ ] ' }
  for _, step in ipairs(item.steps or {}) do
    block.lines[#block.lines + 1] = (ticks[step.status] or '- [ ] ') .. one_line(step.step, 300)
    if step.status == 'inProgress' then
      block.marks[#block.marks + 1] = { line = #block.lines, group = 'CountersignRunning' }
    end
  end
  return block
end

function blocks.commandExecution(item)
  local command = M.lines(item.command or '')
  local more = { confined[item.confined] or item.confined }
  if item.source == 'user' then
    more = { 'run by you' }
  end
  if item.exitCode and item.exitCode ~= 0 then
    table.insert(more, 1, ('exit %d'):format(item.exitCode))
  end
  if item.terminalId then
    more[#more + 1] = ('terminal %d'):format(item.terminalId)
  end
  local block = { lines = { code('$ ' .. one_line(command[1], 200) .. (#command > 1 and ' …' or '')) } }
  deeds.stand(block, item, more)
  -- One that came to its end may have failed all the same, as a test run does.
  if item.exitCode and item.exitCode ~= 0 and item.status ~= 'inProgress' then
    block.state, block.failed = { '✗', 'CountersignFailed' }, true
  end
  if item.source ~= 'user' then
    deed(block, item, 'run')
  end
  if #command > 1 then
    fenced(block, 'sh', command)
  end
  local output = item.aggregatedOutput
  if output and output ~= '' then
    local _, behind = output:sub(1, item.beginning or 0):gsub('\n', '')
    fenced(block, 'output', bounded(M.lines(output), item.leftOut, item.beginning and behind))
  end
  if item.fullOutput then
    -- On a line of its own, so that |gf| opens it.
    vim.list_extend(block.lines, { 'Full output:', vim.fn.fnamemodify(item.fullOutput, ':~') })
  end
  if item.reason and item.status ~= 'completed' then
    block.lines[#block.lines + 1] = aside(item.reason)
  end
  -- Who runs a command wants to see what it says.
  if item.source == 'user' and #block.lines <= MOST_OPEN then
    block.fold = nil
  end
  return block
end

local function counts(diff)
  local plus, minus = 0, 0
  for line in diff:gmatch('[^\n]+') do
    if line:match('^%+') and not line:match('^%+%+%+') then
      plus = plus + 1
    elseif line:match('^%-') and not line:match('^%-%-%-') then
      minus = minus + 1
    end
  end
  return plus, minus
end

function blocks.fileChange(item)
  local names, diff = {}, {}
  -- What was made, where the person did not accept all of it.
  local left = {}
  for _, change in ipairs(item.changes or {}) do
    left[change.path] = item.applied ~= nil or nil
  end
  for _, change in ipairs(item.applied or item.changes or {}) do
    left[change.path] = nil
    local plus, minus = counts(change.diff or '')
    local name = one_line(vim.fn.fnamemodify(change.path, ':.'), 300)
    -- What came to nothing before it was looked at has no lines.
    names[#names + 1] = change.diff == '' and name or ('%s +%d −%d'):format(name, plus, minus)
    vim.list_extend(diff, M.lines(change.diff or ''))
  end
  local block = { lines = { '**Change** ' .. table.concat(names, ', ') } }
  deeds.stand(block, item, {})
  if item.status == 'declined' then
    block.status = { { ' rejected', 'CountersignRejected' } }
  end
  if item.applied ~= nil then
    block.status = { { ' accepted in part', 'CountersignQuiet' } }
    local rejected = vim.tbl_map(function(path)
      return vim.fn.fnamemodify(path, ':.')
    end, vim.tbl_keys(left))
    table.sort(rejected)
    if #rejected > 0 then
      block.lines[#block.lines + 1] = aside('Rejected: ' .. table.concat(rejected, ', '))
    end
  end
  if item.status == 'inProgress' and item.proposalId then
    block.status = { { ' pending review', 'CountersignRunning' }, { ' · :Countersign accept, reject', 'CountersignQuiet' } }
  elseif item.autoApproved then
    block.status[#block.status + 1] = { ' · accepted by your policy', 'CountersignQuiet' }
  end
  if #diff > 0 then
    fenced(block, 'diff', bounded(diff))
  end
  if item.outcome and item.status ~= 'completed' then
    block.lines[#block.lines + 1] = aside(item.outcome)
  end
  return block
end

function blocks.commandChanges(item)
  local names, diff, left = {}, {}, 0
  for _, change in ipairs(item.changes or {}) do
    local said = (item.undone or {})[change.path] and ' (undone)' or (item.kept or {})[change.path] and ' (kept)' or ''
    left = left + (said == '' and 1 or 0)
    names[#names + 1] = ('%s +%d −%d%s'):format(one_line(vim.fn.fnamemodify(change.path, ':.'), 300), change.added, change.removed, said)
    vim.list_extend(diff, M.lines(change.diff or ''))
  end
  if (item.more or 0) > 0 then
    names[#names + 1] = ('and %d more'):format(item.more)
  end
  local block = { lines = { '**Changed by a command** ' .. table.concat(names, ', ') } }
  block.status = left > 0 and { { ' · :Countersign files keeps or undoes them', 'CountersignQuiet' } } or {}
  if #diff > 0 then
    fenced(block, 'diff', bounded(diff))
  end
  return block
end

local function call(title, item, more, output)
  local block = { lines = { title } }
  deeds.stand(block, item, more)
  local progress = item.progress
  if progress and item.status == 'inProgress' then
    block.status[#block.status + 1] = { ' · ' .. one_line(progress.message or ('%s of %s'):format(progress.progress, progress.total or '?'), 60), 'CountersignQuiet' }
  end
  if output and output ~= '' then
    fenced(block, 'output', bounded(M.lines(output)))
  end
  if item.error then
    block.lines[#block.lines + 1] = aside(item.error)
  end
  return block
end

function blocks.toolCall(item)
  local block = call(('**%s** %s'):format(one_line(item.tool, 60), one_line(item.title or '', 120)), item, {}, item.output)
  deed(block, item, kinds[item.tool] or 'call')
  return block
end

function blocks.mcpToolCall(item)
  local output = {}
  for _, piece in ipairs(type(item.result) == 'table' and item.result.content or {}) do
    output[#output + 1] = piece.text or ('(%s)'):format(piece.type or 'data')
  end
  local block = call(('**%s** of %s: %s'):format(one_line(item.tool, 60), one_line(item.server, 60), one_line(item.title or '', 120)), item, {}, table.concat(output, '\n'))
  deed(block, item, 'call')
  return block
end

function blocks.collabAgentToolCall(item)
  local words = { spawnAgent = 'starts an agent', sendMessage = 'writes to', wait = 'waits for', listAgents = 'looks at its agents', closeAgent = 'closes' }
  local names = {}
  for _, state in pairs(item.agentsStates or {}) do
    names[#names + 1] = one_line(state.name, 60)
  end
  table.sort(names)
  local block = { lines = { ('**Agents** %s %s'):format(words[item.tool] or item.tool, table.concat(names, ', ')) } }
  deeds.stand(block, item, {})
  if item.prompt and item.prompt ~= '' then
    quote(block, item.prompt)
  end
  return block
end

function blocks.agentMail(item)
  local block = { lines = { ('**From %s**'):format(one_line(item.author, 60)) } }
  quote(block, item.text)
  block.fold = nil
  return block
end

function blocks.enteredReviewMode(item)
  return { lines = { '**' .. one_line(item.review, 200) .. '**' } }
end

function blocks.exitedReviewMode(item)
  return { lines = markdown(item.review ~= '' and item.review or '*The review has no result.*') }
end

function blocks.undo(item)
  local words = { restored = 'as before', removed = 'removed, as before', merged = 'as before, with what you typed', kept = 'left as it is', conflict = 'in conflict', skipped = 'left out' }
  local block = { lines = { '**Undo** ' .. one_line(item.message or '', 300) } }
  deeds.stand(block, item, {})
  for _, file in ipairs(item.files or {}) do
    block.lines[#block.lines + 1] = ('- %s: %s%s'):format(code(vim.fn.fnamemodify(file.path, ':.')), words[file.result] or file.result, file.message and ', ' .. one_line(file.message, 200) or '')
  end
  return block
end

function blocks.contextCompaction(item)
  local size = item.tokensBefore and item.tokensAfter and (' from %d to %d tokens'):format(item.tokensBefore, item.tokensAfter) or ''
  local block = { lines = { '**Compacted conversation**' .. size } }
  deeds.stand(block, item, {})
  if item.message then
    block.lines[#block.lines + 1] = one_line(item.message, 300)
  end
  if item.summary then
    quote(block, item.summary)
  end
  return block
end

--- An item as a block; nil where there is nothing to show of it.
---@param item table
---@return countersign.Block?
function M.block(item)
  local make = blocks[item.type]
  if not make then
    -- Of a newer server: shown by its name rather than not at all.
    return { lines = { ('*(%s)*'):format(item.type) } }
  end
  return make(item)
end

--- How a turn ended, where that is not as it should be.
---@param turn table
---@return countersign.Block?
function M.ending(turn)
  if turn.status == 'failed' then
    local block = { lines = {}, marks = {} }
    for i, line in ipairs(markdown('**Failed:** ' .. (turn.error and turn.error.message or 'The turn failed.'))) do
      block.lines[i] = line
      block.marks[i] = { line = i, group = 'CountersignFailed' }
    end
    return block
  elseif turn.status == 'interrupted' then
    local ended = 'Interrupted: the server ended. Send your message again to continue.'
    local by = { person = 'Stopped by you.', reviewer = 'Stopped by the automatic reviewer.', replaced = 'Stopped for another turn.', shutdown = ended, crash = ended }
    return { lines = { '*' .. (by[turn.interruptedBy] or 'Stopped.') .. '*' }, marks = { { line = 1, group = 'CountersignQuiet' } } }
  end
end

return M
