--- A text of others that is still coming, as lines: what came before is not looked at again, however long it is. Its lines are what
--- `words.markdown` would make of it, up to blank lines at its end.
local fences = require('countersign.chat.fences')
local inert = require('countersign.inert')

local M = {}

---@class countersign.Growing
---@field lines string[] All, with what closes them; the same table each time.
---@field settled integer Lines that stay as they are.
---@field version integer
---@field fed integer Bytes of the text that are in these.
---@field ends string The last of them.
---@field partial string What of a line is certain.
---@field coming countersign.Inert
---@field fences countersign.FenceMemo

---@type table<table, countersign.Growing>
local known = setmetatable({}, { __mode = 'k' })

--- Bytes by which it is seen that the text is the one of before.
local LAST = 64

local function fresh()
  return { lines = {}, settled = 0, version = 0, fed = 0, ends = '', partial = '', coming = inert.coming(), fences = { settled = 0 } }
end

local function begins_alike(one, text)
  return #text >= one.fed and text:sub(math.max(1, one.fed - #one.ends + 1), one.fed) == one.ends
end

--- Forgets a text that is complete.
---@param item table
function M.forget(item)
  known[item] = nil
end

---@param item table Whose text it is.
---@param text string
---@param clean fun(text: string): string[] Makes lines of it, each by itself.
---@param made? fun(line: string): string What is made of each; nothing has to close it then.
---@return countersign.Growing
---@return integer from Lines that are as they were the last time.
function M.lines(item, text, clean, made)
  local one = known[item]
  if not one or not begins_alike(one, text) then
    one = fresh()
    known[item] = one
  end
  local from = one.settled
  local body = text:sub(one.fed + 1):gsub('[\r\n]+$', '')
  local cut = body:match('^.*()\n') or 0
  local function add(pieces, at)
    for i, piece in ipairs(pieces) do
      one.lines[at + i] = made and made(piece) or piece
    end
  end
  if cut > 0 then
    local certain = one.coming:take(table.concat(clean(body:sub(1, cut - 1)), '\n') .. '\n')
    one.fed = one.fed + cut
    one.ends = text:sub(math.max(1, one.fed - LAST + 1), one.fed)
    local pieces = vim.split(one.partial .. certain, '\n', { plain = true })
    one.partial = table.remove(pieces)
    add(pieces, one.settled)
    one.settled = one.settled + #pieces
  end
  local rest = table.concat(clean(body:sub(cut + 1)), '\n')
  local pieces = vim.split(one.partial .. one.coming:rest(rest), '\n', { plain = true })
  for i = #one.lines, one.settled + 1, -1 do
    one.lines[i] = nil
  end
  add(pieces, one.settled)
  if not made then
    one.fences.settled = one.settled
    fences.close(one.lines, one.fences)
  end
  one.version = one.version + 1
  return one, from
end

return M
