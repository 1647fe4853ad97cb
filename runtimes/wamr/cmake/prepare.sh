#!/usr/bin/env bash
# Prepares cmake, with which the build of WAMR's crate compiles its sources: the system's if there is
# one, else the one that PyPI's `cmake` wheel carries, in .toolchain of this project. Cargo finds
# either through .toolchain/cmake.toml. Nothing is written outside .toolchain. CMAKE_ROUTE=system|pypi
# asks for one of them.
set -euo pipefail
cd "$(dirname "$0")/../../.."

version=3.31.6
folder=.toolchain/cmake
settings=.toolchain/cmake.toml
route=${CMAKE_ROUTE:-any}

may() { [ "$route" = any ] || [ "$route" = "$1" ]; }

if may system && found=$(command -v "${CMAKE:-cmake}") && "$found" --version >/dev/null 2>&1; then
  echo "cmake: the system's, $found"
elif may pypi; then
  found=$PWD/$folder/cmake/data/bin/cmake
  if [ -x "$found" ]; then
    echo "cmake: the one in $folder"
  else
    python3 -m pip --version >/dev/null 2>&1 || {
      echo "cmake is missing, and pip to fetch it with: install one of them (Debian: apt-get" \
        "install cmake, or python3-pip)" >&2
      exit 2
    }
    echo "cmake: not on this system, fetching PyPI's cmake $version (27 MB) into $folder"
    rm -rf "$folder.part"
    mkdir -p "$folder.part"
    # pip compares the file with the index's checksum.
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
      --dest "$folder.part" "cmake==$version"
    python3 -m zipfile -e "$folder.part"/cmake-*.whl "$folder.part"
    rm "$folder.part"/*.whl
    chmod +x "$folder.part"/cmake/data/bin/*
    "$folder.part/cmake/data/bin/cmake" --version >/dev/null || {
      echo "the wheel holds no cmake that runs here" >&2
      exit 1
    }
    rm -rf "$folder"
    mv "$folder.part" "$folder"
  fi
else
  echo "cmake: none by the route $route" >&2
  exit 2
fi

mkdir -p .toolchain
{
  echo "# Written by runtimes/wamr/cmake/prepare.sh. A variable that is set in the environment wins."
  echo "[env]"
  echo "CMAKE = \"$found\""
} >"$settings.part"
mv "$settings.part" "$settings"
