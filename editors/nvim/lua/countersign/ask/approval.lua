--- May this command run, this folder be written, this tool be called?
local ask = require('countersign.ask')
local card = require('countersign.ask.card')
local choice = require('countersign.ask.choice')
local picker = require('countersign.picker')

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
    acceptForSession = params.sessionScope and ('Allow for this session: ' .. choice.line(params.sessionScope, 100)) or 'Allow for this session',
    acceptAlways = always and ('Always allow: ' .. choice.line(always.title, 80)) or 'Always allow',
    decline = 'Decline',
    cancel = 'Decline and stop the agent',
  }
end

--- The choices in the order in which they are shown: the first one, which an unlucky Enter takes, is a no.
---@param params table
---@param verb string
---@param unread? boolean Not all of what is asked about has been shown: there is no yes to it yet.
---@return table[]
function M.choices(params, verb, unread)
  local names, list = labels(params, verb), {}
  local offered = {}
  for _, decision in ipairs(params.availableDecisions or {}) do
    offered[decision] = true
  end
  local function add(decision, label, extra)
    list[#list + 1] = vim.tbl_extend('force', { label = label, decision = decision }, extra or {})
  end
  add('decline', names.decline)
  for _, decision in ipairs({ 'accept', 'acceptForSession', 'acceptAlways' }) do
    if offered[decision] and not unread then
      local rule = decision == 'acceptAlways' and params.alwaysRule
      add(decision, names[decision], rule and { detail = ('%s, written to %s'):format(rule.text, vim.fn.fnamemodify(rule.file, ':~')) } or nil)
    end
  end
  if unread then
    add(nil, 'Read all of it, then decide…', { read = true })
  end
  if offered.decline then
    add('decline', 'Decline and say why…', { words = true })
  end
  if offered.cancel then
    add('cancel', names.cancel)
  end
  return list
end

--- A command as one line. Arguments with anything but plain characters are quoted.
---@param command string[]
---@return string
function M.command_line(command)
  local last = command[#command]
  if #command == 3 and command[2]:match('^%-l?c$') and command[1]:match('sh$') then
    return last
  end
  return table.concat(
    vim.tbl_map(function(word)
      return word:match("^[%w%%+,./:=@_-]+$") and word or "'" .. word:gsub("'", "'\\''") .. "'"
    end, command),
    ' '
  )
end

--- A text for a prompt, and whether that is all of it, as it stands.
---@param text string
---@return string line
---@return boolean whole
local function short(text)
  local whole = vim.fn.strchars(text) <= MOST and not text:find('%c')
  return vim.fn.strtrans(choice.line(text, MOST)), whole
end

---@class countersign.Asked
---@field title string What `all` is.
---@field lines string[] The prompt.
---@field all? string What is asked about, where the prompt does not hold all of it.
---@field verb string
---@field kind string

---@param params table
---@param asked countersign.Asked
local function put(params, asked)
  local who = params.agent and ('agent %s: '):format(params.agent) or ''
  local all = asked.all and card.lines(asked.all)
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
    title = who .. choice.line(asked.lines[1], 100),
    nothing = { decision = 'decline', turnId = params.turnId },
    show = function(answer)
      local prompt = who .. table.concat(asked.lines, '\n')
      -- Also a prompt by itself may be more than the screen holds.
      local fits = picker.fits(prompt, all or {})
      local unread = not fits and not question.was_read
      choice.pick(M.choices(params, asked.verb, unread), prompt, asked.kind, function(chosen)
        if not (chosen and chosen.read) then
          return decided(chosen, answer)
        end
        question.was_read = true
        ask.put_aside(question)
        local text = all or {}
        if not picker.fits(prompt, {}) then
          text = vim.list_extend(card.lines(prompt), all and vim.list_extend({ '' }, all) or {})
        end
        card.read(asked.title, text, function()
          ask.take_up(question)
        end)
      end, {
        title = fits and all and asked.title or nil,
        all = fits and all or nil,
        opened = function(close)
          question.close = close
        end,
      })
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

function M.command(params)
  local command = M.command_line(params.command)
  local line, whole = short(command)
  local lines = { ('Run %s?'):format(line) }
  local does = deeds(params.actions)
  lines[#lines + 1] = ('In %s, %s%s.'):format(vim.fn.fnamemodify(params.cwd, ':~'), confined[params.confined] or params.confined, does ~= '' and (': ' .. does) or '')
  lines[#lines + 1] = choice.line(params.reason, 300)
  if params.justification then
    lines[#lines + 1] = 'The agent says: ' .. choice.line(params.justification, 300)
  end
  if params.risk then
    lines[#lines + 1] = ('Risk %s: %s'):format(params.risk.level, choice.line(params.risk.description, 200))
  end
  return ask.wait(put(params, {
    title = 'The whole command',
    lines = lines,
    all = not whole and command or nil,
    verb = params.confined == 'outside' and 'Run once outside the sandbox' or 'Run once',
    kind = 'countersign.command',
  }))
end

function M.permission(params)
  local lines, paths = { choice.line(params.reason, 400) }, params.paths or {}
  local whole = vim.fn.strchars(params.reason) <= 400
  for i, path in ipairs(paths) do
    local line, good = short(vim.fn.fnamemodify(path, ':~'))
    whole = whole and good
    lines[#lines + 1] = '  ' .. line
    if i == 8 and #paths > 8 then
      lines[#lines + 1] = ('  and %d more'):format(#paths - 8)
      whole = false
      break
    end
  end
  local until_when = { command = 'Allow for this command', turn = 'Allow for this turn', session = 'Allow', always = 'Allow' }
  return ask.wait(put(params, {
    title = 'All that is asked for',
    lines = lines,
    all = not whole and table.concat({ params.reason, '', table.concat(paths, '\n') }, '\n') or nil,
    verb = until_when[params.acceptCovers] or 'Allow',
    kind = 'countersign.permission',
  }))
end

function M.tool(params)
  local arguments = vim.json.encode(params.arguments)
  local line, whole = short(arguments)
  local lines = {
    ('Call %s of the tool server %s?'):format(choice.line(params.tool, 80), choice.line(params.server, 60)),
    choice.line(params.title, 200),
    'With ' .. line,
    choice.line(params.reason, 300),
  }
  return ask.wait(put(params, {
    title = 'All of the arguments',
    lines = lines,
    all = not whole and vim.inspect(params.arguments) or nil,
    verb = 'Call once',
    kind = 'countersign.tool',
  }))
end

return M
