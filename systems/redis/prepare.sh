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

debian() {
  local library
  systems/packages.sh "$folder" redis-server
  library=$(find "$folder/root/usr/lib" -name '*.so.*' -print -quit)
  write_settings "$folder/root/usr/bin/redis-server" "${library:+$(dirname "$library")}"
}

if may system && system; then
  exit
fi
may debian || stop "the route $route did not lead to redis-server"
debian
