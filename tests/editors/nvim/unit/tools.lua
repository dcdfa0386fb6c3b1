local T = ...
local tests = {}

local function place(uri, line, from, to)
  return { uri = uri, range = { start = { line = line, character = from }, ['end'] = { line = line, character = to } } }
end

local ours

--- Begins a tool as the server would ask for it; the answer is in the table once there is one.
local function begin(tool, arguments)
  local got = {}
  coroutine.wrap(function()
    got.answer = require('countersign.tools').call({ threadId = 't', turnId = 'u', callId = 'c', tool = tool, arguments = arguments }, ours)
  end)()
  return got
end

local function call(tool, arguments)
  local got = begin(tool, arguments)
  T.wait(tool, function()
    return got.answer ~= nil
  end)
  local change = got.answer.contentItems[2]
  return got.answer.contentItems[1].text, got.answer.success, change and change.patch
end

--- A project with a language server for it, and our server, to which these files are kept from the model.
local function stage(kept, answers)
  ours = T.countersign({
    ['countersign/file/readable'] = function(params)
      local refused = vim.tbl_filter(function(path)
        return vim.tbl_contains(kept or {}, vim.fs.basename(path))
      end, params.paths)
      return { refused = vim.tbl_map(function(path)
        return { path = path, reason = path .. ' is kept from you.' }
      end, refused) }
    end,
  })
  local folder = vim.uv.fs_realpath(vim.fn.fnamemodify(vim.fn.tempname(), ':h')) .. '/project'
  vim.fn.mkdir(folder, 'p')
  local path = folder .. '/shop.txt'
  vim.fn.writefile({ 'let pear = 1 # 🍐', 'print(pear)' }, path)
  vim.fn.writefile({ 'pear = "the secret"' }, folder .. '/secret.txt')
  local secret = vim.uri_from_fname(folder .. '/secret.txt')
  local uri = vim.uri_from_fname(path)
  require('countersign.threads').ensure('t', 1).cwd = folder
  vim.cmd.edit(path)
  local toy, asked = T.server(vim.tbl_extend('keep', answers or {}, {
      initialize = { capabilities = { definitionProvider = true, referencesProvider = true, hoverProvider = true, renameProvider = true, documentSymbolProvider = true, workspaceSymbolProvider = kept ~= nil, positionEncoding = 'utf-16' } },
      shutdown = vim.NIL,
      ['textDocument/definition'] = place(uri, 0, 4, 8),
      ['textDocument/references'] = { place(uri, 0, 4, 8), place(uri, 1, 6, 10), place(uri, 1, 6, 10), place(secret, 0, 0, 4) },
      ['workspace/symbol'] = { { name = 'pear', kind = 13, location = place(uri, 0, 4, 8) }, { name = 'hush', kind = 13, location = place(secret, 0, 0, 4) } },
      ['textDocument/hover'] = { contents = { kind = 'markdown', value = 'pear: **number**' } },
      ['textDocument/documentSymbol'] = { { name = 'pear', kind = 13, range = place(uri, 0, 0, 1).range, selectionRange = place(uri, 0, 0, 1).range } },
      ['textDocument/rename'] = function(params)
        local changes = { [uri] = { { range = place(uri, 0, 4, 8).range, newText = params.newName }, { range = place(uri, 1, 6, 10).range, newText = params.newName } } }
        changes[secret] = kept and { { range = place(secret, 0, 0, 4).range, newText = params.newName } } or nil
        return { changes = changes }
      end,
    }))
  local id = vim.lsp.start({ name = 'toy', cmd = toy, root_dir = folder })
  T.wait('the toy server', function()
    local client = id and vim.lsp.get_client_by_id(id)
    return client and client.initialized
  end)
  return folder, asked
end

tests['the model sees through the language servers'] = function()
  local folder = stage()
  local at = { path = 'shop.txt', line = 2, symbol = 'pear' }
  T.equal(call('editor_definition', at), 'shop.txt:1: let pear = 1 # 🍐')
  T.equal(call('editor_references', at), 'shop.txt:1: let pear = 1 # 🍐\nshop.txt:2: print(pear)\nsecret.txt:1: pear = "the secret"')
  T.equal(call('editor_hover', at), 'pear: **number**')
  T.has(call('editor_symbols', { path = 'shop.txt' }), 'variable pear 1-1')
  local told, success, patch = call('editor_rename', vim.tbl_extend('force', at, { newName = 'apple' }))
  T.equal({ told, success }, { 'The language server renames pear to apple in 1 file.', true })
  T.equal(patch, '*** Begin Patch\n*** Update File: shop.txt\n@@ -1,2 +1,2 @@\n-let pear = 1 # 🍐\n-print(pear)\n+let apple = 1 # 🍐\n+print(apple)\n*** End Patch')
  T.equal(vim.fn.readfile(folder .. '/shop.txt')[2], 'print(pear)')
  T.equal(vim.bo.modified, false)
  vim.diagnostic.set(vim.api.nvim_create_namespace('toy'), 0, { { lnum = 1, col = 6, message = 'no such\nname', severity = 1, source = 'toy', code = 7 } })
  T.equal(call('editor_diagnostics', { path = 'shop.txt' }), 'shop.txt:2:7: error: no such name [toy 7]')
  T.equal(call('editor_diagnostics', {}), 'shop.txt:2:7: error: no such name [toy 7]')
end

