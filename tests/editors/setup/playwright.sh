#!/usr/bin/env bash
# playwright.sh DIR VERSION : the library that drives the browser. The browser itself is Debian's.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"

dir=$1 version=$2
recipe="playwright-core $version"
if is_complete "$dir" "$recipe"; then exit 0; fi
command -v npm >/dev/null || die 'npm is missing: install Node.js 20 or newer with npm, then start again'
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
echo '{"private":true}' > package.json
retry "npm install playwright-core" npm install --no-audit --no-fund --loglevel=error "playwright-core@$version" >&2 \
  || die "playwright-core $version cannot be had from npm"
mark_complete "$dir" "$recipe"
