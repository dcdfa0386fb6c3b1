--- What is asked about a place in a file: mend what is wrong there, answer a question, rewrite it. In the conversation that
--- the person used last, with the editor's tools.
local chat = require('countersign.chat')
local client = require('countersign.client')
local context = require('countersign.context')
local picker = require('countersign.picker')

local M = {}

--- The conversation that takes a question about code: the one used last if it is idle, else a new one.
---@param words string Told to the person again where there is none.
local function with_thread(words, done)
  local function failed(error)
    client.tell((error and error.message .. ' ' or '') .. 'Not asked: ' .. words, vim.log.levels.ERROR)
  end
  client.with(function(server)
    local thread = require('countersign.threads').current(server.id)
    if thread and not thread.turn then
      done(thread)
    else
      chat.start(done, nil, failed)
    end
  end, failed)
end

--- Says something about a place.
---@param words string
---@param place { path: string, lines?: table, diagnostics?: table[] }
---@param shows? boolean|'go' The answer is what is wanted: the conversation is shown, and the person stays where they are, or goes there.
local function say(words, place, shows)
  with_thread(words, function(thread)
    require('countersign.composer').say(thread, words, {
      context = { activeFile = place.path, selection = place.lines, diagnostics = place.diagnostics },
    })
    if shows == 'go' then
      return require('countersign.chat.window').open(thread.id)
    end
    local shown = shows and require('countersign.chat.window').reveal(thread.id)
    if not shown and not chat.is_visible(thread.id) then
      client.tell('asked. :Countersign chat shows the conversation.')
    end
  end)
end

--- The lines that are meant: those given, else that of the cursor.
---@param range? { [1]: integer, [2]: integer } From 1, both included.
local function place_of(range)
  local win, buf = client.file_window()
  if not win or not buf then
    client.tell('there is no file here; go to one first.', vim.log.levels.WARN)
    return nil
  end
  local line = vim.api.nvim_win_get_cursor(win)[1]
  local lines = { start = (range and range[1] or line) - 1, ['end'] = range and range[2] or line }
  return { path = vim.api.nvim_buf_get_name(buf), buf = buf, lines = lines, diagnostics = context.problems(buf, lines) }
end

local function fix_words(diagnostics, more)
  local messages = vim.tbl_map(function(one)
    return vim.trim(one.message)
  end, diagnostics)
  local subject = #messages == 0 and 'the problem at the marked place' or (#messages == 1 and 'this problem: ' or 'these problems: ') .. table.concat(messages, '; ')
  return 'Fix ' .. subject .. (more and more ~= '' and '. ' .. more or '')
end

--- Has the problems of the lines mended.
---@param range? { [1]: integer, [2]: integer }
---@param more? string
function M.fix(range, more)
  local place = place_of(range)
  if place and #place.diagnostics == 0 and not range and (more or '') == '' then
    client.tell('there is no problem on this line. Select lines, or say what is wrong: :Countersign fix …')
  elseif place then
    say(fix_words(place.diagnostics, more), place)
  end
end

--- Asks the person for words where there are none, then asks the agent.
local function in_words(prompt, words, range, make, shows)
  local place = place_of(range)
  if not place then
    return
  end
  local function go(text)
    if text and vim.trim(text) ~= '' then
      say(make(text), place, shows)
    end
  end
  if words and words ~= '' then
    go(words)
  else
    picker.input({ prompt = prompt }, go)
  end
end

---@param range? { [1]: integer, [2]: integer }
---@param words? string
---@param go? boolean The person goes to the chat.
function M.ask(range, words, go)
  in_words('Ask about these lines: ', words, range, function(text)
    return text
  end, go and 'go' or true)
end

---@param range? { [1]: integer, [2]: integer }
---@param words? string
function M.rewrite(range, words)
  in_words('Rewrite these lines: ', words, range, function(text)
    return 'Rewrite the selected lines: ' .. text
  end)
end

