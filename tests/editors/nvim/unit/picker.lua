-- What the person may have put in the place of `vim.ui.select` and `vim.ui.input`: pickers that answer later, twice, never, or fail.
local T = ...
local tests = {}

local function back()
  vim.ui.select, vim.ui.input = T.ui.select, T.ui.input
end

--- A list in a window that takes the keys, as the pickers of plugins are: what is asked is its title, and no item may have
--- several lines.
local function floating()
  local shown = {}
  vim.ui.select = function(items, options, done)
    local lines = {}
    for i, item in ipairs(items) do
      -- With two values this fails, as it does in some pickers.
      table.insert(lines, options.format_item(item))
      assert(#lines == i)
    end
    local buf = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
    assert(not options.prompt:find('\n'), 'a title has one line')
    local win = vim.api.nvim_open_win(buf, true, { relative = 'editor', row = 3, col = 3, width = 60, height = #lines, border = 'single', title = options.prompt })
    shown[#shown + 1] = { prompt = options.prompt, kind = options.kind, lines = lines, buf = buf, win = win, choose = function(i)
      vim.api.nvim_win_close(win, true)
      vim.schedule(function()
        done(items[i], items[i] and i)
      end)
    end }
  end
  return shown
end

local function approval(id)
  return T.asked('approval/command', {
    id = id, threadId = 't', turnId = 'u', itemId = 'i', command = { 'bash', '-lc', 'make ' .. id }, display = 'make ' .. id, cwd = '/shop', actions = {},
    reason = 'It is not known to be safe.', confined = 'outside', availableDecisions = { 'accept', 'decline', 'cancel' },
  })
end

local function opens(shown, count)
  T.wait('picker ' .. count, function()
    return #shown == count
  end)
end

tests['a picker in a window of its own that answers later'] = function()
  local shown = floating()
  T.fresh({ questions = { pause = 10 } })
  local first, second = approval('one'), approval('two')
  opens(shown, 1)
  T.equal(shown[1].kind, 'countersign.command')
  T.equal(shown[1].lines[1], 'Deny')
  vim.wait(300, function() end)
  T.equal(#shown, 1, 'while it has the keys nothing else opens')
  shown[1].choose(2)
  T.ends(first)
  T.equal(first.result.decision, 'accept')
  opens(shown, 2)
  shown[2].choose(nil)
  T.ends(second)
  T.equal(second.result.decision, 'decline')
  back()
end

tests['what others call their things is one line of a picker'] = function()
  local shown = floating()
  T.fresh()
  local id = T.countersign({
    ['countersign/thread/list'] = { data = { { id = 'a', name = 'two\nlines', preview = 'p', status = 'idle', updatedAtMs = 0, cwd = '/x\ny' } } },
    ['countersign/thread/search'] = { data = { { thread = { id = 'a', preview = 'p\nq' }, snippet = 's\nt' } } },
    ['countersign/permissions/profiles'] = { data = { { id = ':own', description = 'a\nb' } } },
    ['countersign/prompt/list'] = { data = { { name = 'greet', argumentHint = 'N\nM', description = 'c\nd' } } },
    ['countersign/model/list'] = { data = { { id = 'm', displayName = 'e\nf', provider = 'g\nh' } } },
    ['countersign/terminal/list'] = { data = { { terminalId = 1, threadId = 't', command = 'i\nj' } } },
  })
  local thread = require('countersign.threads').ensure('t', id)
  thread.cwd, thread.live = '/', true
  for i, name in ipairs({ 'threads', 'search s', 'permissions', 'prompts', 'model', 'mode', 'terminals', 'review' }) do
    require('countersign.commands').run(name:match('%S+'), name:match(' (.*)') or '')
    opens(shown, i)
    T.check(#shown[i].lines > 0 and shown[i].kind:match('^countersign%.'), shown[i])
    vim.api.nvim_win_close(shown[i].win, true)
  end
  back()
end

tests['a picker that answers twice answers once'] = function()
  vim.ui.select = function(items, _, done)
    -- The no comes last, as from a picker that closes after a choice.
    done(items[2], 2)
    done(nil, nil)
    done(items[1], 1)
  end
  vim.ui.input = function(options, done)
    done(options.prompt:match('^%S+'))
    done(nil)
  end
  T.fresh({ questions = { pause = 10 } })
  local got = approval('one')
  T.ends(got)
  T.equal(got.result.decision, 'accept')
  local contents = {}
  require('countersign.ask.elicitation').fill({ required = { 'a', 'b' }, properties = { a = { type = 'string' }, b = { type = 'boolean' }, c = { type = 'string' } } }, function(content)
    contents[#contents + 1] = content
  end)
  T.wait('the form', function()
    return #contents > 0
  end)
  vim.wait(50, function() end)
  T.equal(contents, { { a = 'a', b = true, c = 'c' } })
  local answers = {}
  require('countersign.ask.input').put({
    { id = '1', header = 'H', question = 'Q', options = { { label = 'no' }, { label = 'yes' } } },
    { id = '2', header = 'H', question = 'R' },
  }, function(given)
    answers[#answers + 1] = given
  end)
  T.wait('the answers', function()
    return #answers > 0
  end)
  vim.wait(50, function() end)
  T.equal(answers, { { ['1'] = { answers = { 'yes' } }, ['2'] = { answers = { 'H:' } } } })
  back()
end

tests['a picker that tells nobody that it was closed holds nothing up'] = function()
  local calls = {}
  vim.ui.select = function(items, options, done)
    calls[#calls + 1] = { items = items, prompt = options.prompt, done = done }
  end
  T.fresh({ questions = { pause = 10 } })
  local first, second = approval('one'), approval('two')
  -- Nothing has the keys, so the picker of the first is gone: the other one is asked, and the first is announced again.
  opens(calls, 2)
  T.has(calls[2].prompt, 'make two')
  T.has(T.messages[#T.messages][1], 'make one')
  local function floats()
    return vim.tbl_filter(function(win)
      return vim.api.nvim_win_get_config(win).relative ~= ''
    end, vim.api.nvim_list_wins())
  end
  T.equal(#floats(), 1, 'what stood beside the first is gone')
  calls[2].done(calls[2].items[2])
  T.ends(second)
  vim.wait(300, function() end)
  T.equal(#calls, 2, 'the first does not come by itself')
  require('countersign.commands').run('answer', '')
  opens(calls, 3)
  T.has(calls[3].prompt, 'make one')
  calls[3].done(calls[3].items[2])
  T.ends(first)
  T.equal(first.result.decision, 'accept')
  T.equal(#floats(), 0)
  back()
end

tests['a picker that fails is a no, and is told'] = function()
  for _, name in ipairs({ 'select', 'input' }) do
    back()
    local words = 0
    vim.ui.select = name == 'select' and function()
      error('no such window')
    end or function(items, _, done)
      for _, item in ipairs(items) do
        if item.words then
          words = words + 1
          vim.schedule(function()
            done(item)
          end)
        end
      end
    end
    vim.ui.input = function()
      error('no such window')
    end
    T.fresh({ questions = { pause = 10 } })
    local got = approval('one')
    T.ends(got)
    T.equal({ got.result.decision, got.result.feedback, words }, { 'decline', nil, name == 'select' and 0 or 1 })
    T.has(T.messages[#T.messages][1], ('vim.ui.%s failed'):format(name))
    for _, win in ipairs(vim.api.nvim_list_wins()) do
      T.equal(vim.api.nvim_win_get_config(win).relative, '')
    end
  end
  back()
end

tests['Neovim’s own list shows all that is asked, in its prompt'] = function()
  back()
  local asked
  local inputlist = vim.fn.inputlist
  vim.fn.inputlist = function(lines)
    asked = table.concat(lines, '\n')
    return 2
  end
  T.fresh({ questions = { pause = 10 } })
  local got = approval('one')
  T.ends(got)
  vim.fn.inputlist = inputlist
  T.equal(got.result.decision, 'accept')
  T.has(asked, 'Run make one?\nIn /shop, OUTSIDE the sandbox')
end

tests['a table that can be called is a picker of others'] = function()
  vim.ui.select = setmetatable({}, { __call = function(_, items, _, done)
    done(items[2])
  end })
  T.fresh({ questions = { pause = 10 } })
  local got = approval('one')
  T.ends(got)
  T.equal(got.result.decision, 'accept')
  T.check(not require('countersign.picker').is_own('select'))
  local good, why = pcall(vim.cmd, 'silent checkhealth countersign')
  local report = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  back()
  T.check(good, why)
  T.has(report, 'what has replaced vim.ui.select (a table)')
  vim.cmd('silent! tabonly!')
end

return tests
