# Into kakrc, for kakoune-lsp 18 or newer, after `lsp-enable`. A filetype that has servers of its own keeps them only if they
# stand here too: copy the hook and add them.
hook -group countersign global BufSetOption filetype=(markdown|python|rust|go|javascript|typescript|c|cpp|sh) %{
    set-option -add buffer lsp_servers %{
        [countersign]
        command = "countersign"
        root_globs = [".git", ".hg"]
    }
}
# Questions of the agent wait until they are looked at.
map global user q ':lsp-show-message-request-next<ret>' -docstring 'next question of the agent'
map global user a ':lsp-code-actions<ret>' -docstring 'what the agent offers here'
