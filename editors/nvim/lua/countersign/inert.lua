--- Markdown of others in which nothing is loaded or drawn by being shown: a backslash takes the meaning away from what would be,
--- and the address stays to be read. The same function as the server's (`src/shown/inert.rs`); a corpus holds them together.
--- Bytes are enough: every sign that means something is one.
local M = {}

local function set(...)
  local made = {}
  for _, name in ipairs({ ... }) do
    made[name] = true
  end
  return made
end

--- Tags that load something, or change how the rest shows, even without attributes.
local TAGS = set('audio', 'base', 'embed', 'form', 'frame', 'iframe', 'image', 'img', 'link', 'math', 'meta', 'object', 'picture', 'script', 'source', 'style', 'svg', 'video')
--- Other tags of HTML that fold, swallow, hide or move what follows, begin a block, or end the one that they stand in.
local BLOCKS = set('address', 'applet', 'area', 'article', 'aside', 'basefont', 'bgsound', 'blockquote', 'body', 'button', 'canvas', 'caption', 'center', 'col', 'colgroup', 'datalist', 'dd', 'details', 'dialog', 'dir', 'div', 'dl', 'dt', 'fencedframe', 'fieldset', 'figcaption', 'figure', 'font', 'footer', 'frameset', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'head', 'header', 'hgroup', 'html', 'input', 'isindex', 'keygen', 'legend', 'li', 'listing', 'main', 'marquee', 'menu', 'menuitem', 'meter', 'nav', 'nobr', 'noembed', 'noframes', 'noscript', 'ol', 'param', 'plaintext', 'portal', 'pre', 'progress', 'rp', 'search', 'section', 'select', 'selectedcontent', 'summary', 'table', 'tbody', 'td', 'template', 'textarea', 'tfoot', 'th', 'thead', 'title', 'tr', 'track', 'ul', 'webview', 'xmp')
--- Fences whose text previews draw, with what it loads.
local DIAGRAMS = set('bitfield', 'blockdiag', 'd2', 'ditaa', 'dot', 'graphviz', 'kroki', 'mermaid', 'plantuml', 'puml', 'svgbob', 'uml', 'vega', 'vega-lite', 'viz', 'wavedrom')
--- How the address of a link begins that leads to a page; others have no scheme.
local SCHEMES = set('https', 'http', 'mailto')
--- Bytes of a tag's name and of an address that are waited for, of a query that a link may carry, and of any part of its address.
local LONGEST_TAG, LONGEST_ADDRESS, LONGEST_QUERY, LONGEST_PART = 40, 200, 40, 60

local BLANK = set(' ', '\t', '\n', '\f', '\r')

--- How a line begins with which a block of formulas begins, or ends; without its last sign, by that. What looks like a fence in such a
--- block is none, and it goes on to the next such line, or to the end of the text.
local FORMULAS = { ['$'] = '$', ['{'] = '\\begin' }
--- Bytes of the longest of them.
local LONGEST_HEAD = 7

--- Whether an address may say more than where it leads, or leads to what is no page.
local function leads_astray(address)
  if address:find('^//') or address:find('\\', 1, true) or (address:find('&', 1, true) and address:find(';', 1, true)) then
    return true
  end
  local scheme = address:match('^([%w+.%%-]*):')
  if not scheme then
    return false
  end
  if not SCHEMES[scheme:lower()] then
    -- A path and a line, or a drive.
    return not (address:find('^[^:]*:[%d:L#-]+$') or address:find('^[^\128-\255]:/'))
  end
  for part in address:gmatch('[^/.?#]+') do
    if #part > LONGEST_PART then
      return true
    end
  end
  return #(address:match('[?#].*') or '') > LONGEST_QUERY
end

local Inert = {}
Inert.__index = Inert

