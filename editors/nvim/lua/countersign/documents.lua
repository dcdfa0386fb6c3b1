--- Open files and the disk: what is written before a command runs, and what is read again after the agent wrote.
local config = require('countersign.config')

local M = {}

--- Writes a buffer as `:write` does, with the person's own autocommands.
local function write(buf)
  local good, why = pcall(vim.api.nvim_buf_call, buf, function()
    vim.cmd('silent update')
  end)
  if not good then
    require('countersign.client').tell(('not saved, so the command sees what is on the disk: %s (%s)'):format(vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ':~:.'), why), vim.log.levels.WARN)
  end
  return good and not vim.bo[buf].modified
end

--- Answers `document/save`: what the agent changed is written; unsaved text of the person's only where they said so.
---@param params table
---@return table
function M.save(params)
  local policy, saved = config.get().save, {}
  for _, document in ipairs(params.documents) do
    local buf = vim.fn.bufnr(vim.uri_to_fname(document.uri))
    local may = policy == 'all' or (policy == 'agent' and not document.heldUnsavedText)
    if may and buf > 0 and vim.api.nvim_buf_is_loaded(buf) and (not vim.bo[buf].modified or write(buf)) then
      saved[#saved + 1] = document.uri
    end
  end
  return { saved = saved }
end

--- Hears `file/changed`: buffers without unsaved text are read again.
---@param params table
function M.changed(params)
  for _, path in ipairs(params.paths) do
    local buf = vim.fn.bufnr(vim.uri_to_fname(path.uri))
    if buf > 0 and vim.api.nvim_buf_is_loaded(buf) and path.kind ~= 'deleted' then
      vim.api.nvim_buf_call(buf, function()
        vim.cmd('silent! checktime ' .. buf)
      end)
    end
  end
end

return M
