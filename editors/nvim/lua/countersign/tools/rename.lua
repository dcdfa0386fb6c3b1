--- A rename by the language server, as a patch that becomes a proposal of the conversation.
local lsp = require('countersign.tools.lsp')

local M = {}

local function text_of(path)
  local buf = vim.fn.bufnr(path)
  if buf > 0 and vim.api.nvim_buf_is_loaded(buf) then
    return vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  end
  local good, lines = pcall(vim.fn.readfile, path)
  if not good then
    lsp.refuse(('%s cannot be read, so the rename cannot be shown as a patch.'):format(path))
  end
  return lines
end

--- The text with the edits, done in a buffer of its own.
local function edited(lines, edits, encoding)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.lsp.util.apply_text_edits(vim.deepcopy(edits), buf, encoding)
  local after = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  vim.api.nvim_buf_delete(buf, { force = true })
  return after
end

--- One file's part of a patch, in the form that `apply_patch` takes.
---@param path string
---@param before string[]
---@param after string[]
---@return string?
function M.part(path, before, after)
  local a, b = table.concat(before, '\n') .. '\n', table.concat(after, '\n') .. '\n'
  local diff = vim.diff(a, b, { ctxlen = 3 }) --[[@as string]]
  if diff == '' then
    return nil
  end
  local lines = { '*** Update File: ' .. path }
  for _, line in ipairs(vim.split(diff, '\n', { plain = true, trimempty = true })) do
    -- With their numbers, which tell places apart that look alike.
    if not vim.startswith(line, '\\') then
      lines[#lines + 1] = line
    end
  end
  return table.concat(lines, '\n')
end

--- The files of a workspace edit with their edits.
local function files(edit)
  local list = {}
  for uri, edits in pairs(edit.changes or {}) do
    list[#list + 1] = { path = vim.uri_to_fname(uri), edits = edits }
  end
  for _, change in ipairs(edit.documentChanges or {}) do
    if change.kind then
      lsp.refuse(('The language server would also %s a file (%s), which cannot be shown as a patch.'):format(change.kind, change.uri or change.oldUri))
    end
    list[#list + 1] = { path = vim.uri_to_fname(change.textDocument.uri), edits = change.edits }
  end
  table.sort(list, function(x, y)
    return x.path < y.path
  end)
  return list
end

---@param arguments table
---@param cwd string
---@return string
---@return string? patch
function M.run(arguments, cwd)
  local name = arguments.newName
  if type(name) ~= 'string' or vim.trim(name) == '' then
    lsp.refuse('newName must be the new name.')
  end
  local buf, params = lsp.position(arguments, cwd)
  local clients = lsp.clients(buf, 'textDocument/rename')
  -- Two servers would rename the same twice.
  local answers = lsp.ask({ clients[1] }, 'textDocument/rename', function(one)
    return vim.tbl_extend('force', params(one), { newName = name })
  end, buf)
  if #answers == 0 then
    return ('The language server cannot rename %s.'):format(arguments.symbol)
  end
  local touched = files(answers[1].result)
  local shown = lsp.readable(touched, function(file)
    return file.path
  end)
  if #shown < #touched then
    lsp.refuse('The rename would change files that the person keeps from you, so it is not proposed. Ask them to do it in the editor.')
  end
  local parts = {}
  for _, file in ipairs(touched) do
    local before = text_of(file.path)
    parts[#parts + 1] = M.part(lsp.short(file.path, cwd), before, edited(before, file.edits, answers[1].client.offset_encoding))
  end
  if #parts == 0 then
    return ('The language server finds nothing to change to rename %s.'):format(arguments.symbol)
  end
  local told = ('The language server renames %s to %s in %d %s.'):format(arguments.symbol, name, #parts, #parts == 1 and 'file' or 'files')
  return told, ('*** Begin Patch\n%s\n*** End Patch'):format(table.concat(parts, '\n'))
end

return M