local function new()
  return setmetatable({
    --- What is known only by what follows (a tag, an address, what a fence is of); what of it is looked at once more, from its end.
    held = '',
    again = {},
    last = '\n',
    escaped = false,
    --- An image, or a definition, may have begun in this paragraph; only what begins a line came so far.
    image = false,
    definition = false,
    at_start = true,
    --- The line so far, as far as fences go; the fence that is open at the margin; from where on nothing counts as code.
    line = { indent = 0, run = 0, row = 0, longest = 0, head = '' },
    fence = nil,
    unsure = false,
  }, Inert)
end

local function push_line(line, c)
  local is_mark = c == '`' or c == '~'
  line.row, line.of = is_mark and (line.of == c and line.row + 1 or 1) or 0, is_mark and c or nil
  line.longest = math.max(line.longest, line.row)
  line.awaits_info = line.row >= 3 or (line.awaits_info and (c == ' ' or c == '\t' or c == '{' or c == '.'))
  if not line.rest and not line.mark and c == ' ' then
    line.indent = line.indent + 1
  elseif not line.rest and not line.mark and is_mark then
    line.mark, line.run = c, 1
  elseif not line.rest and line.mark and c == line.mark then
    line.run = line.run + 1
  else
    line.rest = true
    line.again = line.again or (line.mark ~= nil and line.mark == c)
    line.plain = line.plain or (c ~= ' ' and c ~= '\t')
  end
end

--- A fence counts only at the margin, where it is one whatever came before.
function Inert:end_line()
  local line, fence = self.line, self.fence
  self.line = { indent = 0, run = 0, row = 0, longest = 0, head = '' }
  if fence then
    if line.mark == fence.mark and line.indent < 4 and line.run >= fence.length and not line.plain then
      self.fence = nil
    end
  elseif line.longest >= 3 and not self.unsure then
    if line.mark and line.indent == 0 and line.run >= 3 and (line.mark == '~' or not line.again) then
      self.fence = { mark = line.mark, length = line.run }
    else
      self.unsure = true
    end
  end
end

