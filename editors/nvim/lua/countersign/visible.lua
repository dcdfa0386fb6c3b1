--- Text of others with what hides in it written by its number: `<U+202E>`. The same functions as the server's (`src/shown`), on
--- tables that its tests write; a corpus holds them together.
local M = {}

local JOINER, NON_JOINER, TEXT_STYLE, EMOJI_STYLE, KEYCAP = 0x200D, 0x200C, 0xFE0E, 0xFE0F, 0x20E3
local BLACK_FLAG, TAGS, TAG_END = 0x1F3F4, 0xE0000, 0xE007F
--- The regions that have a flag of tag characters; all others are hidden text behind a flag.
local FLAGS = { gbeng = true, gbsct = true, gbwls = true }
--- Marks on one letter, and on one of a script that stacks them.
local MOST_MARKS, MOST_MARKS_OF_STACKS = 3, 8
--- Blanks in a row before they are counted, and what indents a line.
local MOST_BLANKS, MOST_INDENT = 3, 40

local plain = {}
local kinds = setmetatable({}, {
  __index = function(kinds, code)
    local characters = require('countersign.characters')
    local ranges, found = characters.ranges, plain
    local low, high = 0, #ranges / 3 - 1
    while low <= high do
      local at = math.floor((low + high) / 2)
      if code < ranges[3 * at + 1] then
        high = at - 1
      elseif code > ranges[3 * at + 2] then
        low = at + 1
      else
        found = characters.kinds[ranges[3 * at + 3]]
        break
      end
    end
    kinds[code] = found
    return found
  end,
})

--- The number of a character; of what is none, that of the sign that stands for such.
local function number(char)
  local first = char:byte()
  if first < 0x80 then
    return first
  end
  local length = first >= 0xF0 and 4 or first >= 0xE0 and 3 or 2
  if #char ~= length or first < 0xC2 then
    return 0xFFFD
  end
  local code = first % 2 ^ (7 - length)
  for at = 2, length do
    code = code * 64 + char:byte(at) % 64
  end
  return code
end

--- Whether a mark may stand on a base: few fonts show one of another script.
local function belongs(mark, base)
  if not kinds[mark].scripted then
    return true
  end
  for _, script in ipairs(kinds[mark].scripts) do
    if vim.tbl_contains(kinds[base].scripts or {}, script) then
      return true
    end
  end
  return false
end

local Shown = {}
Shown.__index = Shown

