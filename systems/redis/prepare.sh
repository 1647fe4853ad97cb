#!/usr/bin/env bash
# Prepares redis-server for the pipeline, in this order:
#   1. the program on the PATH,
#   2. a private folder of this system's Debian packages: needs apt, but neither root nor a change
#      to the system.
# Writes nothing outside .toolchain/. `touchstone systems pipeline` finds the program through
# .toolchain/redis.toml. Running it again checks what is there and does nothing else.
# REDIS_ROUTE=system|debian asks for one of them.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=$PWD/.toolchain/redis
settings=.toolchain/redis.toml
route=${REDIS_ROUTE:-any}

say() { echo "redis: $*"; }
stop() { echo "redis: $*" >&2; exit 2; }
may() { [ "$route" = any ] || [ "$route" = "$1" ]; }

# Version of the program $1 with the libraries of folder $2; fails if it does not start.
version_of() {
  LD_LIBRARY_PATH=$2 "$1" --version | sed -n 's/.* v=\([0-9.]*\) .*/\1/p' | grep .
}

# The program $1 needs the libraries of folder $2, which may be empty.
write_settings() {
  local version
  version=$(version_of "$1" "$2") || stop "$1 does not start"
  mkdir -p .toolchain
  {
    echo "# Written by make redis."
    echo "server = \"$1\""
    echo "libraries = \"$2\""
  } >"$settings.part"
  if cmp -s "$settings.part" "$settings"; then
    rm "$settings.part"
  else
    mv "$settings.part" "$settings"
  fi
  say "version $version, $1"
}

system() {
  local server
  server=$(command -v redis-server) && version_of "$server" "" >/dev/null || return 1
  write_settings "$(realpath -s "$server")" ""
}

unpacked() {
  local libraries
  libraries=$(dirname "$(find "$folder/root/usr/lib" -name 'libjemalloc.so.*' -print -quit)")
  write_settings "$folder/root/usr/bin/redis-server" "$libraries"
}

packages() {
  local tool names package
  for tool in apt-get apt-cache dpkg-deb; do
    command -v "$tool" >/dev/null || stop "$tool is missing: on a system without apt, install" \
      "redis-server and run make redis again"
  done
  rm -rf "$folder"
  mkdir -p "$folder/packages" "$folder/root.part"
  # The lists of the system, or private ones from the same sources where there are none.
  if ! apt-cache show redis-server >/dev/null 2>&1; then
    mkdir -p "$folder"/apt/{lists,cache/archives}/partial
    cat >"$folder/apt/apt.conf" <<CONF
Dir::State::Lists "$folder/apt/lists"; Dir::Cache "$folder/apt/cache"; Debug::NoLocking "true";
APT::Sandbox::User ""; Acquire::Languages "none";
CONF
    export APT_CONFIG=$folder/apt/apt.conf
    say "asking Debian for its packages"
    apt-get update -qq || stop "Debian's package lists cannot be had; is there a network?"
  fi
  # The C library is that of the system, whose packages these are.
  names="redis-server $(apt-cache depends --no-recommends --no-suggests redis-tools |
    sed -n 's/^ *|\{0,1\}Depends: \([a-z0-9.+-]*\)$/\1/p' | grep '^lib' | grep -v '^libc6$')"
  names="$names redis-tools"
  say "fetching $(echo "$names" | wc -w) packages (4 MB), checked by apt against Debian's signature"
  # shellcheck disable=SC2086 # one argument a name
  (cd "$folder/packages" && apt-get -o APT::Sandbox::User= download -qq $names) ||
    stop "not all packages could be fetched: install redis-server, and run make redis again"
  for package in "$folder"/packages/*.deb; do
    dpkg-deb -x "$package" "$folder/root.part"
  done
  mv "$folder/root.part" "$folder/root"
  rm -rf "$folder/apt"
  # The first is a link to the second.
  (cd "$folder" && sha256sum packages/*.deb root/usr/bin/redis-server >SHA256SUMS)
  unpacked
}

if may system && system; then
  exit
fi
if may debian && [ -e "$folder/SHA256SUMS" ]; then
  if (cd "$folder" && sha256sum --check --quiet SHA256SUMS); then
    unpacked
    exit
  fi
  say "what is in ${folder#"$PWD"/} is not what was put there; making it anew"
fi
may debian || stop "the route $route did not lead to redis-server"
packages