--- Lists all that the server offers for the lines. Neovim tells a server only of that server's own diagnostics, and the agent
--- is to mend those of others, so they are handed over.
---@param range? { [1]: integer, [2]: integer }
function M.list(range)
  local buf = vim.api.nvim_get_current_buf()
  local server = vim.lsp.get_clients({ bufnr = buf, name = 'countersign' })[1]
  if not server then
    return client.tell('the server does not serve this buffer. :checkhealth countersign says why.', vim.log.levels.WARN)
  end
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local first, last = (range and range[1] or line) - 1, (range and range[2] or line) - 1
  local diagnostics = {}
  for _, one in ipairs(vim.diagnostic.get(buf)) do
    local own = vim.startswith(one.source or '', 'countersign')
    local behind = one.end_lnum or one.lnum
    if not own and one.lnum <= last and behind >= first then
      local column = require('countersign.tools.lsp').column
      local function position(row, byte)
        local text = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ''
        return { line = row, character = column(text, math.max(0, math.min(byte, #text)), server.offset_encoding) }
      end
      diagnostics[#diagnostics + 1] = {
        range = { start = position(one.lnum, one.col), ['end'] = position(behind, one.end_col or one.col) },
        severity = one.severity,
        message = one.message,
        source = one.source,
        code = one.code,
      }
    end
  end
  local options = { context = { diagnostics = diagnostics } }
  if range then
    options.range = { start = { range[1], 0 }, ['end'] = { range[2], #vim.fn.getline(range[2]) } }
  end
  vim.lsp.buf.code_action(options)
end

--- The argument of one of the server's commands, as a place.
local function given(command)
  local argument = (command.arguments or {})[1] or {}
  local path = argument.uri and vim.uri_to_fname(argument.uri) or nil
  return argument, { path = path, lines = argument.lines, diagnostics = argument.diagnostics }
end

--- A decision from a menu: on what was shown, as by a command of ours.
local function decide(decision, argument)
  local proposals = require('countersign.proposals')
  local list = argument.proposalId and { proposals.get(argument.proposalId) } or proposals.list()
  if #list == 0 then
    return client.tell(argument.proposalId and proposals.gone(argument.proposalId) or proposals.none('for you'), vim.log.levels.WARN)
  end
  local which = (argument.hunkIds or argument.path) and { hunkIds = argument.hunkIds, path = argument.path } or nil
  require('countersign.review').decide_on(vim.tbl_map(function(proposal)
    return { proposal = proposal, which = which }
  end, list), decision, argument.feedback)
end

--- Commands of the server's code actions that are carried out here, so that they have the editor's tools and can ask for words.
---@return table<string, fun(command: table)>
function M.commands()
  return {
    ['countersign.fix'] = function(command)
      local argument, place = given(command)
      say(fix_words(place.diagnostics or {}, argument.instruction), place)
    end,
    ['countersign.ask'] = function(command)
      local argument, place = given(command)
      picker.input({ prompt = 'Ask about these lines: ', default = argument.instruction }, function(words)
        if words and vim.trim(words) ~= '' then
          say(words, place, true)
        end
      end)
    end,
    ['countersign.rewrite'] = function(command)
      local argument, place = given(command)
      picker.input({ prompt = 'Rewrite these lines: ', default = argument.instruction }, function(words)
        if words and vim.trim(words) ~= '' then
          say('Rewrite the selected lines: ' .. words, place)
        end
      end)
    end,
    ['countersign.undoLastTurn'] = function()
      require('countersign.commands').run('undo', '')
    end,
    ['countersign.showTurnDiff'] = function()
      require('countersign.commands').run('changes', '')
    end,
    ['countersign.showProposal'] = function(command)
      local argument = (command.arguments or {})[1] or {}
      if argument.hunkId then
        -- One change by itself is shown as a diff, which the server makes.
        return client.execute('countersign.showProposal', argument)
      end
      local function open(proposal)
        require('countersign.review.side').open(proposal, argument.path)
      end
      local proposal = require('countersign.proposals').get(argument.proposalId or '')
      if proposal then
        open(proposal)
      else
        require('countersign.review').choose(open)
      end
    end,
    ['countersign.decide'] = function(command)
      local argument = (command.arguments or {})[1] or {}
      decide(argument.decision or 'reject', argument)
    end,
    ['countersign.acceptAll'] = function(command)
      decide('accept', (command.arguments or {})[1] or {})
    end,
    ['countersign.rejectWithWords'] = function(command)
      local argument = (command.arguments or {})[1] or {}
      local proposal = require('countersign.proposals').get(argument.proposalId or '')
      if not proposal then
        return client.tell(require('countersign.proposals').gone(argument.proposalId or ''), vim.log.levels.WARN)
      end
      picker.input({ prompt = 'What should the agent change? ' }, function(words)
        if words ~= nil then
          local which = { hunkIds = argument.hunkIds, path = argument.path }
          require('countersign.proposals').decide(proposal, 'reject', which, words)
        end
      end)
    end,
    ['countersign.nextChange'] = function()
      require('countersign.review').move(1)
    end,
  }
end

return M
