#!/usr/bin/env bash
# Unpacks Debian packages, with those that they need and that this system lacks, into a folder:
# packages.sh FOLDER PACKAGE… Needs apt, but neither root nor a change to the system. Running it again
# checks what is there and does nothing else. The C library is always that of the system.
set -euo pipefail
folder=$1
shift

stop() { echo "packages: $*" >&2; exit 2; }

if [ -e "$folder/SHA256SUMS" ]; then
  (cd "$folder" && sha256sum --check --quiet SHA256SUMS) && exit
  echo "packages: what is in $folder is not what was put there; making it anew"
fi
for tool in apt-get dpkg-deb; do
  command -v "$tool" >/dev/null || stop "$tool is missing: on a system without apt, install $*"
done
rm -rf "$folder"
mkdir -p "$folder/packages" "$folder/root.part"
folder=$(realpath "$folder")
# The lists of the system, or private ones from the same sources where there are none.
if ! apt-cache show "$1" >/dev/null 2>&1; then
  mkdir -p "$folder"/apt/{lists,cache/archives}/partial
  cat >"$folder/apt/apt.conf" <<CONF
Dir::State::Lists "$folder/apt/lists"; Dir::Cache "$folder/apt/cache"; Debug::NoLocking "true";
APT::Sandbox::User ""; Acquire::Languages "none";
CONF
  export APT_CONFIG=$folder/apt/apt.conf
  apt-get update -qq || stop "Debian's package lists cannot be had; is there a network?"
fi
# These, and what apt would install beside them: lines of address, file, size and digest.
names=$({
  printf '%s\n' "$@"
  apt-get -o Debug::NoLocking=1 install --no-install-recommends --print-uris -qq "$@" |
    sed -n "s/^'[^']*' \([^_ ]*\)_.*/\1/p"
} | sort -u | grep -vx libc6)
# shellcheck disable=SC2086 # one argument a name
(cd "$folder/packages" && apt-get -o APT::Sandbox::User= download -qq $names) ||
  stop "not all packages could be fetched: install $*"
for package in "$folder"/packages/*.deb; do
  dpkg-deb -x "$package" "$folder/root.part"
done
mv "$folder/root.part" "$folder/root"
rm -rf "$folder/apt"
(cd "$folder" && find packages root -type f -print0 | sort -z | xargs -0 sha256sum >SHA256SUMS)
echo "packages: $(ls "$folder/packages" | wc -l) of Debian in ${folder#"$PWD"/}"
