local T = ...
local tests = {}

--- A language server within the editor, which answers from a table.
local function language_server(answers)
  local encoding = 'utf-16'
  return function(dispatchers)
    local closing, id = false, 0
    return {
      request = function(method, params, done)
        id = id + 1
        local answer = answers[method]
        vim.schedule(function()
          done(nil, type(answer) == 'function' and answer(params) or answer)
        end)
        return true, id
      end,
      notify = function(method)
        if method == 'exit' then
          dispatchers.on_exit(0, 0)
        end
        return true
      end,
      is_closing = function()
        return closing
      end,
      terminate = function()
        closing = true
      end,
      encoding = encoding,
    }
  end
end

local function place(uri, line, from, to)
  return { uri = uri, range = { start = { line = line, character = from }, ['end'] = { line = line, character = to } } }
end

--- Carries out a tool as the server would ask for it.
local function call(tool, arguments)
  local got
  coroutine.wrap(function()
    got = require('countersign.tools').call({ threadId = 't', turnId = 'u', callId = 'c', tool = tool, arguments = arguments }, 1)
  end)()
  T.wait(tool, function()
    return got ~= nil
  end)
  return got.contentItems[1].text, got.success
end

local function stage()
  local folder = vim.uv.fs_realpath(vim.fn.fnamemodify(vim.fn.tempname(), ':h')) .. '/project'
  vim.fn.mkdir(folder, 'p')
  local path = folder .. '/shop.txt'
  vim.fn.writefile({ 'let pear = 1 # 🍐', 'print(pear)' }, path)
  local uri = vim.uri_from_fname(path)
  require('countersign.threads').ensure('t', 1).cwd = folder
  vim.cmd.edit(path)
  local id = vim.lsp.start({
    name = 'toy',
    cmd = language_server({
      initialize = { capabilities = { definitionProvider = true, referencesProvider = true, hoverProvider = true, renameProvider = true, documentSymbolProvider = true, positionEncoding = 'utf-16' } },
      shutdown = vim.NIL,
      ['textDocument/definition'] = place(uri, 0, 4, 8),
      ['textDocument/references'] = { place(uri, 0, 4, 8), place(uri, 1, 6, 10), place(uri, 1, 6, 10) },
      ['textDocument/hover'] = { contents = { kind = 'markdown', value = 'pear: **number**' } },
      ['textDocument/documentSymbol'] = { { name = 'pear', kind = 13, range = place(uri, 0, 0, 1).range, selectionRange = place(uri, 0, 0, 1).range } },
      ['textDocument/rename'] = function(params)
        return { changes = { [uri] = { { range = place(uri, 0, 4, 8).range, newText = params.newName }, { range = place(uri, 1, 6, 10).range, newText = params.newName } } } }
      end,
    }),
    root_dir = folder,
  })
  T.wait('the toy server', function()
    local client = id and vim.lsp.get_client_by_id(id)
    return client and client.initialized
  end)
  return folder
end

tests['the model sees through the language servers'] = function()
  local folder = stage()
  local at = { path = 'shop.txt', line = 2, symbol = 'pear' }
  T.equal(call('editor_definition', at), 'shop.txt:1: let pear = 1 # 🍐')
  T.equal(call('editor_references', at), 'shop.txt:1: let pear = 1 # 🍐\nshop.txt:2: print(pear)')
  T.equal(call('editor_hover', at), 'pear: **number**')
  T.has(call('editor_symbols', { path = 'shop.txt' }), 'variable pear 1-1')
  local patch = call('editor_rename', vim.tbl_extend('force', at, { newName = 'apple' }))
  T.has(patch, '*** Begin Patch\n*** Update File: shop.txt\n@@\n-let pear = 1 # 🍐\n-print(pear)\n+let apple = 1 # 🍐\n+print(apple)\n*** End Patch')
  T.equal(vim.fn.readfile(folder .. '/shop.txt')[2], 'print(pear)')
  T.equal(vim.bo.modified, false)
  vim.diagnostic.set(vim.api.nvim_create_namespace('toy'), 0, { { lnum = 1, col = 6, message = 'no such\nname', severity = 1, source = 'toy', code = 7 } })
  T.equal(call('editor_diagnostics', { path = 'shop.txt' }), 'shop.txt:2:7: error: no such name [toy 7]')
  T.equal(call('editor_diagnostics', {}), 'shop.txt:2:7: error: no such name [toy 7]')
end

tests['what cannot be meant is an answer in words'] = function()
  stage()
  for _, row in ipairs({
    { 'editor_hover', { path = 'none.txt', line = 1, symbol = 'x' }, 'There is no file' },
    { 'editor_hover', { path = '/etc/hosts', line = 1, symbol = 'x' }, 'lies outside' },
    { 'editor_hover', { path = '../../secret', line = 1, symbol = 'x' }, 'lies outside' },
    { 'editor_hover', { path = 'shop.txt', line = 9, symbol = 'x' }, 'has 2 lines' },
    { 'editor_hover', { path = 'shop.txt', line = 0, symbol = 'x' }, 'from 1' },
    { 'editor_hover', { path = 'shop.txt', line = '1', symbol = 'x' }, 'whole number' },
    { 'editor_hover', { path = 'shop.txt', line = 1, symbol = 'plum' }, 'has no plum' },
    { 'editor_hover', { path = 'shop.txt', line = 1 }, 'symbol must be' },
    { 'editor_hover', {}, 'path must be' },
    { 'editor_rename', { path = 'shop.txt', line = 1, symbol = 'pear', newName = ' ' }, 'newName must be' },
    { 'editor_symbols', {}, 'Give path' },
    { 'editor_symbols', { query = 'x' }, 'No language server' },
    { 'editor_sing', {}, 'There is no tool editor_sing' },
  }) do
    local text, success = call(row[1], row[2])
    T.equal(success, false, row[1])
    T.has(text, row[3])
  end
  local text, success = call('editor_hover', 'no object')
  T.equal(success, false)
  T.has(text, 'path must be')
end

tests['each can be switched off'] = function()
  local names = {}
  for _, spec in ipairs(require('countersign.tools').specs()) do
    names[#names + 1] = spec.name
    T.equal(spec.inputSchema.type, 'object')
  end
  T.equal(names, { 'editor_definition', 'editor_diagnostics', 'editor_hover', 'editor_references', 'editor_rename', 'editor_symbols' })
  T.fresh({ tools = { hover = false, rename = false } })
  T.equal(#require('countersign.tools').specs(), 4)
  local text, success = call('editor_hover', {})
  T.equal(success, false)
  T.has(text, 'switched editor_hover off')
end

tests['files are written before a command only where that is right'] = function()
  local documents = require('countersign.documents')
  local path = vim.fn.tempname()
  vim.fn.writefile({ 'a' }, path)
  for _, row in ipairs({ { 'agent', false, true }, { 'agent', true, false }, { 'all', true, true }, { 'never', false, false } }) do
    T.fresh({ save = row[1] })
    vim.cmd.edit(path)
    vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'b' .. row[1] .. tostring(row[2]) })
    local uri = vim.uri_from_bufnr(0)
    local saved = require('countersign.documents').save({ threadId = 't', documents = { { uri = uri, heldUnsavedText = row[2] } } }).saved
    T.equal(#saved == 1, row[3], vim.inspect(row))
    T.equal(vim.bo.modified, not row[3], vim.inspect(row))
  end
  T.check(documents ~= nil)
  vim.fn.delete(path)
end

return tests
