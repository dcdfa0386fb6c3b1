local T = ...
local tests = {}

local picked

--- A picker that takes the choices one after the other, by the beginning of their words.
local function choose(...)
  local wanted = { ... }
  picked = {}
  vim.ui.select = function(items, options, done)
    local want = table.remove(wanted, 1)
    picked[#picked + 1] = { prompt = options.prompt, items = items }
    for _, item in ipairs(items) do
      if want and vim.startswith(item.label, want) then
        return done(item)
      end
    end
    done(nil)
  end
end

local function asked(wire, method)
  local list = {}
  for _, one in ipairs(wire) do
    if one.method == 'countersign/' .. method then
      list[#list + 1] = one.params
    end
  end
  return list
end

local function run(name, words)
  require('countersign.commands').run(name, words or '')
end

local function told(part)
  T.wait('“' .. part .. '”', function()
    for _, message in ipairs(T.messages) do
      if message[1]:find(part, 1, true) then
        return true
      end
    end
  end)
end

local function hear(method, params, id)
  require('countersign.handlers').table()['countersign/' .. method](nil, params, { client_id = id })
end

tests['a login opens its page, is stopped by signing out, and its end is told'] = function()
  local id, wire = T.countersign({
    ['countersign/account/login/start'] = function(params)
      if params.type == 'browser' then
        return { type = 'browser', loginId = 'l1', authUrl = 'https://auth.example/x' }
      end
      return { type = 'deviceCode', loginId = 'l2', userCode = 'AB-12', verificationUrl = 'https://auth.example/d' }
    end,
    ['countersign/account/login/cancel'] = {},
    ['countersign/account/logout'] = {},
  })
  local opened = {}
  vim.ui.open = function(url)
    opened[#opened + 1] = url
  end
  choose('In the browser')
  run('login')
  told('sign in on the page')
  T.equal(opened, { 'https://auth.example/x' })
  T.equal(#asked(wire, 'account/logout'), 0)
  run('logout')
  T.equal(asked(wire, 'account/login/cancel'), { { loginId = 'l1' } })
  hear('account/login/completed', { loginId = 'l1', success = false, error = 'You stopped it.' }, id)
  told('You stopped it.')
  run('login', 'device')
  told('AB-12')
  hear('account/login/completed', { loginId = 'l2', success = true }, id)
  told('signed in')
  -- None is under way any more: now it is the account, by a question whose first choice is a no.
  choose('Sign out')
  run('logout')
  T.equal(picked[1].items[1].label, 'Stay signed in')
  told('signed out')
  T.equal(#asked(wire, 'account/login/cancel'), 1)
  run('login', 'carrier-pigeon')
  told('there is no way carrier-pigeon')
end

tests['a key is not shown, and an address that is no page is not opened'] = function()
  local _, wire = T.countersign({ ['countersign/account/login/start'] = function(params)
    return params.type == 'apiKey' and { type = 'apiKey' } or { type = 'browser', loginId = 'l', authUrl = 'file:///etc/passwd' }
  end })
  local opened
  vim.ui.open = function(url)
    opened = url
  end
  vim.fn.inputsecret = function()
    return ' sk-1 '
  end
  run('login', 'key')
  T.equal(asked(wire, 'account/login/start'), { { type = 'apiKey', apiKey = 'sk-1' } })
  for _, message in ipairs(T.messages) do
    T.check(not message[1]:find('sk-1', 1, true), message[1])
  end
  run('login', 'browser')
  told('not a web page')
  T.equal(opened, nil)
  vim.fn.inputsecret = nil
end

tests['the account is told in words'] = function()
  local lines = require('countersign.account').lines
  local window = { usedPercent = 41.6, windowMinutes = 300 }
  for _, row in ipairs({
    { { account = { type = 'account', email = 'ada@example.org', plan = 'plus' }, requiresOpenaiAuth = true }, { primary = window, secondary = { usedPercent = 3, windowMinutes = 10080 } }, {}, 'Signed in as ada@example.org, plan plus.\n42% of the allowance for 5 hours is used.\n3% of the allowance for 7 days is used.' },
    { { account = { type = 'apiKey' }, requiresOpenaiAuth = true }, nil, {}, 'Requests are allowed by an API key.' },
    { { requiresOpenaiAuth = true }, nil, { authMethod = 'apiKey' }, 'Requests are allowed by an API key.' },
    { { requiresOpenaiAuth = true }, nil, {}, 'Not signed in. :Countersign login does it.' },
    { { requiresOpenaiAuth = false }, {}, {}, 'The configured provider needs no account.' },
  }) do
    T.equal(table.concat(lines(row[1], row[2], row[3]), '\n'), row[4])
  end
  T.countersign({
    ['countersign/account/read'] = { requiresOpenaiAuth = false },
    ['countersign/account/status'] = { requiresOpenaiAuth = false },
    ['countersign/account/rateLimits/read'] = function()
      return nil, { code = -32803, message = 'none' }
    end,
  })
  run('account')
  told('needs no account')
end

local preview = { previewId = 'p', threadId = 't', report = '{\n  "all": "of it"\n}\n', parts = {} }

tests['feedback is shown whole before it is saved, and sent only where there is an address'] = function()
  local _, wire = T.countersign({
    ['countersign/feedback/preview'] = preview,
    ['countersign/feedback/save'] = { savedPath = '/x/y.json', threadId = 't' },
    ['countersign/feedback/upload'] = { threadId = 't' },
  })
  local shown
  choose('Something is broken', 'Without logs', 'Save')
  vim.ui.input = function(options, done)
    if vim.startswith(options.prompt, 'Save') then
      shown = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n') .. '\n'
      return done('/x/y.json')
    end
    done('It broke.')
  end
  run('feedback')
  told('saved as /x/y.json')
  T.equal(shown, preview.report)
  T.equal(asked(wire, 'feedback/preview'), { { classification = 'bug', reason = 'It broke.', includeLogs = false } })
  T.equal(asked(wire, 'feedback/save'), { { classification = 'bug', previewId = 'p', savePath = '/x/y.json' } })
  for _, item in ipairs(picked[3].items) do
    T.check(not vim.startswith(item.label, 'Send'), item.label)
  end
  vim.cmd('silent! tabonly!')
end

tests['feedback that nobody decided on goes nowhere, and the first choice is a no'] = function()
  local _, wire = T.countersign({
    ['countersign/feedback/preview'] = vim.tbl_extend('force', preview, { endpoint = 'https://feedback.example' }),
    ['countersign/feedback/upload'] = { threadId = 't' },
  })
  choose('A bad answer', 'With the last lines')
  run('feedback', 'Too long')
  told('nothing was saved or sent')
  T.equal(picked[3].items[1].label, 'Cancel')
  T.equal(#asked(wire, 'feedback/upload'), 0)
  T.equal(#vim.api.nvim_list_tabpages(), 1)
  choose('A good answer', 'Without logs', 'Send to https://feedback.example')
  run('feedback', 'Thanks')
  told('sent. Thank you.')
  T.equal(asked(wire, 'feedback/upload'), { { classification = 'goodResult', previewId = 'p' } })
end

tests['where no model can be asked a new chat says what leads to one, until there is one'] = function()
  local state, keys = { ready = false, provider = 'OpenAI', takesKey = true, takesBrowser = false, envKey = 'OPENAI_API_KEY' }, {}
  local id = T.countersign({
    ['countersign/account/setup'] = function()
      return vim.deepcopy(state)
    end,
    ['countersign/account/login/start'] = function(params)
      keys[#keys + 1] = params
      return { type = 'apiKey' }
    end,
  })
  local threads = require('countersign.threads')
  threads.adopt({ id = 't', turns = {}, preview = '' }, id)
  local function page()
    return table.concat(vim.tbl_map(function(line)
      return table.concat(vim.tbl_map(function(chunk)
        return chunk[1]
      end, line))
    end, require('countersign.setup').page(threads.get('t'))), '\n')
  end
  require('countersign.chat.window').open('t')
  vim.cmd('stopinsert')
  T.wait('the page', function()
    return page() ~= ''
  end)
  T.has(page(), 'No model can be asked yet')
  T.has(page(), '→ Paste a key for OpenAI  :Countersign setup key')
  T.has(page(), ':Countersign setup local')
  T.has(page(), ':Countersign setup demo')
  T.has(page(), 'OPENAI_API_KEY')
  T.check(not page():find('browser', 1, true), 'what always fails is not offered')
  -- Closed, or put off, nothing happens; each other entry does something.
  local offered
  vim.ui.select = function(items, options, done)
    offered = vim.tbl_map(options.format_item, items)
    done(nil)
  end
  require('countersign.commands').run('setup', '')
  T.wait('the list', function()
    return offered
  end)
  T.equal(offered[1], 'Not now')
  vim.ui.select = T.ui.select
  vim.fn.inputsecret = function()
    return ' sk-1 '
  end
  require('countersign.commands').run('setup', 'key')
  T.wait('the key', function()
    return keys[1]
  end)
  vim.fn.inputsecret = nil
  T.equal(keys[1], { type = 'apiKey', apiKey = 'sk-1' })
  require('countersign.commands').run('setup', 'local')
  T.wait('the answer', function()
    return T.messages[#T.messages] and T.messages[#T.messages][1]:find('no server of models answers', 1, true)
  end)
  state.ready = true
  require('countersign.handlers').table()['countersign/account/login/completed'](nil, { success = true }, { client_id = id })
  T.wait('the page to go', function()
    return page() == ''
  end)
end

return tests
