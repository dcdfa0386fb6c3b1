--- The person's options, checked as they come.
local M = {}

---@class countersign.Options
---@field cmd? string[] Program and arguments of the server. Absent: it is looked for.
---@field env? table<string, string> Variables for the server beside those of Neovim.
---@field settings? table Keys of `config.toml`, as a table; they win over the files.
---@field root_markers? string[] Names that mark the folder of a project.
---@field autostart? boolean Start the server for every file. Without it, `:Countersign` starts it.
---@field tools? table<string, boolean> Which of the editor's own means the model may use.
---@field save? 'agent'|'all'|'never' Which open files are written before a command of the agent runs.
---@field maps? boolean Keys in the plugin's own windows. There are none elsewhere.
---@field chat? countersign.ChatOptions
---@field questions? countersign.QuestionOptions
---@field review? countersign.ReviewOptions

---@class countersign.ChatOptions
---@field position? 'right'|'left'|'bottom'|'float'|'tab' Where the chat opens.
---@field width? number Columns, or a part of the screen where it is below 1.
---@field height? number Lines, or a part of the screen, of a chat at the bottom or above all.
---@field composer_height? integer Lines.
---@field fold? boolean Fold reasoning, output and diffs once they are complete.
---@field autocomplete? boolean Offer files after `@` and prompts after `/` while typing.

---@class countersign.QuestionOptions
---@field pause? integer Milliseconds without a key before a question may open.

---@class countersign.ReviewOptions
---@field inline? boolean Show waiting changes in the files' own buffers.
---@field open? 'none'|'side' What opens by itself when the agent proposes a change.

---@type countersign.Options
M.defaults = {
  cmd = nil,
  env = nil,
  settings = {},
  root_markers = { '.git', '.hg', '.jj', '.svn' },
  autostart = true,
  tools = {
    diagnostics = true,
    definition = true,
    references = true,
    hover = true,
    symbols = true,
    rename = true,
  },
  save = 'agent',
  maps = true,
  chat = { position = 'right', width = 0.42, height = 0.4, composer_height = 6, fold = true, autocomplete = true },
  questions = { pause = 1200 },
  review = { inline = true, open = 'none' },
}

-- What an option must be. `any` tables are the person's own.
local kinds = {
  cmd = 'list',
  env = 'any',
  settings = 'any',
  root_markers = 'list',
  autostart = 'boolean',
  save = { 'agent', 'all', 'never' },
  maps = 'boolean',
  ['chat.position'] = { 'right', 'left', 'bottom', 'float', 'tab' },
  ['chat.width'] = 'positive',
  ['chat.height'] = 'positive',
  ['chat.composer_height'] = 'positive',
  ['chat.fold'] = 'boolean',
  ['chat.autocomplete'] = 'boolean',
  ['questions.pause'] = 'positive',
  ['review.inline'] = 'boolean',
  ['review.open'] = { 'none', 'side' },
}
for name in pairs(M.defaults.tools) do
  kinds['tools.' .. name] = 'boolean'
end

local function misfit(value, kind)
  if type(kind) == 'table' then
    return not vim.tbl_contains(kind, value) and 'must be one of ' .. table.concat(kind, ', ')
  elseif kind == 'list' then
    local good = type(value) == 'table' and vim.islist(value) and #value > 0
    for _, one in ipairs(good and value or {}) do
      good = good and type(one) == 'string'
    end
    return not good and 'must be a list of texts that is not empty'
  elseif kind == 'positive' then
    return not (type(value) == 'number' and value > 0) and 'must be a number above 0'
  elseif kind == 'any' then
    return type(value) ~= 'table' and 'must be a table'
  end
  return type(value) ~= kind and 'must be a ' .. kind
end

local function take(into, given, path, problems)
  for key, value in pairs(given) do
    local name = path .. tostring(key)
    local kind = kinds[name]
    if kind then
      local problem = misfit(value, kind)
      if problem then
        problems[#problems + 1] = ('%s %s; it is %s'):format(name, problem, vim.inspect(value))
      else
        into[key] = value
      end
    elseif type(M.defaults[key]) == 'table' and path == '' then
      if type(value) == 'table' then
        take(into[key], value, name .. '.', problems)
      else
        problems[#problems + 1] = ('%s must be a table; it is %s'):format(name, vim.inspect(value))
      end
    else
      problems[#problems + 1] = ('there is no option %s; see :help countersign-options'):format(name)
    end
  end
end

--- Reads options over the defaults. What cannot be meant is left out and told of.
---@param given? table
---@return countersign.Options options
---@return string[] problems
function M.read(given)
  local options, problems = vim.deepcopy(M.defaults), {}
  if given ~= nil and type(given) ~= 'table' then
    return options, { 'the options must be a table; they are ' .. vim.inspect(given) }
  end
  take(options, given or {}, '', problems)
  table.sort(problems)
  return options, problems
end

---@type countersign.Options?
local current
local told = {}

--- What is wrong with the options in force.
---@return string[]
function M.problems()
  M.get()
  return told
end

--- Puts options in force and tells of what is wrong with them.
---@param given? table
function M.set(given)
  current, told = M.read(given)
  for _, problem in ipairs(told) do
    vim.notify('Countersign: ' .. problem, vim.log.levels.WARN)
  end
end

--- The options in force: those of `setup()`, else `vim.g.countersign`, else the defaults.
---@return countersign.Options
function M.get()
  if not current then
    M.set(vim.g.countersign)
  end
  return current --[[@as countersign.Options]]
end

return M
