--- What the person looks at when they ask: the file, the selection and the problems there, told to the model beside their
--- words.
local client = require('countersign.client')

local M = {}

---@class countersign.Noted
---@field buf integer
---@field lines? { start: integer, ['end']: integer }

---@type countersign.Noted?
local noted

local severities = { 'error', 'warning', 'information', 'hint' }

--- The problems of some lines as the protocol takes them, those of the agent itself left out.
---@param buf integer
---@param lines? { start: integer, ['end']: integer } From 0, half open; absent: all of the file.
---@return table[]
function M.problems(buf, lines)
  local list = {}
  for _, one in ipairs(vim.diagnostic.get(buf)) do
    local last = one.end_lnum or one.lnum
    local own = vim.startswith(one.source or '', 'countersign')
    if not own and (not lines or (one.lnum < lines['end'] and last >= lines.start)) then
      list[#list + 1] = {
        path = vim.api.nvim_buf_get_name(buf),
        range = { start = one.lnum, ['end'] = last + 1 },
        severity = severities[one.severity] or 'error',
        source = one.source,
        code = one.code ~= nil and tostring(one.code) or nil,
        message = one.message,
      }
    end
  end
  return list
end

--- Notes the file that is shown now, and the selection if there is one.
---@param lines? { start: integer, ['end']: integer } The selection, where it is known.
function M.note(lines)
  local win, buf = client.file_window()
  if not win then
    return
  end
  if not lines and win == vim.api.nvim_get_current_win() and vim.fn.mode():match('[vV\22]') then
    local from, to = vim.fn.line('v'), vim.fn.line('.')
    lines = { start = math.min(from, to) - 1, ['end'] = math.max(from, to) }
  end
  noted = { buf = buf --[[@as integer]], lines = lines }
end

--- What was noted, for a turn; the selection is told once.
---@return table? context
function M.take()
  if not noted or not vim.api.nvim_buf_is_valid(noted.buf) then
    M.note()
  end
  -- Where the person has gone on to another file, that one counts.
  local _, buf = client.file_window()
  if noted and buf and buf ~= noted.buf and not noted.lines then
    noted.buf = buf
  end
  if not noted then
    return nil
  end
  local context = {
    activeFile = vim.api.nvim_buf_get_name(noted.buf),
    selection = noted.lines,
    diagnostics = M.problems(noted.buf, noted.lines),
  }
  noted.lines = nil
  return context
end

--- What stands in the composer's bar.
---@return string
function M.label()
  if not noted or not vim.api.nvim_buf_is_valid(noted.buf) then
    return ''
  end
  local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(noted.buf), ':t')
  local lines = noted.lines
  return lines and ('%s:%d-%d'):format(name, lines.start + 1, lines['end']) or name
end

return M
