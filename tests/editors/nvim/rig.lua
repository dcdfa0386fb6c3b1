-- What a journey needs in the Neovim under test: a Rig through which it answers questions and reads what was shown.
vim.o.swapfile = false
vim.o.hidden = true
-- As a person's editor: languages are known, and a buffer's type starts language servers.
vim.cmd('filetype plugin on')

-- Every message is kept; the runner saves the log.
vim.lsp.set_log_level('trace')

--- `own`: Neovim's own list and prompt.
Rig = { progress = {}, messages = {}, confirms = {}, own = { select = vim.ui.select, input = vim.ui.input } }

--- Runs a file of Lua for the journey; its result as JSON.
function Rig.run(path)
  local result = dofile(path)
  return vim.json.encode(result == nil and vim.NIL or result)
end

local open

--- What stands in windows above all else, which take no keys.
local function beside()
  local texts = {}
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    local config = vim.api.nvim_win_get_config(win)
    if config.relative == 'editor' and not config.focusable then
      table.insert(texts, table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false), '\n'))
    end
  end
  return table.concat(texts, '\n')
end

--- A picker that answers later, like the picker plugins do.
vim.ui.select = function(items, opts, on_choice)
  local format = opts.format_item or tostring
  open = { items = items, opts = opts, on_choice = on_choice, texts = vim.tbl_map(format, items), beside = beside() }
end

--- What the person sees of the question that is open.
function Rig.question()
  return open and { text = vim.trim(open.opts.prompt .. '\n' .. open.beside), kind = open.opts.kind or '', choices = open.texts } or nil
end

function Rig.answer(title)
  for i, text in ipairs(open and open.texts or {}) do
    if vim.startswith(text, title) then
      local question = open
      open = nil
      vim.schedule(function()
        question.on_choice(question.items[i], i)
      end)
      return true
    end
  end
  return false
end

--- Takes the question away, as a picker that is left open behind other windows.
function Rig.put_away()
  open = nil
end

--- Closes the question without a choice.
function Rig.dismiss()
  local question = open
  open = nil
  vim.schedule(function()
    question.on_choice(nil, nil)
  end)
end

--- Lines that the person will type into the next prompts, one each; false closes one.
Rig.lines = {}
Rig.prompts = {}

vim.ui.input = function(opts, on_confirm)
  table.insert(Rig.prompts, vim.trim(opts.prompt .. '\n' .. beside()))
  local line = table.remove(Rig.lines, 1)
  vim.schedule(function()
    on_confirm(line or nil)
  end)
end

-- Newer releases ask this way before an annotated edit. It would block the editor, and with it the journey.
vim.fn.confirm = function(message)
  table.insert(Rig.confirms, message)
  return 1
end

local notify = vim.notify
vim.notify = function(message, level, ...)
  table.insert(Rig.messages, message)
  return notify(message, level, ...)
end

vim.api.nvim_create_autocmd('LspProgress', {
  callback = function(event)
    local params = event.data.params
    table.insert(Rig.progress, { token = tostring(params.token), value = params.value })
  end,
})