function Shown:keep(code, char)
  self[#self + 1] = char
  self.last = code
end

--- What is shown by its number has an end that takes no marks.
function Shown:escape(code)
  self[#self + 1] = ('<U+%04X>'):format(code)
  self.base, self.last, self.marks = 0x3E, 0x3E, 0
end

function Shown:release()
  local held = self.held
  self.held = {}
  for _, one in ipairs(held) do
    self:escape(one.code)
  end
end

--- Whether a joiner is one: between two pictures, between letters that join, beside the sign that joins letters of the scripts
--- of India.
function Shown:joins(joiner, next)
  if not self.base then
    return false
  end
  local base = kinds[self.base]
  return (joiner == JOINER and base.picture and kinds[next].picture)
    or (base.letter and (kinds[self.last].virama or kinds[next].virama))
    or (base.joins and kinds[next].joins)
end

--- Decides on what is held, now that what follows is there. Says whether that was taken, too.
function Shown:settle(next, char)
  local first = self.held[1]
  local stays = false
  if first.code == JOINER or first.code == NON_JOINER then
    stays = self:joins(first.code, next)
  elseif first.code == EMOJI_STYLE then
    stays = next == KEYCAP
  elseif next > TAGS + 0x1F and next <= TAG_END then
    table.insert(self.held, { code = next, char = char })
    if next == TAG_END then
      local region, chars = {}, {}
      for at, one in ipairs(self.held) do
        region[at], chars[at] = string.char(one.code - TAGS), one.char
      end
      if FLAGS[(table.concat(region):gsub('\127+$', ''))] then
        self[#self + 1] = table.concat(chars)
        self.held = {}
      else
        self:release()
      end
    end
    return true
  end
  if stays then
    self:keep(first.code, first.char)
    self.held = {}
  else
    self:release()
  end
  return false
end

function Shown:hidden(code, char)
  local last = self.last
  local is_key = last and ((last >= 0x30 and last <= 0x39) or last == 0x23 or last == 0x2A)
  if
    last
    and (code == JOINER or code == NON_JOINER or (code == EMOJI_STYLE and is_key) or (last == BLACK_FLAG and code > TAGS + 0x1F and code <= TAG_END))
  then
    table.insert(self.held, { code = code, char = char })
  elseif
    last
    and (
      ((code == EMOJI_STYLE or code == TEXT_STYLE) and kinds[last].emoji)
      or (((code >= 0xFE00 and code <= 0xFE02) or (code >= 0xE0100 and code <= 0xE01EF)) and kinds[last].ideograph)
      or (code >= 0x180B and code <= 0x180F and kinds[last].mongolian)
    )
  then
    self:keep(code, char)
  else
    self:escape(code)
  end
end

function Shown:one(char)
  local code = number(char)
  if #self.held > 0 and self:settle(code, char) then
    return
  end
  local kind = kinds[code]
  if kind.mark then
    local base = self.base
    if base and self.marks < (kinds[base].stacks and MOST_MARKS_OF_STACKS or MOST_MARKS) and belongs(code, base) then
      self:keep(code, char)
      self.marks = self.marks + 1
    else
      self[#self + 1] = ('<U+%04X>'):format(code)
    end
  elseif kind.hides then
    self:hidden(code, char)
  elseif kind.blank then
    self:escape(code)
  else
    self:keep(code, code == 0xFFFD and '\u{fffd}' or char)
    -- A skin belongs to what it is put on.
    if not kind.skin or not self.base then
      self.base, self.marks = code, 0
    end
  end
end

--- A part of a line.
local function part(text)
  if not text:find('[%z\1-\31\127-\255]') then
    return text
  end
  local shown = setmetatable({ held = {}, marks = 0 }, Shown)
  for char in text:gmatch('[%z\1-\127\192-\255]?[\128-\191]*') do
    if char ~= '' then
      shown:one(char)
    end
  end
  shown:release()
  return table.concat(shown)
end

--- Each of the parts between some sign.
local function each(text, sign, made)
  return table.concat(vim.tbl_map(made, vim.split(text, sign, { plain = true })), sign)
end

--- Text of one or several lines in which blanks, line ends and tabs stay as they are.
---@param text string
---@return string
function M.text(text)
  if not text:find('[%z\1-\8\11-\31\127-\255]') then
    return text
  end
  return each(text, '\n', function(line)
    return each(line, '\t', part)
  end)
end

--- What of a line does not show by itself, for those who show the line as it is: where, and by what it is written. Signs below the blank
--- are left out, which editors write by themselves. What belongs to the sign before it is written behind that.
---@param line string
---@return { at: integer, text: string }[] hidden Bytes from 0.
function M.hidden(line)
  local shown = part(line)
  if shown == line then
    return {}
  end
  local found, at, along = {}, 0, 1
  -- Where each sign begins, with what belongs to it, and where the next does.
  local behind, begins = {}, 0
  for _, sign in ipairs(vim.fn.split(line, '\\zs')) do
    for inner = begins + 1, begins + #sign - 1 do
      behind[inner] = begins + #sign
    end
    begins = begins + #sign
  end
  for char in line:gmatch('[%z\1-\127\192-\255]?[\128-\191]*') do
    if char ~= '' then
      local code = number(char)
      local by_number = ('<U+%04X>'):format(code)
      if char ~= '<' and shown:sub(along, along + #by_number - 1) == by_number then
        if code >= 0x20 and code ~= 0x7F then
          local place, last = behind[at] or at, found[#found]
          if last and last.at == place then
            last.text = last.text .. by_number
          else
            found[#found + 1] = { at = place, text = by_number }
          end
        end
        along = along + #by_number
      else
        along = along + (code == 0xFFFD and 3 or #char)
      end
      at = at + #char
    end
  end
  return found
end

--- One line in which no two texts look the same for their blanks, or what does not show.
local function exact(line)
  local shown = part(line)
  local last = #shown
  return (shown:gsub('()( +)()', function(at, blanks, behind)
    local counted = #blanks > MOST_BLANKS or at == 1 or behind > last
    return counted and (#blanks == 1 and '<1 blank>' or ('<%d blanks>'):format(#blanks)) or nil
  end))
end

--- What a person decides on, of one or several lines: each with its blanks counted, but for what indents it.
---@param text string
---@return string
function M.lines(text)
  return each(text, '\n', function(line)
    local indent, rest = line:match('^([ \t]*)(.*)$')
    if rest == '' or #indent > MOST_INDENT then
      return exact(line)
    end
    return indent .. exact(rest)
  end)
end

return M
