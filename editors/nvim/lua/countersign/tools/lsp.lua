--- Asking the language servers of a file, and waiting for them.
local client = require('countersign.client')

local M = {}

--- How long a language server may take to start for a file (ms), and to answer.
local START, ANSWER = 5000, 15000

--- Ends the call with a reason for the model.
---@param reason string
function M.refuse(reason)
  error({ reason = reason }, 0)
end

--- Waits without holding the editor up until `look` gives something, or the time is over.
local function wait(ms, look)
  local co = assert(coroutine.running(), 'a tool runs in a coroutine')
  local deadline = vim.uv.now() + ms
  local function again()
    local found = look()
    if found or vim.uv.now() > deadline then
      coroutine.resume(co, found)
    else
      vim.defer_fn(again, 25)
    end
  end
  vim.schedule(again)
  return coroutine.yield()
end

M.wait = wait

---@param path any
---@param cwd string
---@return string
function M.path(path, cwd)
  if type(path) ~= 'string' or path == '' then
    M.refuse('path must be the name of a file.')
  end
  path = vim.fs.normalize(path)
  if not vim.startswith(path, '/') and not path:match('^%a:') then
    path = cwd .. '/' .. path
  end
  return vim.fs.normalize(vim.fn.simplify(path))
end

--- The buffer of a file. One that is not open is loaded aside, so that its language server sees it.
---@param path any
---@param cwd string
---@return integer buf
---@return string path
function M.buffer(path, cwd)
  path = M.path(path, cwd)
  local known = vim.fn.bufnr(path)
  if known > 0 and vim.api.nvim_buf_is_loaded(known) then
    return known, path
  end
  -- Only the project is opened at the model's wish; what the person has open is there anyway.
  if not vim.startswith(vim.uv.fs_realpath(path) or path, (vim.uv.fs_realpath(cwd) or cwd) .. '/') then
    M.refuse(('%s is not open in the editor and lies outside %s.'):format(path, cwd))
  end
  if vim.fn.filereadable(path) == 0 then
    M.refuse(('There is no file %s.'):format(path))
  end
  local size = vim.fn.getfsize(path)
  if size > 2 * 1024 * 1024 then
    M.refuse(('%s has %d bytes, which is more than the editor opens for this.'):format(path, size))
  end
  local buf = vim.fn.bufadd(path)
  vim.fn.bufload(buf)
  if vim.bo[buf].filetype == '' then
    vim.bo[buf].filetype = vim.filetype.match({ buf = buf, filename = path }) or ''
  end
  return buf, path
end

--- Whether a client is a language server that can do this.
local function able(one, method, buf)
  if one.name == 'countersign' or not one.initialized then
    return false
  end
  if vim.fn.has('nvim-0.11') == 1 then
    return one:supports_method(method, buf)
  end
  return one.supports_method(method, { bufnr = buf })
end

--- The language servers of a buffer that can do this. Waits for one to start.
---@param buf? integer Absent: of all buffers.
---@param method string
---@return vim.lsp.Client[]
function M.clients(buf, method)
  local found = wait(buf and START or 0, function()
    local list = vim.tbl_filter(function(one)
      return able(one, method, buf)
    end, vim.lsp.get_clients(buf and { bufnr = buf } or {}))
    return #list > 0 and list or nil
  end)
  if not found then
    M.refuse(
      buf and ('No language server that can do this runs for %s.'):format(vim.api.nvim_buf_get_name(buf)) or 'No language server that can do this runs in the editor.'
    )
  end
  return found
end

