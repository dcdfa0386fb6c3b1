--- May this command run, this folder be written, this tool be called?
local ask = require('countersign.ask')
local choice = require('countersign.ask.choice')

local M = {}

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
---@return table[]
function M.choices(params, verb)
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
    if offered[decision] then
      local rule = decision == 'acceptAlways' and params.alwaysRule
      add(decision, names[decision], rule and { detail = ('%s, written to %s'):format(rule.text, vim.fn.fnamemodify(rule.file, ':~')) } or nil)
    end
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

local function put(params, lines, verb, kind)
  local who = params.agent and ('agent %s: '):format(params.agent) or ''
  return {
    id = params.id,
    thread = params.threadId,
    title = who .. choice.line(lines[1], 100),
    nothing = { decision = 'decline', turnId = params.turnId },
    show = function(answer)
      choice.pick(M.choices(params, verb), who .. table.concat(lines, '\n'), kind, function(chosen)
        if not chosen then
          return answer(nil)
        end
        local result = { decision = chosen.decision, turnId = params.turnId }
        if not chosen.words then
          return answer(result)
        end
        vim.ui.input({ prompt = 'What should the agent do instead? ' }, function(words)
          -- Nothing said is still a no.
          result.feedback = words and vim.trim(words) ~= '' and words or nil
          answer(result)
        end)
      end)
    end,
  }
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
  local lines = { ('Run %s?'):format(choice.line(M.command_line(params.command), 400)) }
  local does = deeds(params.actions)
  lines[#lines + 1] = ('In %s, %s%s.'):format(vim.fn.fnamemodify(params.cwd, ':~'), confined[params.confined] or params.confined, does ~= '' and (': ' .. does) or '')
  lines[#lines + 1] = choice.line(params.reason, 300)
  if params.justification then
    lines[#lines + 1] = 'The agent says: ' .. choice.line(params.justification, 300)
  end
  if params.risk then
    lines[#lines + 1] = ('Risk %s: %s'):format(params.risk.level, choice.line(params.risk.description, 200))
  end
  return ask.wait(put(params, lines, params.confined == 'outside' and 'Run once outside the sandbox' or 'Run once', 'countersign.command'))
end

function M.permission(params)
  local lines = { choice.line(params.reason, 400) }
  for _, path in ipairs(params.paths or {}) do
    lines[#lines + 1] = '  ' .. choice.line(vim.fn.fnamemodify(path, ':~'), 200)
    if #lines > 8 then
      lines[#lines + 1] = ('  and %d more'):format(#params.paths - 8)
      break
    end
  end
  local until_when = { command = 'Allow for this command', turn = 'Allow for this turn', session = 'Allow', always = 'Allow' }
  return ask.wait(put(params, lines, until_when[params.acceptCovers] or 'Allow', 'countersign.permission'))
end

function M.tool(params)
  local arguments = vim.json.encode(params.arguments)
  local lines = {
    ('Call %s of the tool server %s?'):format(choice.line(params.tool, 80), choice.line(params.server, 60)),
    choice.line(params.title, 200),
    'With ' .. choice.line(arguments, 300),
    choice.line(params.reason, 300),
  }
  return ask.wait(put(params, lines, 'Call once', 'countersign.tool'))
end

return M
