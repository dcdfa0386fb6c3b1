-- What fills the context window.
local T = ...
local tests = {}

local context = {
  model = 'gpt-5', contextWindow = 272000, compactsAt = 244800, tokens = 12310,
  parts = {
    { kind = 'mcpTools', title = 'MCP tools', tokens = 3400, count = 16, largest = { { name = 'mcp__a\226\128\174b', tokens = 900 } } },
    { kind = 'instructions', title = 'Instructions', tokens = 1210, count = 1 },
  },
}

tests['a line for each part, and what is free'] = function()
  T.equal(require('countersign.usage').lines(context), {
    'Context: 12k of 272k tokens, gpt-5, compacted at 245k',
    '',
    'MCP tools (16)       3.4k   1.3 %',
    '  mcp__a<U+202E>b     900   0.3 %',
    'Instructions         1.2k   0.4 %',
    'Free                 260k  95.5 %',
    '',
    'The parts are estimates.',
  })
end

tests['before a model was asked no window is named'] = function()
  local lines = require('countersign.usage').lines({ tokens = 40, parts = {}, leftOut = { 'the tone' } })
  T.equal(lines, {
    'Context: 40 tokens', '', '', 'The parts are estimates.', 'Instructions, tools and the window are known once the model has been asked.',
    'Not sent, since the window is small: the tone.',
  })
end

tests['it is shown above the text and takes no keys'] = function()
  local before = vim.api.nvim_get_current_win()
  require('countersign.usage').show(context)
  T.equal(vim.api.nvim_get_current_win(), before)
  local floats = vim.iter(vim.api.nvim_list_wins()):filter(function(win)
    return vim.api.nvim_win_get_config(win).relative ~= ''
  end):totable()
  T.equal(#floats, 1)
  T.has(table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(floats[1]), 0, -1, false), '\n'), 'Instructions')
  vim.api.nvim_win_close(floats[1], true)
end

return tests
