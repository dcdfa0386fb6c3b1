-- The configuration behind `vim.lsp.enable('countersign')` (Neovim 0.11 and newer).
return require('countersign.server').config()
