--- May this command run, this folder be written, this tool be called?
local ask = require('countersign.ask')
local choice = require('countersign.ask.choice')
local picker = require('countersign.picker')
local whole = require('countersign.ask.whole')

local M = {}

--- Characters of a command, or of a call's arguments, that a prompt shows.
local MOST = 240

local confined = {
  readOnly = 'inside the sandbox, reading only',
  workspace = 'inside the sandbox',
  outside = 'OUTSIDE the sandbox',
}

--- What the choices are called, for a kind of question.
local function labels(params, verb)
  local always = params.alwaysRule
  return {
    accept = verb,
    acceptForSession = params.sessionScope and ('Allow for Session: ' .. choice.line(params.sessionScope, 100)) or 'Allow for Session',
    acceptAlways = always and ('Always Allow: ' .. choice.line(always.title, 80)) or 'Always Allow',
    decline = 'Deny',
    cancel = 'Deny and Stop',
  }
end

--- Whether a choice has room for all that it covers: what a yes for longer covers stands nowhere else.
local function covers(decision, params)
  local rule = params.alwaysRule
  if decision == 'acceptForSession' then
    return whole.fits(params.sessionScope or '', 100)
  end
  return decision ~= 'acceptAlways' or not rule or (whole.fits(rule.title, 80) and whole.fits(rule.text .. rule.file, 130))
end

