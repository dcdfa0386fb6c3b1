-- The init file of the Neovim under test without the plugin: the ready-made configuration as a person would have it.
dofile(vim.env.JOURNEY_REPOSITORY .. '/tests/editors/nvim/rig.lua')
dofile(vim.env.JOURNEY_REPOSITORY .. '/editors/nvim/countersign.lua')
