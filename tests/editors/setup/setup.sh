#!/usr/bin/env bash
# setup.sh [nvim] [helix] [emacs] [vscode] [acp] : sets up the real editors that the journeys drive. Default: all.
#
# Everything goes below $COUNTERSIGN_EDITORS (default ~/.cache/countersign-editors), except Debian packages.
# What is there already is left alone, so a second run takes about a second and no network.
# Set up from: Debian packages (apt) and npm packages, through the clients and sources this machine has.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"

parts=${*:-nvim helix emacs vscode acp}
mkdir -p "$COUNTERSIGN_EDITORS" || die "cannot make $COUNTERSIGN_EDITORS; set COUNTERSIGN_EDITORS to a folder that can be written"

# Two set-ups at the same time would fight over the same folders.
exec 9>"$COUNTERSIGN_EDITORS/.lock"
flock -n 9 || { say 'another set-up is running, waiting for it'; flock -w 1500 9 || die 'the other set-up did not end within 25 minutes'; }

for part in $parts; do
  started=$SECONDS
  case $part in
    nvim)
      need_commands tmux=tmux
      [ -n "${COUNTERSIGN_NVIM_CURRENT:-}" ] || "$here/debian-root.sh" forky "$COUNTERSIGN_EDITORS/nvim-current" neovim nvim
      [ -n "${COUNTERSIGN_NVIM_OLDER:-}" ] || "$here/debian-root.sh" trixie "$COUNTERSIGN_EDITORS/nvim-older" neovim nvim
      ;;
    helix)
      need_commands tmux=tmux
      [ -n "${COUNTERSIGN_HELIX:-}" ] || "$here/debian-root.sh" forky "$COUNTERSIGN_EDITORS/helix" hx hx
      ;;
    emacs)
      need_commands tmux=tmux
      [ -n "${COUNTERSIGN_EMACS:-}" ] || has_emacs || "$here/debian-root.sh" trixie "$COUNTERSIGN_EDITORS/emacs" emacs-nox emacs-nox emacsclient.emacs
      ;;
    vscode)
      [ -n "${COUNTERSIGN_CHROMIUM:-}" ] || need_packages chromium fonts-dejavu-core
      [ -n "${COUNTERSIGN_CODE_SERVER:-}" ] || "$here/code-server.sh" "$COUNTERSIGN_EDITORS/code-server" 4.139.1 24.21.0
      "$here/playwright.sh" "$COUNTERSIGN_EDITORS/playwright" 1.65.1
      ;;
    acp)
      # The protocol's own client; the version whose types the messages are checked against.
      "$COUNTERSIGN_EDITORS/acp/bin/python" -c 'import acp' 2>/dev/null \
        || { python3 -m venv "$COUNTERSIGN_EDITORS/acp" && "$COUNTERSIGN_EDITORS/acp/bin/pip" install --quiet agent-client-protocol==0.12.1; } \
        || die 'the Python package agent-client-protocol cannot be installed: is venv there, and a package index?'
      ;;
    *) die "unknown part '$part'; the parts are: nvim, helix, emacs, vscode, acp" ;;
  esac
  say "$part is ready ($((SECONDS - started)) s)"
done
