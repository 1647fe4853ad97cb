#!/usr/bin/env bash
# Links the program three more times, with padding of other sizes before its code, into target/publish/layouts.
# The order of functions stays that of the compiler: in random order, Wasmtime's pool took a third longer (METHODOLOGY.md).
# Takes cargo's arguments of the build. Needs a C compiler and lld, which Rust brings for x86-64.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$PWD/target/publish/layouts
mkdir -p "$folder"
echo touchstone_padding >"$folder/order"
# The build as it was, also after an interruption.
trap '"${CARGO:-cargo}" build "$@"' EXIT
number=0
# Odd multiples of 16, the alignment of functions, and more than a page each.
for bytes in 4112 8240 12368; do
  number=$((number + 1))
  printf '.section .text.padding, "ax"\n.globl touchstone_padding\ntouchstone_padding: .skip %d\n' "$bytes" |
    cc -c -x assembler -o "$folder/padding-$number.o" -
  "${CARGO:-cargo}" rustc -p touchstone-wasm "$@" --bin touchstone -- "-Clink-arg=$folder/padding-$number.o" \
    "-Clink-arg=-Wl,--undefined=touchstone_padding,--symbol-ordering-file=$folder/order"
  cp target/release/touchstone "$folder/touchstone-$number"
done
