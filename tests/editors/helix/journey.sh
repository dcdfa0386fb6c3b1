#!/usr/bin/env bash
# Fixes a diagnostic with the agent in a real Helix, driven by keys in a terminal (tmux). Run by tests/editors/run, which
# sets JOURNEY_REPOSITORY, JOURNEY_PROJECT, JOURNEY_OUT, JOURNEY_STATE and JOURNEY_HELIX.
set -uo pipefail
here=$JOURNEY_REPOSITORY/tests/editors
before=$here/project/before after=$here/project/after
passed=0 failed=0 shots=0

export TMUX_TMPDIR=$JOURNEY_STATE LANG=C.UTF-8 TERM=xterm-256color
unset TMUX
terminal() { tmux -f /dev/null -L journey "$@"; }
trap 'terminal kill-server 2>/dev/null' EXIT

check() { # check NAME STATUS [DETAIL]
  if [ "$2" = 0 ]; then passed=$((passed + 1)); echo "ok    $1"; return; fi
  failed=$((failed + 1))
  echo "FAIL  $1"
  [ -z "${3:-}" ] || printf '%s\n' "$3" | sed 's/^/      /'
}
same() { # same NAME GOT-FILE WANTED-FILE
  local difference
  difference=$(diff -u "$3" "$2" 2>&1)
  check "$1" $? "$difference"
}
finish() {
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
  exit
}
give_up() {
  check 'the journey comes to its end' 1 "gave up waiting for $1; the screen was:
$(screen)"
  finish
}
screen() { terminal capture-pane -p | sed 's/[[:space:]]*$//'; }
shot() {
  shots=$((shots + 1))
  screen >"$JOURNEY_OUT/$(printf %02d $shots)-$1.txt"
}
# wait_for WHAT TEXT : until the text is on the screen.
wait_for() {
  local try
  for ((try = 0; try < 300; try++)); do
    screen | grep -qF -- "$2" && { shot "${1// /-}"; return 0; }
    sleep 0.1
  done
  give_up "$1"
}
# until_true WHAT CMD... : until the command succeeds.
until_true() {
  local what=$1 try
  shift
  for ((try = 0; try < 300; try++)); do
    "$@" && return 0
    sleep 0.1
  done
  give_up "$what"
}
keys() {
  terminal send-keys "$@"
  sleep 0.15
}
words() {
  terminal send-keys -l -- "$1"
  sleep 0.15
}
command() { # an editor command
  words ":$1"
  keys Enter
}
# The text of the open document, unsaved as it is, into a file.
text_to() {
  rm -f "$JOURNEY_STATE/part" "$1"
  words '%'
  command "pipe-to cat > $JOURNEY_STATE/part; mv $JOURNEY_STATE/part $1"
  until_true 'the text of the document' test -e "$1"
}
# Chooses from the menu on the screen. Its first entry, which stands below the frame around the question, is selected.
choose() {
  local first this
  first=$(screen | grep -n '──┘' | tail -n 1 | cut -d: -f1)
  this=$(screen | grep -nF -- "$1" | tail -n 1 | cut -d: -f1)
  [ -n "$first" ] && [ -n "$this" ] || give_up "“$1” among the choices"
  for ((; first + 1 < this; this--)); do keys Down; done
  keys Enter
}
with_unsaved_text() {
  sed -e 's/^VAT = 19$/&\n# 🍐 discount?/' -e 's/kinds of fruit/kinds of 🍎 and more/' "$1"
}

mkdir -p "$XDG_CONFIG_HOME/helix"
cat >"$XDG_CONFIG_HOME/helix/languages.toml" <<TOML
[language-server.countersign]
command = "countersign"

[language-server.another-linter]
command = "$here/linter.py"

[[language]]
name = "python"
language-servers = ["another-linter", "countersign"]
TOML
cat >"$XDG_CONFIG_HOME/helix/config.toml" <<'TOML'
[editor]
true-color = true
auto-pairs = false
auto-completion = false
[editor.lsp]
display-messages = true
display-progress-messages = true
TOML
dirty=$JOURNEY_STATE/dirty.py wanted=$JOURNEY_STATE/wanted.py got=$JOURNEY_STATE/got.py
with_unsaved_text "$before/cart.py" >"$dirty"
with_unsaved_text "$after/cart.py" >"$wanted"

"$JOURNEY_HELIX" --version
terminal new-session -d -x 130 -y 40 -c "$JOURNEY_PROJECT" "$JOURNEY_HELIX cart.py" || give_up 'a terminal'
wait_for 'another linter' "undefined name 'totl'"
check "another language server's problem is shown" 0

words '/^VAT'
keys Enter
words 'o# 🍐 discount?'
keys Escape
words '/fruit'
keys Enter
words 'c🍎 and more'
keys Escape
text_to "$got"
same 'the open file has unsaved text' "$got" "$dirty"

words '/totl'
keys Enter
sleep 0.5
keys Space a
wait_for 'code actions' 'Fix with agent'
check 'the code actions offer “Fix with agent”' 0
# The first entry of the list: the agent's is the only quick fix here.
keys Enter

wait_for 'command question' 'Run once'
screen | grep -qF 'python3 -m unittest'
check 'the command asks first and is shown' $? "$(screen)"
choose 'Run once'

wait_for 'proposal' 'Accept all'
screen | grep -qF cart.py && screen | grep -qF prices.py
check 'the proposal names both files' $? "$(screen)"
same 'nothing has changed on disk before the answer' "$JOURNEY_PROJECT/prices.py" "$before/prices.py"
choose 'Accept all'

until_true 'the change on disk' cmp -s "$JOURNEY_PROJECT/prices.py" "$after/prices.py"
check 'the closed file is changed on disk' 0
# While something is going on, a spinner of braille dots turns in the status line.
progress_is_gone() { screen | grep '^ NOR' | grep -qvP '[\x{2800}-\x{28FF}]'; }
until_true 'the progress to end' progress_is_gone
check 'the progress has ended' 0
shot 'applied'
text_to "$got"
same 'the open file has the fix and all unsaved text' "$got" "$wanted"
same 'what was not saved by the person is not saved' "$JOURNEY_PROJECT/cart.py" "$before/cart.py"
same 'the test file is as it was' "$JOURNEY_PROJECT/test_cart.py" "$before/test_cart.py"

words 'u'
sleep 0.3
text_to "$got"
same 'one undo takes the agent’s change back and nothing else' "$got" "$dirty"

command 'quit-all!'
editor_is_gone() { ! terminal has-session 2>/dev/null; }
until_true 'the editor to close' editor_is_gone
check 'the editor closes' 0
finish
