#!/usr/bin/env bash
# Checks that `make runtime` makes a backend that builds, passes its tests and is in the registry: on a
# copy of the project in target/template, with the toolchain and the crates of this one.
set -euo pipefail
cd "$(dirname "$0")/../.."

copy=target/template/copy
rm -rf "$copy"
mkdir -p "$copy"
git ls-files -z | tar --null --ignore-failed-read -T - -cf - | tar -xf - -C "$copy"
cd "$copy"
# A crate that the lock file has: nothing is fetched.
CARGO_ADD_FLAGS=--offline runtimes/template/new.sh toy_runtime libc
# Crates of the registry are built already.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/../..}
cargo test --release --offline --quiet -p touchstone-toy_runtime
cargo test --release --offline --quiet -p touchstone-runtimes --no-default-features --features toy_runtime
cargo tree --offline --quiet -p touchstone-wasm --no-default-features --features toy_runtime |
  grep -q touchstone-toy_runtime
echo "make runtime: the copy builds, passes its tests and is in the registry"
