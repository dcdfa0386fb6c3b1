-- The init file of the Neovim under test with the plugin: installed and set up as its README says.
dofile(vim.env.JOURNEY_REPOSITORY .. '/tests/editors/nvim/rig.lua')
vim.opt.runtimepath:prepend(vim.env.JOURNEY_REPOSITORY .. '/editors/nvim')
vim.o.termguicolors = true
vim.o.background = vim.env.JOURNEY_BACKGROUND or 'dark'
vim.o.shortmess = vim.o.shortmess .. 'I'
require('countersign').setup({ questions = { pause = 100 } })
