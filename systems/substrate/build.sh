#!/usr/bin/env bash
# Builds the runtime of the chain, the same to the byte on every machine.
#
#   build.sh           builds it and replaces the one in built/
#   build.sh --check   builds it and compares its digest with that in built/SHA256SUMS
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

case "$#:${1-}" in
    0:) check=false ;;
    1:--check) check=true ;;
    *) echo "usage: build.sh [--check]" >&2; exit 2 ;;
esac

# The toolchain of the other guests, used directly.
channel=$(sed -n 's/^channel = "\(.*\)"$/\1/p' ../../test-runtime/rust-toolchain.toml)
cargo=$(rustup which --toolchain "$channel" cargo)
RUSTC=$(rustup which --toolchain "$channel" rustc)
export RUSTC RUSTC_WRAPPER='' CARGO_INCREMENTAL=0 CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/../../target/substrate-runtime}
target=wasm32v1-none
"$cargo" fetch --quiet --locked --target "$target" --manifest-path runtime/Cargo.toml

# As substrate-wasm-builder links runtimes; without the names of functions.
flags=(--cfg=substrate_runtime)
for flag in import-memory export-table export=__heap_base strip-all \
    keep-section=runtime_version keep-section=runtime_apis; do
    flags+=("-Clink-arg=--$flag")
done
# Panic messages hold paths of source files.
flags+=("--remap-path-prefix=$PWD/runtime=/runtime")
for registry in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/; do
    flags+=("--remap-path-prefix=${registry%/}=/registry")
done
CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && printf '%s' "${flags[*]}") \
    "$cargo" build --locked --release --target "$target" --manifest-path runtime/Cargo.toml
wasm=$CARGO_TARGET_DIR/$target/release/chain_runtime.wasm
digest=$(sha256sum <"$wasm" | cut -d ' ' -f 1)

if $check; then
    [[ $digest == "$(cut -d ' ' -f 1 built/SHA256SUMS)" ]] ||
        { echo "build.sh: the source gives another runtime than that in built/" >&2; exit 1; }
    exit
fi
echo "$digest  chain-runtime.wasm" >built/SHA256SUMS
# As nodes keep it: eight bytes that mark a compressed runtime (sp-maybe-compressed-blob), and a
# frame of zstd.
{
    printf '\x52\xbc\x53\x76\x46\xdb\x8e\x05'
    zstd --ultra -22 --stdout --quiet "$wasm"
} >built/chain-runtime.compressed.wasm
echo "build.sh: built/chain-runtime.compressed.wasm is new. If blocks have other bytes now:" \
    "make chain-blocks"
