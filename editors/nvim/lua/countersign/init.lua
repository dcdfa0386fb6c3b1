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

--- Points at a file in the next message.
---@param path string
---@param lines? { start: integer, ['end']: integer } From 0, half open.
function M.add(path, lines)
  require('countersign.composer').mention(path, lines)
end

--- Decides on proposed changes, as `:Countersign accept` and `:Countersign reject` do: on what was on the screen.
---@param scope? 'hunk'|'file'|'all' Absent: the one under the cursor.
function M.accept(scope)
  require('countersign.review').decide('accept', scope or 'hunk')
end

---@param scope? 'hunk'|'file'|'all'
---@param words? string To the model.
function M.reject(scope, words)
  require('countersign.review').decide('reject', scope or 'hunk', words)
end

--- Moves to the next proposed change, or to the previous one.
---@param step? 1|-1
function M.next(step)
  require('countersign.review').move(step or 1)
end

--- The changes that nobody has decided on: where each lies and what it would put in.
---@return { path: string, first: integer, last: integer, text: string, conflict?: string }[] Lines from 1.
function M.pending()
  return vim.tbl_map(function(place)
    return { path = place.file.path, first = place.range.start + 1, last = place.range['end'], text = place.hunk.newText, conflict = place.hunk.conflict }
  end, require('countersign.proposals').open_hunks())
end

--- For the status line: what the agent does, what waits for the person, and how much room is left. Empty where there is
--- nothing to say.
---@return string
function M.statusline()
  return require('countersign.statusline').text()
end

return M
