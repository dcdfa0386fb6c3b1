-- nvim --headless -u NONE -c 'luafile tests/editors/nvim/unit/run.lua' : the plugin's rooms by themselves, in this Neovim; those that
-- $COUNTERSIGN_TOPICS names, or all; of these the tests whose names have $COUNTERSIGN_TEST in them.
-- Each file beside this one gives a table of tests by name. A line per test that fails, and the sum.
local here = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p')))
local root = vim.fs.normalize(here .. '/../../../..')
local plugin = root .. '/editors/nvim'
vim.opt.runtimepath:prepend(plugin)
vim.o.swapfile = false

local T = { root = root, plugin = plugin, messages = {}, ui = { select = vim.ui.select, input = vim.ui.input } }

vim.notify = function(message, level)
  table.insert(T.messages, { message, level })
end

local function show(value)
  return type(value) == 'string' and value or vim.inspect(value)
end

--- Fails unless both are the same, to the last field.
function T.equal(got, wanted, what)
  if not vim.deep_equal(got, wanted) then
    error(('%sgot:\n%s\nwanted:\n%s'):format(what and what .. ': ' or '', show(got), show(wanted)), 2)
  end
end

--- Fails unless it is true.
function T.check(good, what)
  if not good then
    error(show(what or 'is not so'), 2)
  end
end

--- Fails unless the text holds the part.
function T.has(text, part)
  if not tostring(text):find(part, 1, true) then
    error(('%s\nlacks:\n%s'):format(show(text), part), 2)
  end
end

--- Waits until `look` is true.
function T.wait(what, look)
  if not vim.wait(10000, look, 10) then
    error('gave up waiting for ' .. what, 2)
  end
end

--- A server within the editor, which answers from a table: a result, or a function from the parameters to one. `T.later` is no
--- answer. What it was asked is in the second value.
T.later = {}
function T.server(answers)
  local asked = {}
  return function(dispatchers)
    local closing, id = false, 0
    asked.exit = function(code)
      if not closing then
        closing = true
        vim.schedule(function()
          dispatchers.on_exit(code, 0)
        end)
      end
    end
    return {
      request = function(method, params, done, replied)
        id = id + 1
        local own = id
        table.insert(asked, { method = method, params = params, id = own })
        local answer = answers[method]
        if answer == T.later then
          return true, own
        end
        vim.schedule(function()
          local result, problem = answer, nil
          if type(answer) == 'function' then
            result, problem = answer(params)
          end
          if replied then
            replied(own)
          end
          done(problem, result)
        end)
        return true, own
      end,
      notify = function(method, params)
        table.insert(asked, { method = method, params = params })
        if method == 'exit' then
          asked.exit(0)
        end
        return true
      end,
      is_closing = function()
        return closing
      end,
      terminate = function()
        asked.exit(0)
      end,
    }
  end,
    asked
end

--- Puts a request of our server's to the plugin; its answer is in the table once there is one.
function T.asked(method, params)
  local got = {}
  local handler = require('countersign.handlers').table()['countersign/' .. method]
  coroutine.wrap(function()
    got.result, got.error = handler(nil, params, { client_id = 1 })
    got.there = true
  end)()
  return got
end

--- Waits until such a request has its answer.
function T.ends(got)
  T.wait('the answer', function()
    return got.there
  end)
end

--- Starts such a server as ours, for a folder; its client's id, and what it was asked.
function T.countersign(answers, folder)
  local cmd, asked = T.server(vim.tbl_extend('keep', answers, {
    initialize = { capabilities = {} },
    shutdown = vim.NIL,
    ['countersign/proposal/list'] = { data = {} },
    ['countersign/file/readable'] = { refused = {} },
  }))
  local given = vim.tbl_extend('force', require('countersign.server').config(), { cmd = cmd, root_dir = folder or vim.uv.cwd(), reuse_client = function()
    return false
  end })
  local id = vim.fn.has('nvim-0.11') == 1 and vim.lsp.start(given, { attach = false }) or vim.lsp.start_client(given)
  T.wait('our server', function()
    local client = vim.lsp.get_client_by_id(id)
    return client and client.initialized
  end)
  return id, asked
end

--- Forgets what the plugin knows.
function T.fresh(options)
  for _, client in ipairs(vim.lsp.get_clients()) do
    client.stop(vim.fn.has('nvim-0.11') == 1 and client or true, true)
  end
  vim.wait(1000, function()
    return #vim.lsp.get_clients() == 0
  end, 10)
  for name in pairs(package.loaded) do
    if vim.startswith(name, 'countersign') then
      package.loaded[name] = nil
    end
  end
  vim.cmd('silent! %bwipeout!')
  T.messages = {}
  require('countersign.config').set(options)
end

local chosen = vim.split(vim.env.COUNTERSIGN_TOPICS or '', ' ', { trimempty = true })
local passed, failed = 0, 0
for name, kind in vim.fs.dir(here) do
  local topic = name:match('^(.*)%.lua$')
  if kind == 'file' and topic and topic ~= 'run' and (#chosen == 0 or vim.tbl_contains(chosen, topic)) then
    local tests = assert(loadfile(here .. '/' .. name))(T)
    local names = vim.tbl_keys(tests)
    table.sort(names)
    names = vim.tbl_filter(function(test)
      return test:find(vim.env.COUNTERSIGN_TEST or '', 1, true) ~= nil
    end, names)
    for _, test in ipairs(names) do
      T.fresh()
      local good, why = xpcall(tests[test], function(problem)
        return tostring(problem) .. '\n' .. debug.traceback('', 2)
      end)
      passed, failed = passed + (good and 1 or 0), failed + (good and 0 or 1)
      io.write(good and ('ok    %s: %s\n'):format(topic, test) or ('FAIL  %s: %s\n      %s\n'):format(topic, test, why:gsub('\n', '\n      ')))
    end
  end
end
io.write(('%s: %d passed, %d failed\n'):format(tostring(vim.version()), passed, failed))
vim.cmd(failed == 0 and passed > 0 and 'qall!' or 'cquit 1')
