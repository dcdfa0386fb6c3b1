-- nvim -l journey.lua : fixes a diagnostic with the agent in a real Neovim that has no plugin.
-- Run by tests/editors/run, which sets JOURNEY_REPOSITORY, JOURNEY_PROJECT and JOURNEY_OUT.
local repository, project = vim.env.JOURNEY_REPOSITORY, vim.env.JOURNEY_PROJECT
package.path = repository .. '/tests/editors/nvim/?.lua;' .. package.path
local driver = require('driver')
local check, equal, wait = driver.check, driver.equal, driver.wait

local function read(path)
  local file = assert(io.open(path, 'rb'))
  local text = file:read('*a')
  file:close()
  return text
end

--- What the person adds by hand to the open file, at two places that the agent does not touch.
local function with_unsaved_text(text)
  text = text:gsub('VAT = 19\n', 'VAT = 19\n# 🍐 discount?\n', 1)
  return (text:gsub('kinds of fruit', 'kinds of 🍎 and more', 1))
end

local function journey()
  local before, after = repository .. '/tests/editors/project/before/', repository .. '/tests/editors/project/after/'
  local dirty = with_unsaved_text(read(before .. 'cart.py'))
  local wanted = with_unsaved_text(read(after .. 'cart.py'))
  local version = vim.version()
  io.stdout:write(('Neovim %d.%d.%d\n'):format(version.major, version.minor, version.patch))

  local editor = driver.start(repository .. '/tests/editors/nvim/init.lua', project)
  local function finish()
    local out = assert(io.open(vim.env.JOURNEY_OUT .. '/seen.txt', 'w'))
    out:write(editor:lua('return vim.inspect(Rig)') .. '\n' .. editor:text())
    out:close()
  end

  local ok, problem = pcall(function()
    editor:lua('vim.cmd.edit("cart.py")')
    local pid = wait('the server to start', function()
      return editor:lua([[
        local client = vim.lsp.get_clients({ name = 'countersign', bufnr = 0 })[1]
        return client and client.initialized and vim.fn.getpid() or nil
      ]])
    end)
    check('the server serves the buffer', pid)

    -- Typed by hand, each its own undo step.
    editor:type_out([[/^VAT<CR>o# 🍐 discount?<Esc>]])
    editor:type_out([[/kinds of<CR>2wcwand more<Esc>b]])
    editor:type_out([[Bi🍎 <Esc>]])
    if not equal('the open file has unsaved text', editor:text(), dirty) then
      return
    end
    equal('the file on disk is as it was', read(project .. '/cart.py'), read(before .. 'cart.py'))

    -- Another source reports a problem, as a linter or another language server would.
    editor:lua([[
      local lnum = vim.fn.search('return totl', 'w') - 1
      vim.diagnostic.set(vim.api.nvim_create_namespace('another-linter'), 0, { {
        lnum = lnum, col = 11, end_lnum = lnum, end_col = 15, source = 'another-linter', code = 'F821',
        severity = vim.diagnostic.severity.ERROR, message = "undefined name 'totl'",
      } })
      vim.api.nvim_win_set_cursor(0, { lnum + 1, 12 })
    ]])

    editor:type(':CountersignFix<CR>')
    local actions = editor:question('the list of code actions')
    local fix
    for _, title in ipairs(actions.items) do
      fix = fix or title:match('^Fix with agent.*')
    end
    check('the code actions offer “Fix with agent”', actions.kind == 'codeaction' and fix, vim.inspect(actions))
    check('the action can be chosen', editor:answer('Fix with agent'))

    local command = editor:question('the question about the command')
    check('the command asks first and is shown', command.prompt:find('python3 -m unittest', 1, true), vim.inspect(command))
    check('“Run once” can be chosen', editor:answer('Run once'), vim.inspect(command))

    -- A client that knows annotations may be asked by the edit itself; any other is asked by a message.
    local proposal = wait('the proposal', function()
      return editor:lua('return #Rig.confirms > 0 and { confirm = Rig.confirms } or Rig.question()')
    end)
    if proposal.confirm then
      check('the proposal asks by the edit itself', true)
    else
      check('the proposal names both files', proposal.prompt:find('cart.py', 1, true) and proposal.prompt:find('prices.py', 1, true), vim.inspect(proposal))
      equal('nothing has changed before the answer', editor:text(), dirty)
      equal('nothing has changed on disk before the answer', read(project .. '/prices.py'), read(before .. 'prices.py'))
      check('“Accept all” can be chosen', editor:answer('Accept all'), vim.inspect(proposal))
    end

    wait('the turn to end', function()
      local question = editor:lua('return Rig.question()')
      if question ~= vim.NIL and question ~= nil then
        error({ gave_up = 'the turn to end; this was asked instead: ' .. vim.inspect(question) }, 0)
      end
      return editor:lua([[
        for _, p in ipairs(Rig.progress) do if p.value.kind == 'end' then return true end end
      ]])
    end)
    local progress = editor:lua('return Rig.progress')
    equal('progress begins once', #vim.tbl_filter(function(p) return p.value.kind == 'begin' end, progress), 1)
    equal('progress ends once', #vim.tbl_filter(function(p) return p.value.kind == 'end' end, progress), 1)
    check('progress can be cancelled', progress[1].value.cancellable == true, vim.inspect(progress[1]))
    local words = table.concat(vim.tbl_map(function(p) return p.value.message or '' end, progress), '\n')
    check('progress tells of the command', words:find('unittest', 1, true), words)

    equal('the open file has the fix and all unsaved text', editor:text(), wanted)
    equal('the closed file is changed on disk', read(project .. '/prices.py'), read(after .. 'prices.py'))
    equal('the test file is as it was', read(project .. '/test_cart.py'), read(before .. 'test_cart.py'))
    equal('what was not saved by the person is not saved', read(project .. '/cart.py'), read(before .. 'cart.py'))
    check('the open file still counts as unsaved', editor:lua('return vim.bo.modified'))

    editor:type_out('u')
    equal('one undo takes the agent’s change back and nothing else', editor:text(), dirty)
    editor:type_out('<C-r>')
    equal('redo brings it again', editor:text(), wanted)
  end)
  pcall(finish)
  if not ok then
    local told = type(problem) == 'table' and ('gave up waiting for ' .. problem.gave_up) or tostring(problem)
    local _, seen = pcall(function() return editor:lua('return vim.inspect(Rig):sub(-3000)') end)
    check('the journey comes to its end', false, told .. '\n' .. tostring(seen))
  end
  check('the editor closes', editor:quit())
end

journey()
local good = driver.sum()
vim.cmd(good and '0cquit' or '1cquit')
