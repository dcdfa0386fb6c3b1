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
  command -v dpkg-query >/dev/null || die "no dpkg here: the real editors are set up from Debian packages. On another system set COUNTERSIGN_NVIM_CURRENT, COUNTERSIGN_NVIM_OLDER, COUNTERSIGN_CHROMIUM and COUNTERSIGN_CODE_SERVER (see tests/editors/README.md)."
  local wanted
  wanted=$(missing_packages "$@")
  [ -z "$wanted" ] && return 0
  say "installing with apt: $wanted"
  retry 'apt-get update' as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq -o DPkg::Lock::Timeout=300 \
    || die "apt-get update failed three times; see its messages above. Without it these cannot be installed: $wanted"
  # shellcheck disable=SC2086
  retry 'apt-get install' as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 --no-install-recommends $wanted >&2 \
    || die "apt-get could not install: $wanted"
}

# is_complete DIR RECIPE : true if DIR was set up to its end by this recipe (its name and versions).
is_complete() { [ "$(cat "$1/.complete" 2>/dev/null)" = "$2" ]; }
mark_complete() { printf '%s\n' "$2" > "$1/.complete"; }

# A command that fails without a word of ours must still say where.
trap 'say "FAILED: ${BASH_SOURCE[0]##*/} stopped in line $LINENO: $BASH_COMMAND"' ERR
