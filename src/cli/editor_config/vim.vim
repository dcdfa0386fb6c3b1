" Into vimrc, for the plugin vim-lsp (https://github.com/prabirshrestha/vim-lsp): the agent for every file, beside the servers you
" have. ALE takes no edits from servers, so nothing can be written with it.
augroup countersign
  autocmd!
  autocmd User lsp_setup call lsp#register_server({
        \ 'name': 'countersign',
        \ 'cmd': {server_info -> ['countersign']},
        \ 'allowlist': ['*'],
        \ })
  autocmd User lsp_setup call s:take_questions()
augroup END
nnoremap <Leader>aa <Cmd>LspCodeAction<CR>
xnoremap <Leader>aa :LspCodeAction<CR>

" Of the choices of a question vim-lsp sends back the first or none, whichever number is typed; nothing could be allowed.
" So questions are asked here, those of other servers too.
let g:lsp_show_message_request_enabled = 0

function! s:take_questions() abort
  call lsp#callbag#pipe(
        \ lsp#stream(),
        \ lsp#callbag#filter({x -> has_key(x, 'request') && !has_key(x, 'response')
        \   && get(x.request, 'method', '') ==# 'window/showMessageRequest'}),
        \ lsp#callbag#subscribe({'next': {x -> s:ask(x.server, x.request)}}))
endfunction

function! s:ask(server, request) abort
  let l:choices = get(a:request.params, 'actions', [])
  let l:lines = split(a:request.params.message, "\n")
  call extend(l:lines, map(copy(l:choices), {i, choice -> (i + 1) . '. ' . choice.title}))
  " What was typed before is no answer, and a click would count the lines of the question too.
  let l:mouse = &mouse
  set mouse=
  call inputsave()
  try
    let l:number = inputlist(l:lines)
  finally
    call inputrestore()
    let &mouse = l:mouse
  endtry
  let l:chosen = l:number > 0 ? get(l:choices, l:number - 1, v:null) : v:null
  call lsp#send_request(a:server, {'id': a:request.id, 'result': l:chosen})
endfunction
