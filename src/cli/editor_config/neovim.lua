-- ~/.config/nvim/plugin/countersign.lua: the agent for every file, beside the language servers you have. Neovim 0.10 or newer.
local roots = { '.git', '.hg', '.svn' }
if vim.lsp.config and vim.lsp.enable then
  vim.lsp.config('countersign', { cmd = { 'countersign' }, root_markers = roots })
  vim.lsp.enable('countersign')
else
  vim.api.nvim_create_autocmd('FileType', {
    group = vim.api.nvim_create_augroup('countersign', {}),
    callback = function(event)
      local file = vim.api.nvim_buf_get_name(event.buf)
      if vim.bo[event.buf].buftype == '' and file ~= '' then
        local root = vim.fs.root(event.buf, roots) or vim.fs.dirname(file)
        vim.lsp.start({ name = 'countersign', cmd = { 'countersign' }, root_dir = root }, { bufnr = event.buf })
      end
    end,
  })
end

-- A chat is any file whose name ends with .countersign.md; :CountersignChat makes one.
local function run(command)
  local client = vim.lsp.get_clients({ name = 'countersign' })[1]
  if client == nil then
    return vim.notify('Countersign does not run yet: open a file first.', vim.log.levels.ERROR)
  end
  local argument = vim.api.nvim_buf_get_name(0):match('%.countersign%.md$') and { { uri = vim.uri_from_bufnr(0) } } or {}
  local function told(problem)
    if problem then
      vim.notify(problem.message, vim.log.levels.ERROR)
    end
  end
  local params = { command = command, arguments = argument }
  if vim.fn.has('nvim-0.11') == 1 then
    client:request('workspace/executeCommand', params, told, 0)
  else
    client.request('workspace/executeCommand', params, told, 0)
  end
end
vim.api.nvim_create_user_command('CountersignChat', function() run('countersign.openChat') end, {})
vim.api.nvim_create_user_command('CountersignSend', function() run('countersign.chatSend') end, {})
vim.api.nvim_create_user_command('CountersignStop', function() run('countersign.chatStop') end, {})
