-- What plugins for settings by project do: the files of VS Code and coc in a project become settings of every language server.
local function read(path)
  local file = io.open(path)
  local text = file and file:read('a')
  if file then
    file:close()
  end
  return text and vim.json.decode(text) or {}
end

--- Names with dots as tables in tables.
local function unfold(settings)
  local whole = {}
  for name, value in pairs(settings) do
    for part in vim.iter(vim.split(name, '.', { plain = true })):rev() do
      value = { [part] = value }
    end
    whole = vim.tbl_deep_extend('force', whole, value)
  end
  return whole
end

vim.api.nvim_create_autocmd('LspAttach', {
  callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    local root = client.config.root_dir
    local found = vim.tbl_deep_extend('force', read(root .. '/.vscode/settings.json'), read(root .. '/.vim/coc-settings.json'))
    client.settings = vim.tbl_deep_extend('force', client.settings or {}, unfold(found))
    client.notify('workspace/didChangeConfiguration', { settings = client.settings })
  end,
})
