# Into kakrc, for kakoune-lsp 22 or newer, after `eval %sh{kak-lsp}` and servers of your own, before `lsp-enable`: the agent for
# every filetype, behind the servers that it has.
define-command -hidden countersign-add %{
    # One server that cannot be started keeps kakoune-lsp from starting any other, so what is not installed is left out before
    # it looks.
    lsp-block-in-buffer
    lsp-if-no-servers trigger-user-hook "LSPDefaultConfig=%opt{filetype}"
    lsp-unblock-in-buffer
    set-option buffer lsp_servers %sh{
        printf '%s\n' "$kak_opt_lsp_servers" | awk '
            function take() {
                if (name == "" || system("command -v \"" program "\" >/dev/null 2>&1") == 0) printf "%s", text
                text = ""
            }
            /^[ \t]*\[/ { top = 0 }
            /^[ \t]*\["?[A-Za-z0-9_-]+"?\][ \t]*(#.*)?$/ {
                take()
                name = $0
                sub(/\].*/, "", name)
                gsub(/[^A-Za-z0-9_-]/, "", name)
                program = name
                top = 1
            }
            top && /^[ \t]*command[ \t]*=/ {
                program = $0
                sub(/^[^=]*=[ \t]*./, "", program)
                sub(/.[ \t]*(#.*)?$/, "", program)
            }
            { text = text $0 "\n" }
            END { take() }
        '
        printf '%s\n' '[countersign]' 'root_globs = [".git", ".hg"]'
    }
}
hook -group countersign global BufSetOption filetype=.+ %{
    evaluate-commands %sh{ case "$kak_buffile" in (/*) echo countersign-add ;; esac }
}
# Questions of the agent wait until they are looked at; a bell with their number is then in the modeline, beside what the agent does.
set-option global modelinefmt "%opt{lsp_modeline} %opt{modelinefmt}"
map global user q ':lsp-show-message-request-next<ret>' -docstring 'next question of the agent'
map global user a ':lsp-code-actions<ret>' -docstring 'what the agent offers here'
