#!/usr/bin/env bash
# debian-root.sh SUITE DIR PACKAGE BINARY... : unpacks the programs of a package of another Debian suite beside this system.
#
# No chroot: the package and all libraries it needs (also libc) are unpacked into DIR, and the binaries are
# pointed at them. It then runs on the host's file system like any program, and the programs that it
# starts do not inherit foreign libraries.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"

suite=$1 dir=$2 package=$3
shift 3
recipe="debian-root 1 $suite $package"
if is_complete "$dir" "$recipe"; then exit 0; fi

need_commands patchelf=patchelf
codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
# The mirror this machine uses, whichever that is.
mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' | awk -v r="$codename" '$2 == r && !seen { print $1; seen = 1 }')
[ -n "$mirror" ] || die "apt has no source for '$codename', so the mirror for $package of $suite is not known. Is this Debian?"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -f "$keyring" ] || die "$keyring is missing; install the package debian-archive-keyring"

say "unpacking $package of Debian $suite into $dir"
rm -rf "$dir"
mkdir -p "$dir"/.apt/{lists/partial,cache/archives/partial}
dir=$(cd "$dir" && pwd)
printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "${mirror%/}" "$suite" > "$dir/.apt/sources.list"
: > "$dir/.apt/status"
apt() {
  apt-get -y -qq -o Dir::Etc::sourcelist="$dir/.apt/sources.list" -o Dir::Etc::sourceparts=- \
    -o Dir::State::Lists="$dir/.apt/lists" -o Dir::Cache="$dir/.apt/cache" -o Dir::State::status="$dir/.apt/status" \
    -o Debug::NoLocking=1 -o APT::Install-Recommends=0 -o APT::Sandbox::User=root "$@" >&2
}
retry "reading the package list of $suite" apt update || die "the package list of Debian $suite cannot be read from this machine's mirror"
retry "downloading $package" apt --download-only install "$package" || die "$package of Debian $suite cannot be downloaded"
for deb in "$dir"/.apt/cache/archives/*.deb; do
  dpkg -x "$deb" "$dir" || die "$(basename "$deb") cannot be unpacked into $dir (is the disk full?)"
done
rm -rf "$dir/.apt"

loader=$(find "$dir" -name 'ld-linux-*.so.*' -print -quit)
[ -n "$loader" ] || die "no dynamic loader among the libraries of $package ($suite)"
libraries=$dir/usr/lib
for folder in "$dir"/usr/lib/*-linux-gnu "$dir"/lib/*-linux-gnu; do
  [ ! -d "$folder" ] || libraries=$folder:$libraries
done
for binary in "$@"; do
  program=$(readlink -f "$dir/usr/bin/$binary")
  [ -f "$program" ] || die "$package of $suite has no usr/bin/$binary"
  patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$libraries" "$program"
  # What it says of folders that it does not find yet is of no use here.
  "$program" --version >/dev/null 2>&1 || die "$program does not start"
done
mark_complete "$dir" "$recipe"