--- The choices in the order in which they are shown: the first one, which an unlucky Enter takes, is a no.
---@param params table
---@param verb string
---@param unread? boolean Not all of what is asked about has been shown: there is no yes to it yet.
---@param read? boolean All of it has been read, also what only a yes for longer covers.
---@return table[]
function M.choices(params, verb, unread, read)
  local names, list = labels(params, verb), {}
  local offered = {}
  for _, decision in ipairs(params.availableDecisions or {}) do
    offered[decision] = true
  end
  local function add(decision, label, extra)
    list[#list + 1] = vim.tbl_extend('force', { label = label, decision = decision }, extra or {})
  end
  add('decline', names.decline)
  -- A yes for longer is one to the tool as it is, which no prompt has room for.
  local undefined = (params.definition or '') ~= '' and not read
  for _, decision in ipairs({ 'accept', 'acceptForSession', 'acceptAlways' }) do
    local longer = decision ~= 'accept'
    if offered[decision] and not unread and not (longer and undefined) and covers(decision, params) then
      local rule = decision == 'acceptAlways' and params.alwaysRule
      add(decision, names[decision], rule and { detail = ('%s, written to %s'):format(rule.text, vim.fn.fnamemodify(rule.file, ':~')) } or nil)
    end
  end
  if unread or undefined and (offered.acceptForSession or offered.acceptAlways) then
    list[#list + 1] = whole.READ
  end
  if offered.decline then
    add('decline', 'Deny with Comment…', { words = true })
  end
  if offered.cancel then
    add('cancel', names.cancel)
  end
  return list
end

---@class countersign.Asked
---@field title string What is read where the prompt does not hold all of it.
---@field parts countersign.Part[]
---@field verb string
---@field kind string

---@param params table
---@param asked countersign.Asked
local function put(params, asked)
  local who = params.agent and ('agent %s: '):format(choice.line(params.agent, 60)) or ''
  -- What the server notes of it stands before what the agent says of it.
  for i, note in ipairs(params.notes or {}) do
    table.insert(asked.parts, i + 1, { 'Note: ', note, 300 })
  end
  local lines, all = whole.told(asked.parts)
  local question
  local function decided(chosen, answer)
    if not chosen then
      return answer(nil)
    end
    local result = { decision = chosen.decision, turnId = params.turnId }
    -- Words to a question that is settled would be read by nobody.
    if not chosen.words or question.settled then
      return answer(result)
    end
    picker.input({ prompt = 'What should the agent do instead? ' }, function(words)
      -- Nothing said is still a no.
      result.feedback = words and vim.trim(words) ~= '' and words or nil
      answer(result)
    end)
  end
  question = {
    id = params.id,
    thread = params.threadId,
    title = who .. choice.line(lines[1], 100),
    nothing = { decision = 'decline', turnId = params.turnId },
    show = function(answer)
      whole.put(question, {
        title = asked.title,
        kind = asked.kind,
        -- All of it has the rest of the lines, too.
        prompt = who .. (all and lines[1] or table.concat(lines, '\n')),
        all = all and who .. all or nil,
        more = params.definition,
      }, function(unread)
        return M.choices(params, asked.verb, unread, question.was_read)
      end, function(chosen)
        decided(chosen, answer)
      end)
    end,
  }
  return question
end

--- What a command does, in words.
local function deeds(actions)
  local words = {}
  for _, action in ipairs(actions or {}) do
    if action.type == 'read' then
      words[#words + 1] = 'reads ' .. choice.line(action.name, 60)
    elseif action.type == 'listFiles' then
      words[#words + 1] = 'lists ' .. choice.line(action.path or 'files', 60)
    elseif action.type == 'search' then
      words[#words + 1] = 'searches' .. (action.query and (' for ' .. choice.line(action.query, 40)) or '')
    elseif action.type == 'build' then
      words[#words + 1] = action.words
    elseif action.type == 'test' then
      words[#words + 1] = 'runs tests'
    end
  end
  return table.concat(words, ', ')
end

--- What others say, as one line: what stands on a line of its own is ours.
local function one_line(text)
  return vim.trim((text:gsub('%s+', ' ')))
end

--- What the agent says of what it asks for.
local function said(words)
  return words and { 'The agent says: ', one_line(words), 300 } or nil
end

--- A script on lines of its own, none of which begins where ours do.
local function script(text)
  return 'Run:\n    ' .. text:gsub('\n', '\n    ')
end

function M.command(params)
  local does = deeds(params.actions)
  local place = (', %s%s.'):format(confined[params.confined] or params.confined, does ~= '' and (': ' .. does) or '')
  local parts = {
    -- To the letter as the server writes it: which program runs is part of it, whatever its name.
    { 'Run ', params.display, MOST, '?', whole = params.script and script(params.script) },
    { 'In ', vim.fn.fnamemodify(params.cwd, ':~'), 200, place },
    { '', params.reason, 300 },
  }
  parts[#parts + 1] = said(params.justification)
  if params.risk then
    parts[#parts + 1] = { ('Risk %s: '):format(params.risk.level), one_line(params.risk.description), 200 }
  end
  return ask.wait(put(params, {
    title = 'The whole command',
    parts = parts,
    verb = params.confined == 'outside' and 'Allow Once Outside the Sandbox' or 'Allow Once',
    kind = 'countersign.command',
  }))
end

function M.permission(params)
  local parts = { { '', params.reason, 400 } }
  for i, path in ipairs(params.paths or {}) do
    -- Of many the rest is one line, which is never all of it.
    if i == 9 and #params.paths > 9 then
      local rest = vim.tbl_map(function(one)
        return '  ' .. vim.fn.fnamemodify(one, ':~')
      end, vim.list_slice(params.paths, i))
      parts[#parts + 1] = { '', ('  and %d more'):format(#rest), 40, cut = true, full = table.concat(rest, '\n') }
      break
    end
    parts[#parts + 1] = { '  ', vim.fn.fnamemodify(path, ':~'), MOST }
  end
  parts[#parts + 1] = said(params.justification)
  local until_when = { command = 'Allow for Command', turn = 'Allow for Turn', session = 'Allow', always = 'Allow' }
  return ask.wait(put(params, {
    title = 'All that is asked for',
    parts = parts,
    verb = until_when[params.acceptCovers] or 'Allow',
    kind = 'countersign.permission',
  }))
end

function M.tool(params)
  return ask.wait(put(params, {
    title = 'The whole call',
    parts = {
      { 'Call ', ('%s of the MCP server %s'):format(params.tool, params.server), 140, '?' },
      { '', params.title, 200 },
      { 'With ', vim.json.encode(params.arguments), MOST, full = vim.inspect(params.arguments) },
      { '', params.reason, 300 },
    },
    verb = 'Allow Once',
    kind = 'countersign.tool',
  }))
end

return M
