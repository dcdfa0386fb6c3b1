--- What an MCP server asks: a page to open, or a form that is filled in field by field.
local ask = require('countersign.ask')
local choice = require('countersign.ask.choice')
local picker = require('countersign.picker')
local whole = require('countersign.ask.whole')

local M = {}

--- Reads what was typed as a field's schema wants it.
---@param schema table
---@param text string
---@return any value nil where it cannot be meant
---@return string? problem
function M.read(schema, text)
  local kind = schema.type
  if kind == 'number' or kind == 'integer' then
    local number = tonumber(vim.trim(text))
    if not number or (kind == 'integer' and number % 1 ~= 0) then
      return nil, 'must be a ' .. (kind == 'integer' and 'whole number' or 'number')
    end
    if schema.minimum and number < schema.minimum then
      return nil, 'must be at least ' .. schema.minimum
    end
    if schema.maximum and number > schema.maximum then
      return nil, 'must be at most ' .. schema.maximum
    end
    return number
  end
  local length = vim.fn.strchars(text)
  if schema.minLength and length < schema.minLength then
    return nil, ('must have at least %d characters'):format(schema.minLength)
  end
  if schema.maxLength and length > schema.maxLength then
    return nil, ('must have at most %d characters'):format(schema.maxLength)
  end
  return text
end

--- The choices that a schema gives, with their titles.
local function options(schema)
  if schema.type == 'boolean' then
    return { { label = 'No', value = false }, { label = 'Yes', value = true } }
  end
  local list = {}
  for i, value in ipairs(schema.enum or {}) do
    list[i] = { label = choice.line((schema.enumNames or {})[i] or tostring(value), 100), value = value }
  end
  for _, one in ipairs(schema.oneOf or {}) do
    list[#list + 1] = { label = choice.line(one.title or tostring(one.const), 100), value = one.const }
  end
  return list
end

--- The fields in the order in which they are asked: those that must be there first.
local function fields(schema)
  local required, names = {}, vim.tbl_keys(schema.properties or {})
  for _, name in ipairs(schema.required or {}) do
    required[name] = true
  end
  table.sort(names, function(a, b)
    if (required[a] or false) ~= (required[b] or false) then
      return required[a] or false
    end
    return a < b
  end)
  return names, required
end

--- Fills a form in. `done` gets its content, or nil where the person closed a field that must be there.
---@param schema table
---@param done fun(content: table?)
---@param opened? fun(close: fun()) As of `picker.select`.
---@param gone? fun(): boolean Whether nobody wants to know any more: then no more is asked.
function M.fill(schema, done, opened, gone)
  local names, required = fields(schema)
  local content, at = vim.empty_dict(), 0
  local next_field
  local function field(name, told)
    if gone and gone() then
      return done(next(content) and content or nil)
    end
    local of = schema.properties[name]
    local title = choice.line(of.title or name, 80)
    local prompt = title .. (of.description and (' (%s)'):format(choice.line(of.description, 200)) or '') .. (told and (': ' .. told) or '')
    local function take(value, closed)
      if closed then
        if required[name] then
          return done(nil)
        end
      else
        content[name] = value
      end
      vim.schedule(next_field)
    end
    local list = options(of)
    if #list > 0 then
      choice.pick(list, prompt, 'countersign.form', function(chosen)
        take(chosen and chosen.value, chosen == nil)
      end, { opened = opened })
      return
    end
    picker.input({ prompt = prompt .. ' ', default = of.default ~= nil and tostring(of.default) or nil, opened = opened }, function(text)
      if text == nil or (text == '' and not required[name]) then
        return take(nil, true)
      end
      local value, problem = M.read(of, text)
      if problem then
        return vim.schedule(function()
          field(name, problem)
        end)
      end
      take(value)
    end)
  end
  next_field = function()
    at = at + 1
    if not names[at] then
      return done(content)
    end
    field(names[at])
  end
  next_field()
end

function M.request(params)
  local url = params.mode == 'url'
  local parts = { { ('%s asks: '):format(choice.line(params.server, 60)), params.message, 300 } }
  if url then
    -- An address is read whole before it is opened: of a long one the label has only the beginning.
    parts[2] = { 'It wants to open ', params.url, 40 }
    for _, note in ipairs(params.notes or {}) do
      parts[#parts + 1] = { 'Note: ', note, 300 }
    end
  end
  local lines, all = whole.told(parts)
  local yes = { label = url and 'Open ' .. choice.line(params.url, 200) or 'Answer…', action = 'accept' }
  local question
  local function opened(close)
    question.close = close
  end
  question = {
    id = params.id,
    thread = params.threadId,
    title = lines[1],
    nothing = { action = 'cancel' },
    show = function(answer)
      local gone = ask.gone(question)
      local asked = { title = 'All that is asked', kind = 'countersign.elicitation', prompt = all and lines[1] or table.concat(lines, '\n'), all = all }
      whole.put(question, asked, function(unread)
        return { { label = 'Decline', action = 'decline' }, unread and whole.READ or yes }
      end, function(chosen)
        if not chosen or chosen.action == 'decline' then
          return answer(chosen and { action = 'decline' } or nil)
        end
        -- It has its answer from elsewhere: nothing is opened or asked for it any more.
        if question.settled then
          return answer({ action = 'accept' })
        end
        if url then
          -- Only what a browser shows; nothing that would run a program here.
          if not params.url:match('^https?://') then
            require('countersign.client').tell('the address is not a web page, so it is not opened: ' .. choice.line(params.url), vim.log.levels.WARN)
            return answer({ action = 'decline' })
          end
          vim.ui.open(params.url)
          return answer({ action = 'accept' })
        end
        M.fill(params.requestedSchema or {}, function(content)
          -- Where it was opened anew, the newer picker is answered.
          if gone() and not question.settled then
            return answer(nil)
          end
          answer(content and { action = 'accept', content = content } or nil)
        end, opened, gone)
      end)
    end,
  }
  return ask.wait(question)
end

return M
