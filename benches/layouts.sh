#!/usr/bin/env bash
# Links the program three more times, with its functions in another order each, into target/publish/layouts.
# Takes cargo's arguments of the build. Needs a linker with `--shuffle-sections`: lld, which Rust brings for
# x86-64, or mold.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=target/publish/layouts
mkdir -p "$folder"
# The build as it was, also after an interruption.
trap '"${CARGO:-cargo}" build "$@"' EXIT
for seed in 1 2 3; do
  "${CARGO:-cargo}" rustc -p touchstone-wasm "$@" --bin touchstone -- "-Clink-arg=-Wl,--shuffle-sections=.text*=$seed"
  cp target/release/touchstone "$folder/touchstone-$seed"
done
