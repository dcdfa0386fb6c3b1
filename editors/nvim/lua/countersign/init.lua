--- Countersign in Neovim: what a person's configuration calls.
local M = {}

--- Takes options and starts the server for the files that are opened. Without it, options come from `vim.g.countersign` and
--- `vim.lsp.enable('countersign')` starts the server.
---@param options? countersign.Options
function M.setup(options)
  if vim.fn.has('nvim-0.10') == 0 then
    vim.notify('Countersign needs Neovim 0.10 or newer.', vim.log.levels.ERROR)
    return
  end
  require('countersign.config').set(options)
  require('countersign.server').enable()
end

--- Opens the chat.
function M.chat()
  require('countersign.chat.window').chat()
end

--- Opens the chat, or closes it.
function M.toggle()
  require('countersign.chat.window').toggle()
end

--- Sends words to the conversation that was used last, or to a new one.
---@param words string
function M.ask(words)
  require('countersign.chat').with(function(thread)
    require('countersign.composer').say(thread, words)
  end)
end

--- For the status line: what the agent does, what waits for the person, and how much room is left. Empty where there is
--- nothing to say.
---@return string
function M.statusline()
  return require('countersign.statusline').text()
end

return M
