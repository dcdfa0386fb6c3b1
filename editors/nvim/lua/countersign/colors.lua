--- The plugin's colors: links into the person's color scheme, which can define each by its name.
local M = {}

local links = {
  CountersignYou = 'Title',
  CountersignAgent = 'Function',
  CountersignTitle = 'Title',
  CountersignRunning = 'DiagnosticInfo',
  CountersignDone = 'DiagnosticOk',
  CountersignFailed = 'DiagnosticError',
  CountersignQuestion = 'DiagnosticWarn',
  CountersignConflict = 'DiagnosticWarn',
  CountersignQuiet = 'Comment',
  CountersignHunk = 'Comment',
  CountersignCommand = 'String',
  CountersignAdd = 'DiffAdd',
  CountersignAddText = 'DiffText',
  CountersignDelete = 'DiffDelete',
  CountersignDeleteText = 'DiffText',
  CountersignDiffAdd = 'Added',
  CountersignDiffDelete = 'Removed',
  CountersignDiffHunk = 'Comment',
  CountersignAccepted = 'DiagnosticOk',
  CountersignRejected = 'Comment',
}

function M.define()
  for name, link in pairs(links) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

return M
