" Into vimrc, for the plugin vim-lsp (https://github.com/prabirshrestha/vim-lsp): the agent for every file, beside the servers you
" have. ALE takes no edits from servers, so nothing can be written with it.
augroup countersign
  autocmd!
  autocmd User lsp_setup call lsp#register_server({
        \ 'name': 'countersign',
        \ 'cmd': {server_info -> ['countersign']},
        \ 'allowlist': ['*'],
        \ })
augroup END
nnoremap <Leader>aa <Cmd>LspCodeAction<CR>
xnoremap <Leader>aa :LspCodeAction<CR>