function Inert:write(c)
  self[#self + 1] = c
  if c == '\n' then
    local blank = self.last == '\n'
    self:end_line()
    if blank then
      self.image, self.definition = false, false
    end
    self.at_start = true
  else
    self.at_start = self.at_start and c:find('^[ \t\f\r%d>*+.)-]') ~= nil
    local line = self.line
    push_line(line, c)
    if not self.at_start and #line.head < LONGEST_HEAD then
      -- Somebody else's block of formulas may have been open, and ends here.
      if self.fence and FORMULAS[c] == line.head then
        self.fence, self.unsure = nil, true
      end
      line.head = line.head .. c
    end
  end
  self.escaped = c == '\\' and not self.escaped
  self.last = c
end

function Inert:release(acts)
  local held = self.held
  self.held = ''
  if acts then
    self[#self + 1] = '\\'
  end
  for c in held:gmatch('.') do
    self:write(c)
  end
end

--- Whether what is held could be the name of a tag.
function Inert:begins_tag()
  return self.held:find('^</*%a') ~= nil
end

--- Whether what is held begins a tag that acts, by what follows its name.
function Inert:is_tag(next)
  local name = self.held:match('^[</]*(.*)$')
  if name == '' then
    -- A comment, an instruction, a declaration: nothing of a Markdown text behind it is what it seems to be.
    return #self.held == 1 and (next == '!' or next == '?')
  end
  local has_attributes = BLANK[next] or next == '/' or next:byte() >= 0x80
  local is_bare = next == '>' and (self.at_start or BLOCKS[name:lower()])
  return self:begins_tag() and (is_bare or has_attributes or TAGS[name:lower()])
end

--- What stands in the brackets is text like any other.
function Inert:release_address(acts)
  local held = self.held
  self.held = ''
  if acts then
    self[#self + 1] = '\\'
  end
  self:write('(')
  for at = #held, 2, -1 do
    table.insert(self.again, held:sub(at, at))
  end
end

--- The address of a link: up to a blank, to its own bracket, or to what it cannot hold.
function Inert:address(c)
  -- A quotation goes on in each of its lines; and what readers take for a blank differs.
  local address = self.held:sub(2):gsub('^[ \t\n\f\r>\128-\255]+', '')
  local ends = c == '[' or c == ']' or c == '<' or (BLANK[c] and address ~= '')
  if c == ')' then
    ends = select(2, address:gsub('%(', '')) <= select(2, address:gsub('%)', ''))
  end
  if not ends and #self.held <= LONGEST_ADDRESS then
    self.held = self.held .. c
    return
  end
  local acts = not ends or c == '<' or ((c == '[' or c == ']') and address:find('[^%w\128-\255_.,!*("\'`-]')) or leads_astray(address)
  table.insert(self.again, c)
  self:release_address(acts)
end

--- A diagram is shown as its text.
function Inert:release_info()
  if DIAGRAMS[self.held:lower()] then
    for c in ('text '):gmatch('.') do
      self:write(c)
    end
  end
  self:release(false)
end

function Inert:one(c)
  local first = self.held:sub(1, 1)
  if first == '(' then
    return self:address(c)
  elseif first == '<' then
    if c:find('^[%w-]') or (c == '/' and #self.held == 1) then
      self.held = self.held .. c
      if #self.held > LONGEST_TAG then
        self:release(self:begins_tag())
      end
      return
    end
    self:release(self:is_tag(c))
  elseif first ~= '' then
    if c:find('^[%w-]') and #self.held <= LONGEST_TAG then
      self.held = self.held .. c
      return
    end
    self:release_info()
  end
  if self.fence then
    return self:write(c)
  end
  if c == '[' and self.last == '!' then
    self.image = true
  elseif c == '[' and self.at_start then
    self.definition = true
  elseif c == '(' and self.last == ']' and not self.image then
    self.held = c
    return
  elseif FORMULAS[c] == self.line.head or (self.last == ']' and (((c == '(' or c == '[') and self.image) or (c == ':' and self.definition))) then
    self[#self + 1] = '\\'
  elseif (c == '<' and not self.escaped) or (self.line.awaits_info and c:find('^[%w-]')) then
    self.held = c
    return
  end
  self:write(c)
end

function Inert:drain()
  while #self.again > 0 do
    self:one(table.remove(self.again))
  end
end

function Inert:feed(text)
  for c in text:gmatch('[%z\1-\255]') do
    self.again[1] = c
    self:drain()
  end
end

--- Lets go what waits for something that does not come.
function Inert:finish()
  while self.held ~= '' do
    local first = self.held:sub(1, 1)
    if first == '(' then
      self:release_address(true)
    elseif first == '<' then
      self:release(self:begins_tag())
    else
      self:release_info()
    end
    self:drain()
  end
end

---@param text string
---@return string
function M.text(text)
  if not text:find('[][<`~$\\]') then
    return text
  end
  local inert = new()
  inert:feed(text)
  inert:finish()
  return table.concat(inert)
end

---@class countersign.Inert A text that is still coming.
local Coming = {}
Coming.__index = Coming

---@return countersign.Inert
function M.coming()
  return setmetatable({ inert = new() }, Coming)
end

--- Takes more of the text; what is certain of it.
---@param text string
---@return string
function Coming:take(text)
  self.inert:feed(text)
  local out = table.concat(self.inert)
  for i = #self.inert, 1, -1 do
    self.inert[i] = nil
  end
  return out
end

--- What is not certain yet, as it would be if the text ended behind `text`. Nothing of it is taken.
---@param text string
---@return string
function Coming:rest(text)
  local one = new()
  for key, value in pairs(self.inert) do
    one[key] = type(value) == 'table' and vim.deepcopy(value) or value
  end
  -- Absent where it is not known, and so not among the pairs.
  one.fence = self.inert.fence and vim.deepcopy(self.inert.fence)
  one:feed(text)
  one:finish()
  return table.concat(one)
end

---@param lines string[]
---@return string[]
function M.lines(lines)
  return vim.split(M.text(table.concat(lines, '\n')), '\n', { plain = true })
end

return M
