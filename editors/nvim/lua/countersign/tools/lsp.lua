--- Asking the language servers of a file, and waiting for them, for a call of the model's. What the person keeps from the model
--- is asked about first and left out.
local client = require('countersign.client')

local M = {}

--- How long a language server may take to start for a file (ms), and to answer.
local START, ANSWER = 5000, 15000

--- Ends the call with a reason for the model.
---@param reason string
function M.refuse(reason)
  error({ reason = reason }, 0)
end

---@class countersign.ToolCall
---@field thread string
---@field turn string
---@field client integer Whose server asks.
---@field over boolean It was taken back.
---@field asked table<table, true> What language servers have not answered yet: client and number.
---@field refused table<string, string|false> By path: why it is kept from the model, or that it is not.
---@field told table<string, true> The files that the answer tells of.
---@field cancel fun() Takes it back, and what it has asked.

---@type table<thread, countersign.ToolCall>
local calls = setmetatable({}, { __mode = 'k' })

local function current()
  return calls[assert(coroutine.running(), 'a tool runs in a coroutine')]
end

--- Begins a call in this coroutine.
---@param thread string
---@param turn string
---@param id integer
---@return countersign.ToolCall
function M.begin(thread, turn, id)
  local call = { thread = thread, turn = turn, client = id, over = false, asked = {}, refused = {}, told = {} }
  function call.cancel()
    call.over = true
    for one in pairs(call.asked) do
      client.call(one[1], 'cancel_request', one[2])
    end
    call.asked = {}
  end
  calls[coroutine.running()] = call
  return call
end

--- The files that the answer of this coroutine's call tells of. The server leaves the answer out if one of them is kept from the
--- model: it has the last word, whatever was asked before.
---@return string[]
function M.told()
  local paths = vim.tbl_keys(current().told)
  table.sort(paths)
  return paths
end

--- The answer tells of a file.
---@param path string?
function M.tells(path)
  if path and vim.startswith(path, '/') then
    current().told[path] = true
  end
end

--- The call of this coroutine has its answer.
function M.finish()
  calls[coroutine.running()] = nil
end

--- Waits without holding the editor up until `look` gives something, or the time is over. A call that was taken back ends.
local function wait(ms, look)
  local co = assert(coroutine.running(), 'a tool runs in a coroutine')
  local call = calls[co]
  local deadline = vim.uv.now() + ms
  local function again()
    local found = look()
    if found or (call and call.over) or vim.uv.now() > deadline then
      assert(coroutine.resume(co, found))
    else
      vim.defer_fn(again, 25)
    end
  end
  vim.schedule(again)
  local found = coroutine.yield()
  if call and call.over then
    M.refuse('The call was cancelled.')
  end
  return found
end

M.wait = wait

--- Asks the server which of these files the person keeps from the model, with the reasons. What cannot be asked is kept.
---@param paths string[]
---@return table<string, string|false> reasons By path; false: it may be shown.
function M.kept(paths)
  local call = current()
  local unknown = {}
  for _, path in ipairs(paths) do
    if call.refused[path] == nil and not vim.tbl_contains(unknown, path) then
      unknown[#unknown + 1] = path
    end
  end
  if #unknown > 0 then
    local told, problem
    client.request(call.client, 'file/readable', { threadId = call.thread, paths = unknown }, function(result)
      told = result
    end, function(error)
      problem = error.message
    end)
    wait(ANSWER, function()
      return told or problem
    end)
    if not told then
      M.refuse(('It cannot be told whether the person keeps these files from you: %s'):format(problem or 'the server does not answer.'))
    end
    for _, path in ipairs(unknown) do
      call.refused[path] = false
    end
    for _, one in ipairs(told.refused) do
      call.refused[one.path] = one.reason
    end
  end
  return call.refused
end

--- Those of a list whose files may be shown to the model.
---@generic T
---@param list T[]
---@param path_of fun(one: T): string? Nil where it is of no file.
---@return T[]
function M.readable(list, path_of)
  local paths = {}
  for _, one in ipairs(list) do
    local path = path_of(one)
    if path and vim.startswith(path, '/') then
      paths[#paths + 1] = path
    end
  end
  local kept = M.kept(paths)
  return vim.tbl_filter(function(one)
    local path = path_of(one)
    local good = not kept[path or '']
    if good then
      M.tells(path)
    end
    return good
  end, list)
end

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
  local why = M.kept({ path })[path]
  if why then
    M.refuse(why)
  end
  M.tells(path)
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

M.able = able

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
  local call, answers, left, failures = current(), {}, #clients, {}
  for _, one in ipairs(clients) do
    local asked = {}
    local sent, number = client.call(one, 'request', method, params(one), function(failed, got)
      left = left - 1
      call.asked[asked] = nil
      if failed then
        failures[#failures + 1] = one.name .. ': ' .. tostring(failed.message)
      elseif got ~= nil and got ~= vim.NIL then
        answers[#answers + 1] = { client = one, result = got }
      end
    end, buf)
    if not sent then
      left = left - 1
    elseif number and left > 0 then
      asked[1], asked[2] = one, number
      call.asked[asked] = true
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

--- The path of a URI; nil where it is no file's.
---@param uri string
---@return string?
function M.path_of_uri(uri)
  local good, path = pcall(vim.uri_to_fname, uri)
  return good and vim.startswith(uri, 'file:') and path or nil
end

--- Places of answers, each once, as `path:line: text`.
---@param answers { client: vim.lsp.Client, result: any }[]
---@param cwd string
---@return string[]
function M.places(answers, cwd)
  local found, seen = {}, {}
  for _, answer in ipairs(answers) do
    local list = answer.result
    if list.uri or list.targetUri then
      list = { list }
    end
    for _, place in ipairs(list) do
      local uri, range = place.uri or place.targetUri, place.range or place.targetSelectionRange
      local key = ('%s:%d'):format(uri, range.start.line + 1)
      if not seen[key] then
        seen[key] = true
        found[#found + 1] = { uri = uri, path = M.path_of_uri(uri), line = range.start.line }
      end
    end
  end
  local shown = M.readable(found, function(one)
    return one.path
  end)
  local lines = vim.tbl_map(function(one)
    local text = one.path and vim.trim(M.line(one.path, one.line)) or ''
    return ('%s:%d: %s'):format(M.short(one.path or one.uri, cwd), one.line + 1, text)
  end, shown)
  if #shown < #found then
    lines[#lines + 1] = ('(%d more in files that the person keeps from you)'):format(#found - #shown)
  end
  return lines
end

return M
