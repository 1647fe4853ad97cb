#!/usr/bin/env bash
# Prepares libclang, with which the bindings of Wasm3 are made: the system's if
# there is one, else the one that PyPI's `libclang` wheel carries, in .toolchain
# of this project. Cargo finds either through .toolchain/libclang.toml, which
# .cargo/config.toml includes. Nothing is written outside .toolchain.
set -euo pipefail
cd "$(dirname "$0")/../../.."

version=18.1.1
folder=.toolchain/libclang
settings=.toolchain/libclang.toml

# The folder of the system's libclang; libclang-cpp is another library.
system() {
  local config folder file
  for config in "${LLVM_CONFIG_PATH:-llvm-config}" llvm-config; do
    folder=$("$config" --libdir 2>/dev/null) && holds "$folder" && return
  done
  file=$(PATH="$PATH:/sbin:/usr/sbin" ldconfig -p 2>/dev/null |
    sed -n 's/^\s*libclang\(-[0-9.]*\)\?\.so\S* .*=> //p' | head -1)
  [ -n "$file" ] && holds "$(dirname "$file")" && return
  for folder in /usr/lib/llvm*/lib /usr/lib/*-linux-gnu /usr/lib64 /usr/lib /usr/local/lib \
    /opt/homebrew/opt/llvm/lib /Library/Developer/CommandLineTools/usr/lib; do
    holds "$folder" && return
  done
  return 1
}

holds() {
  local file
  for file in "$1"/libclang.so* "$1"/libclang-[0-9]*.so* "$1"/libclang.dylib; do
    if [ -e "$file" ]; then
      echo "$1"
      return 0
    fi
  done
  return 1
}

pip() {
  local python
  for python in python3 python; do
    if "$python" -m pip --version >/dev/null 2>&1; then
      "$python" -m pip "$@"
      return
    fi
  done
  echo "libclang is missing, and pip to fetch it with: install one of them (Debian: apt-get" \
    "install libclang-dev, or python3-pip)" >&2
  exit 2
}

if found=$(system); then
  echo "libclang: the system's, in $found"
else
  found=$PWD/$folder
  if holds "$found" >/dev/null; then
    echo "libclang: the one in $folder"
  else
    echo "libclang: not on this system, fetching PyPI's libclang $version (25 MB) into $folder"
    rm -rf "$folder.part"
    mkdir -p "$folder.part"
    # pip compares the file with the index's checksum.
    pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
      --dest "$folder.part" "libclang==$version"
    python3 -m zipfile -e "$folder.part"/libclang-*.whl "$folder.part"
    find "$folder.part" -path '*/native/libclang.*' -exec mv {} "$folder.part" \;
    holds "$folder.part" >/dev/null || { echo "the wheel holds no libclang" >&2; exit 1; }
    rm -rf "$folder.part"/*.whl "$folder.part"/libclang-*/ "$folder"
    mv "$folder.part" "$folder"
  fi
fi

# The wheel comes without the compiler's own headers (stddef.h), and so may the
# system's library.
headers=$("${CC:-cc}" -print-file-name=include)
{
  echo "# Written by make libclang. A variable that is set in the environment wins."
  echo "[env]"
  echo "LIBCLANG_PATH = \"$found\""
  [ -e "$headers/stddef.h" ] && echo "BINDGEN_EXTRA_CLANG_ARGS = \"-I$headers\""
} >"$settings.part"
mv "$settings.part" "$settings"
