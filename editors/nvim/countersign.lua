-- Countersign in Neovim 0.10 and newer, with nothing but the built-in LSP client.
--
-- ~/.config/nvim/plugin/countersign.lua, as `countersign editor-config neovim` prints it. The program `countersign` must be on PATH.
-- `:CountersignFix` fixes what is under the cursor; `:CountersignActions` lists all that the agent offers there,
-- also for a range of lines. `:CountersignReview` has changes reviewed; `:CountersignDiff` shows what the agent's last turn
-- changed, `:CountersignUndo` undoes that. `:CountersignChat` opens a chat: any file whose name ends with `.countersign.md` is one;
-- `:CountersignSend` sends what is written at its end, `:CountersignStop` stops the answer.

-- 1. Start the server for every file, beside the language servers you have.
local config = {
  name = 'countersign',
  cmd = { 'countersign' },
  root_markers = { '.git', '.hg', '.svn' },
}
-- Where a chat was opened: it belongs to the server that works there, wherever its file is kept.
local chat_root
local function root_of(buf)
  local in_chat = vim.api.nvim_buf_get_name(buf):match('%.countersign%.md$')
  return in_chat and chat_root or vim.fs.root(buf, config.root_markers)
end
if vim.lsp.config and vim.lsp.enable then
  vim.lsp.config('countersign', {
    cmd = config.cmd,
    root_dir = function(buf, start)
      start(root_of(buf))
    end,
  })
  vim.lsp.enable('countersign')
else
  vim.api.nvim_create_autocmd('FileType', {
    group = vim.api.nvim_create_augroup('countersign', {}),
    callback = function(event)
      local file = vim.api.nvim_buf_get_name(event.buf)
      if vim.bo[event.buf].buftype == '' and file ~= '' then
        local root = root_of(event.buf) or vim.fs.dirname(file)
        vim.lsp.start({ name = config.name, cmd = config.cmd, root_dir = root }, { bufnr = event.buf })
      end
    end,
  })
end

-- 2. Neovim tells a server only of that server's own diagnostics. The agent is to fix those of others, so hand over
--    whatever is on the lines in question, in the shape and the columns that LSP wants.
local function diagnostics_for(client, buf, first, last)
  local encoding = client.offset_encoding
  local function position(lnum, col)
    local line = vim.api.nvim_buf_get_lines(buf, lnum, lnum + 1, false)[1] or ''
    col = math.min(math.max(col, 0), #line)
    if encoding ~= 'utf-8' then
      local utf32, utf16 = vim.str_utfindex(line:sub(1, col))
      col = encoding == 'utf-16' and utf16 or utf32
    end
    return { line = lnum, character = col }
  end
  local found = {}
  for _, diagnostic in ipairs(vim.diagnostic.get(buf)) do
    local last_lnum = diagnostic.end_lnum or diagnostic.lnum
    -- What the agent itself shows there is nothing to be fixed.
    local own = vim.startswith(diagnostic.source or '', 'countersign')
    if not own and diagnostic.lnum <= last and last_lnum >= first then
      found[#found + 1] = {
        range = {
          start = position(diagnostic.lnum, diagnostic.col),
          ['end'] = position(last_lnum, diagnostic.end_col or diagnostic.col),
        },
        severity = diagnostic.severity,
        message = diagnostic.message,
        source = diagnostic.source,
        code = diagnostic.code,
      }
    end
  end
  return found
end

-- The agent offers nothing to whoever asks for a kind, as editors do on save: ask for all, and take those of one kind.
local function actions(kind, range)
  local buf = vim.api.nvim_get_current_buf()
  local client = vim.lsp.get_clients({ bufnr = buf, name = 'countersign' })[1]
  if not client then
    vim.notify('Countersign is not running for this buffer; see :checkhealth vim.lsp and :LspLog', vim.log.levels.WARN)
    return
  end
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local first, last = (range and range[1] or line) - 1, (range and range[2] or line) - 1
  local diagnostics = diagnostics_for(client, buf, first, last)
  if kind and #diagnostics == 0 then
    vim.notify('Countersign: there is no diagnostic on this line', vim.log.levels.INFO)
    return
  end
  local opts = { context = { diagnostics = diagnostics } }
  if kind then
    opts.filter = function(action)
      return action.kind == kind
    end
  end
  if range then
    opts.range = { start = { range[1], 0 }, ['end'] = { range[2], #vim.fn.getline(range[2]) } }
  end
  vim.lsp.buf.code_action(opts)
end

vim.api.nvim_create_user_command('CountersignFix', function()
  actions('countersign.fix')
end, { desc = 'Fix what is under the cursor with the agent' })

vim.api.nvim_create_user_command('CountersignActions', function(command)
  actions(nil, command.range > 0 and { command.line1, command.line2 } or nil)
end, { range = true, desc = 'List what the agent offers here' })

-- 3. Commands of the server that belong to no place in a file.
local function execute(command, argument)
  local here = vim.lsp.get_clients({ bufnr = vim.api.nvim_get_current_buf(), name = 'countersign' })
  local client = here[1] or vim.lsp.get_clients({ name = 'countersign' })[1]
  if not client then
    vim.notify('Countersign is not running; see :checkhealth vim.lsp and :LspLog', vim.log.levels.WARN)
    return
  end
  chat_root = client.config.root_dir or chat_root
  local function answered(err)
    if err then
      vim.notify('Countersign: ' .. err.message, vim.log.levels.ERROR)
    end
  end
  local params = { command = command, arguments = { argument } }
  -- A method since Neovim 0.11, a function before.
  if vim.fn.has('nvim-0.11') == 1 then
    client:request('workspace/executeCommand', params, answered)
  else
    client.request('workspace/executeCommand', params, answered)
  end
end

vim.api.nvim_create_user_command('CountersignDiff', function()
  execute('countersign.showTurnDiff')
end, { desc = "Show what the agent's last turn changed" })

vim.api.nvim_create_user_command('CountersignCompact', function()
  execute('countersign.compactThread')
end, { desc = 'Compact the conversation to make room in the context window' })

vim.api.nvim_create_user_command('CountersignReview', function()
  execute('countersign.reviewChanges')
end, { desc = 'Start a code review' })

vim.api.nvim_create_user_command('CountersignUndo', function()
  execute('countersign.undoLastTurn')
end, { desc = "Undo what the agent's last turn changed" })

-- 4. Chats.
for name, given in pairs({
  CountersignChat = { 'countersign.openChat', 'Open a chat with the agent' },
  CountersignSend = { 'countersign.chatSend', 'Send what is written at the end of the chat' },
  CountersignStop = { 'countersign.chatStop', 'Stop the answer in the chat' },
}) do
  vim.api.nvim_create_user_command(name, function()
    local in_chat = vim.api.nvim_buf_get_name(0):match('%.countersign%.md$')
    execute(given[1], in_chat and { uri = vim.uri_from_bufnr(0) } or nil)
  end, { desc = given[2] })
end
