--- Where hunks lie in a buffer now. The server tells it for a version of the text; what was typed since moves them, so each is
--- held by an extmark from then on. A decision is on what the person sees, also in the moment in which the server has not yet
--- heard of their last keys.
local M = {}

local namespace = vim.api.nvim_create_namespace('countersign.places')

---@type table<integer, table<string, integer>> Marks by buffer and hunk.
local marks = {}

--- The loaded buffer of a file.
---@param path string
---@return integer?
local function buffer_of(path)
  local buf = vim.fn.bufnr(path)
  if buf > 0 and vim.api.nvim_buf_get_name(buf) == path and vim.api.nvim_buf_is_loaded(buf) then
    return buf
  end
  -- A name with characters that are a pattern may have found another one.
  for _, one in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(one) and vim.api.nvim_buf_get_name(one) == path then
      return one
    end
  end
end

--- Whether what the server last told of a file is about the text that the buffer has.
local function is_told(buf, file)
  local now = vim.lsp.util.buf_versions[buf]
  return not file.open or not file.version or not now or file.version == now
end

local function key_of(proposal, hunk)
  return proposal.id .. '/' .. hunk.id
end

--- The lines of a hunk, as the person sees them now.
---@param proposal table
---@param file table
---@param hunk table
---@return { start: integer, end: integer } range From 0, half open.
function M.range(proposal, file, hunk)
  local buf = buffer_of(file.path)
  if not buf then
    return hunk.range
  end
  marks[buf] = marks[buf] or {}
  local key = key_of(proposal, hunk)
  local known = marks[buf][key]
  if known and not is_told(buf, file) then
    local mark = vim.api.nvim_buf_get_extmark_by_id(buf, namespace, known, { details = true })
    if mark[1] then
      return { start = mark[1], ['end'] = math.max(mark[1], mark[3].end_row or mark[1]) }
    end
  end
  local last = vim.api.nvim_buf_line_count(buf)
  marks[buf][key] = vim.api.nvim_buf_set_extmark(buf, namespace, math.min(hunk.range.start, last), 0, {
    id = known,
    end_row = math.min(hunk.range['end'], last),
    end_col = 0,
    end_right_gravity = false,
    strict = false,
  })
  return hunk.range
end

--- Holds every hunk of a proposal; lets them go once it waits no more.
---@param proposal table
---@param waits boolean
function M.hold(proposal, waits)
  for _, file in ipairs(proposal.files) do
    local buf = buffer_of(file.path)
    for _, hunk in ipairs(buf and file.hunks or {}) do
      local key = key_of(proposal, hunk)
      if waits then
        M.range(proposal, file, hunk)
      elseif marks[buf] and marks[buf][key] then
        vim.api.nvim_buf_del_extmark(buf, namespace, marks[buf][key])
        marks[buf][key] = nil
      end
    end
  end
end

vim.api.nvim_create_autocmd('BufUnload', {
  group = vim.api.nvim_create_augroup('countersign.places', {}),
  callback = function(event)
    marks[event.buf] = nil
  end,
})

return M