tests['each answer names the files that it tells of, so that the server has the last word'] = function()
  local folder = stage({ 'secret.txt' })
  local at = { path = 'shop.txt', line = 2, symbol = 'pear' }
  for tool, row in pairs({
    editor_definition = { at, { 'shop.txt' } },
    editor_references = { at, { 'shop.txt' } },
    editor_hover = { at, { 'shop.txt' } },
    editor_symbols = { { query = 'e' }, { 'shop.txt' } },
    editor_rename = { { path = 'shop.txt', line = 9, symbol = 'pear', newName = 'x' }, { 'shop.txt' } },
    editor_sing = { {}, {} },
  }) do
    local got = begin(tool, row[1])
    T.wait(tool, function()
      return got.answer ~= nil
    end)
    local paths = vim.tbl_map(function(path)
      return path:sub(#folder + 2)
    end, got.answer.contentItems[1].paths or {})
    T.equal(paths, row[2], tool)
  end
  T.fresh()
  stage()
  local got = begin('editor_references', at)
  T.wait('the references', function()
    return got.answer ~= nil
  end)
  T.equal(#got.answer.contentItems[1].paths, 2)
end

tests['what the person keeps from the model is shown by no tool'] = function()
  local folder = stage({ 'secret.txt' })
  for tool, arguments in pairs({
    editor_definition = { path = 'secret.txt', line = 1, symbol = 'pear' },
    editor_references = { path = 'secret.txt', line = 1, symbol = 'pear' },
    editor_hover = { path = 'secret.txt', line = 1, symbol = 'pear' },
    editor_symbols = { path = 'secret.txt' },
    editor_diagnostics = { path = 'secret.txt' },
    editor_rename = { path = 'secret.txt', line = 1, symbol = 'pear', newName = 'x' },
  }) do
    local text, success = call(tool, arguments)
    T.equal(success, false, tool)
    T.has(text, 'is kept from you')
  end
  T.equal(vim.fn.bufnr(folder .. '/secret.txt'), -1, 'it was opened')
  local at = { path = 'shop.txt', line = 2, symbol = 'pear' }
  local references = call('editor_references', at)
  T.check(not references:find('the secret'), references)
  T.has(references, '(1 more in files that the person keeps from you)')
  local symbols = call('editor_symbols', { query = 'e' })
  T.check(symbols:find('pear') and not symbols:find('hush'), symbols)
  local text, success, patch = call('editor_rename', vim.tbl_extend('force', at, { newName = 'apple' }))
  T.equal({ success, patch }, { false, nil })
  T.has(text, 'keeps from you')
  vim.cmd('badd ' .. folder .. '/secret.txt')
  local secret = vim.fn.bufadd(folder .. '/secret.txt')
  vim.fn.bufload(secret)
  vim.diagnostic.set(vim.api.nvim_create_namespace('toy'), secret, { { lnum = 0, col = 0, message = 'hush', severity = 1 } })
  T.equal(call('editor_diagnostics', {}), 'The editor shows no problems.')
end

tests['what is said of a name that is defined in a kept file is not shown'] = function()
  for _, row in ipairs({ { 'secret.txt', false, 'is defined in a file that the person keeps from you' }, { 'shop.txt', true, 'pear: **number**' } }) do
    T.fresh()
    stage({ 'secret.txt' }, {
      ['textDocument/definition'] = function()
        local folder = require('countersign.threads').get('t').cwd
        return { { targetUri = vim.uri_from_fname(folder .. '/' .. row[1]), targetRange = place('', 0, 0, 4).range, targetSelectionRange = place('', 0, 0, 4).range } }
      end,
    })
    local text, success = call('editor_hover', { path = 'shop.txt', line = 2, symbol = 'pear' })
    T.equal(success, row[2], row[1])
    T.has(text, row[3])
    T.check(row[2] or not text:find('number', 1, true), text)
  end
end

tests['what the server cannot be asked about is shown by no tool'] = function()
  stage()
  vim.lsp.get_client_by_id(ours).rpc.request = function(_, _, done)
    vim.schedule(function()
      done({ code = -32601, message = 'no such method' })
    end)
    return true, 1
  end
  local text, success = call('editor_hover', { path = 'shop.txt', line = 1, symbol = 'pear' })
  T.equal(success, false)
  T.has(text, 'no such method')
end

tests['a call that is taken back ends, and so does what it has asked'] = function()
  for _, row in ipairs({
    { 'item/completed', { item = { id = 'c', type = 'toolCall' }, turnId = 'u' } },
    { 'turn/completed', { turn = { id = 'u', status = 'interrupted', items = {} } } },
  }) do
    T.fresh()
    local _, asked = stage(nil, { ['textDocument/hover'] = T.later })
    local got = begin('editor_hover', { path = 'shop.txt', line = 1, symbol = 'pear' })
    local function find(method)
      for _, one in ipairs(asked) do
        if one.method == method then
          return one
        end
      end
    end
    T.wait('the language server to be asked', function()
      return find('textDocument/hover')
    end)
    T.equal(got.answer, nil)
    require('countersign.handlers').table()['countersign/' .. row[1]](nil, vim.tbl_extend('force', { threadId = 't', seq = 1 }, row[2]), { client_id = ours })
    T.wait('the end', function()
      return got.answer ~= nil
    end)
    T.equal(got.answer.success, false)
    T.wait('the language server to be told', function()
      local told = find('$/cancelRequest')
      return told and told.params.id == find('textDocument/hover').id
    end)
  end
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
    T.equal(spec.readOnly, spec.name ~= 'editor_rename')
  end
  T.equal(names, { 'editor_definition', 'editor_diagnostics', 'editor_hover', 'editor_references', 'editor_rename', 'editor_symbols' })
  T.fresh({ tools = { hover = false, rename = false } })
  T.equal(#require('countersign.tools').specs(), 4)
  -- Conversations that the server begins, as by a code action, have the same.
  T.equal(require('countersign.server').config().capabilities.experimental.countersign.tools, require('countersign.tools').specs())
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