--- Asks all of them; failures of one do not keep the others from answering.
---@param clients vim.lsp.Client[]
---@param method string
---@param params fun(client: vim.lsp.Client): table
---@param buf integer
---@return { client: vim.lsp.Client, result: any }[]
function M.ask(clients, method, params, buf)
  local answers, left, failures = {}, #clients, {}
  for _, one in ipairs(clients) do
    local sent = client.call(one, 'request', method, params(one), function(failed, got)
      left = left - 1
      if failed then
        failures[#failures + 1] = one.name .. ': ' .. tostring(failed.message)
      elseif got ~= nil and got ~= vim.NIL then
        answers[#answers + 1] = { client = one, result = got }
      end
    end, buf)
    if not sent then
      left = left - 1
    end
  end
  wait(ANSWER, function()
    return left <= 0
  end)
  if #answers == 0 and #failures > 0 then
    M.refuse(table.concat(failures, '; '))
  end
  if #answers == 0 and left > 0 then
    M.refuse('The language server does not answer.')
  end
  return answers
end

--- A column in bytes as the client counts it.
---@param text string
---@param byte integer
---@param encoding string
---@return integer
function M.column(text, byte, encoding)
  if encoding == 'utf-8' then
    return byte
  end
  local utf32, utf16 = vim.str_utfindex(text:sub(1, byte))
  return encoding == 'utf-16' and utf16 or utf32
end

--- Finds the name on its line and gives what requests about a position take.
---@param arguments table
---@param cwd string
---@return integer buf
---@return fun(client: vim.lsp.Client): table params
function M.position(arguments, cwd)
  local buf, path = M.buffer(arguments.path, cwd)
  local line, symbol = arguments.line, arguments.symbol
  if type(line) ~= 'number' or line % 1 ~= 0 or line < 1 then
    M.refuse('line must be a whole number from 1.')
  end
  if type(symbol) ~= 'string' or symbol == '' then
    M.refuse('symbol must be the name that is meant.')
  end
  local count = vim.api.nvim_buf_line_count(buf)
  local text = vim.api.nvim_buf_get_lines(buf, line - 1, line, false)[1]
  if not text then
    M.refuse(('%s has %d lines, so there is no line %d.'):format(path, count, line))
  end
  -- The name by itself before the name as a part of another one.
  local from = text:find('%f[%w_]' .. vim.pesc(symbol) .. '%f[^%w_]') or text:find(symbol, 1, true)
  if not from then
    M.refuse(('Line %d of %s has no %s. Read the file again; lines count from 1.'):format(line, path, symbol))
  end
  return buf,
    function(one)
      return {
        textDocument = { uri = vim.uri_from_bufnr(buf) },
        position = { line = line - 1, character = M.column(text, from - 1, one.offset_encoding) },
      }
    end
end

--- A line of a file as it is in the editor, else on the disk.
---@param path string
---@param number integer From 0.
---@return string
function M.line(path, number)
  local buf = vim.fn.bufnr(path)
  if buf > 0 and vim.api.nvim_buf_is_loaded(buf) then
    return vim.api.nvim_buf_get_lines(buf, number, number + 1, false)[1] or ''
  end
  local good, lines = pcall(vim.fn.readfile, path, '', number + 1)
  return good and lines[number + 1] or ''
end

--- A path as the model names files: from the folder where it lies below it.
---@param path string
---@param cwd string
---@return string
function M.short(path, cwd)
  return vim.startswith(path, cwd .. '/') and path:sub(#cwd + 2) or path
end

--- Places of answers, each once, as `path:line: text`.
---@param answers { client: vim.lsp.Client, result: any }[]
---@param cwd string
---@return string[]
function M.places(answers, cwd)
  local lines, seen = {}, {}
  for _, answer in ipairs(answers) do
    local list = answer.result
    if list.uri or list.targetUri then
      list = { list }
    end
    for _, place in ipairs(list) do
      local uri, range = place.uri or place.targetUri, place.range or place.targetSelectionRange
      local good, path = pcall(vim.uri_to_fname, uri)
      path = good and path or uri
      local key = ('%s:%d'):format(path, range.start.line + 1)
      if not seen[key] then
        seen[key] = true
        lines[#lines + 1] = ('%s:%d: %s'):format(M.short(path, cwd), range.start.line + 1, vim.trim(M.line(path, range.start.line)))
      end
    end
  end
  return lines
end

return M
