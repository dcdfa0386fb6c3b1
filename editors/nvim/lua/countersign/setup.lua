--- The first run: where no model can be asked yet, what leads to one. Each entry does something.
local client = require('countersign.client')
local events = require('countersign.events')

local M = {}

---@type table<integer, table> What `account/setup` said, by client.
local known = {}

--- Asks whether a model can be asked.
---@param id integer The client.
---@param done? fun(state: table)
function M.check(id, done)
  client.request(id, 'account/setup', {}, function(state)
    known[id] = state
    events.emit('setup', { client = id })
    if done then
      done(state)
    end
  end, function() end)
end

--- What leads to a model, most likely first.
local function ways(state)
  local list = {}
  if state.takesKey then
    list[#list + 1] = { label = ('Paste a key for %s'):format(require('countersign.picker').line(state.provider or 'the provider', 40)), name = 'key' }
  end
  if state.takesBrowser then
    list[#list + 1] = { label = 'Sign in in the browser', name = 'browser' }
  end
  list[#list + 1] = { label = 'Use a model on this machine (Ollama, llama.cpp, LM Studio)', name = 'local' }
  list[#list + 1] = { label = 'Run the demo, which needs no model', name = 'demo' }
  list[#list + 1] = { label = 'Run diagnostics', name = 'doctor' }
  return list
end

--- The page, for the end of a conversation that has not begun.
---@param thread countersign.Thread
---@return { [1]: string, [2]: string }[][]
function M.page(thread)
  local state = known[thread.client]
  if not state or state.ready or #thread.items > 0 then
    return {}
  end
  local lines = { { { 'No model can be asked yet. To get one:', 'CountersignTitle' } } }
  for _, way in ipairs(ways(state)) do
    lines[#lines + 1] = { { '→ ' .. way.label, 'CountersignQuestion' }, { '  :Countersign setup ' .. way.name, 'CountersignQuiet' } }
  end
  if state.envKey then
    lines[#lines + 1] = { { ('A key is also taken from the environment variable %s, when the server starts.'):format(state.envKey), 'CountersignQuiet' } }
  end
  return lines
end

--- Runs one of the server's own programs in a terminal, which stays to be read.
local function run(word)
  local cmd = require('countersign.server').command(true)
  if not cmd then
    return
  end
  vim.cmd('botright 15new')
  local words = { cmd[1], word }
  if vim.fn.has('nvim-0.11') == 1 then
    vim.fn.jobstart(words, { term = true })
  else
    vim.fn.termopen(words)
  end
  vim.cmd('startinsert')
end

local deeds = {
  key = function()
    require('countersign.account').login('key')
  end,
  browser = function()
    require('countersign.account').login('browser')
  end,
  ['local'] = function(server)
    M.check(server.id, function(state)
      local found = state.localServer
      if found then
        client.tell(('%s answers with %s and is used. Write to the agent: :Countersign chat'):format(found.name, found.model or 'its model'))
      elseif state.ready then
        client.tell('a model can be asked already: ' .. (state.provider or ''))
      else
        client.tell('no server of models answers on this machine. Start Ollama, llama.cpp or LM Studio, then choose this again.', vim.log.levels.WARN)
      end
    end)
  end,
  demo = function()
    run('demo')
  end,
  doctor = function()
    run('doctor')
  end,
}

--- Does what an entry says; without a name the person chooses.
---@param name string
function M.run(name)
  client.with(function(server)
    if deeds[name] then
      return deeds[name](server)
    elseif name ~= '' then
      return client.tell(('there is no entry %s. There are: key, browser, local, demo, doctor.'):format(name), vim.log.levels.ERROR)
    end
    M.check(server.id, function(state)
      local list = vim.list_extend({ { label = 'Not now' } }, ways(state))
      local prompt = state.ready and 'A model can be asked. Set up another?' or 'No model can be asked yet'
      require('countersign.ask.choice').pick(list, prompt, 'countersign.setup', function(way)
        if way and way.name then
          deeds[way.name](server)
        end
      end)
    end)
  end)
end

-- A key, or a login, may have come meanwhile.
events.on('account', function(data)
  M.check(data.client)
end)

events.on('lost', function(data)
  known[data.client] = nil
end)

return M
