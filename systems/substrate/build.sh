#!/usr/bin/env bash
# Builds the runtime of the chain, the same to the byte on every machine.
#
#   build.sh           builds it and replaces the one in built/
#   build.sh --check   builds it and compares its digest with that in built/SHA256SUMS
#   build.sh --relay   builds Westend's runtime instead, for target/relay/
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

crate=runtime
case "$#:${1-}" in
    0: | 1:--check) ;;
    1:--relay) crate=relay ;;
    *) echo "usage: build.sh [--check | --relay]" >&2; exit 2 ;;
esac

# The toolchain of the other guests, used directly.
channel=$(sed -n 's/^channel = "\(.*\)"$/\1/p' ../../test-runtime/rust-toolchain.toml)
cargo=$(rustup which --toolchain "$channel" cargo)
RUSTC=$(rustup which --toolchain "$channel" rustc)
export RUSTC RUSTC_WRAPPER='' CARGO_INCREMENTAL=0 CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/../../target/substrate-runtime}
target=wasm32v1-none
"$cargo" fetch --quiet --locked --target "$target" --manifest-path "$crate/Cargo.toml"

# As substrate-wasm-builder links runtimes; without the names of functions.
flags=(--cfg=substrate_runtime)
for flag in import-memory export-table export=__heap_base strip-all \
    keep-section=runtime_version keep-section=runtime_apis; do
    flags+=("-Clink-arg=--$flag")
done
# Panic messages hold paths of source files.
flags+=("--remap-path-prefix=$PWD/$crate=/$crate")
for registry in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/; do
    flags+=("--remap-path-prefix=${registry%/}=/registry")
done
CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && printf '%s' "${flags[*]}") \
    "$cargo" build --locked --release --target "$target" --manifest-path "$crate/Cargo.toml"
wasm=$CARGO_TARGET_DIR/$target/release/${crate/#runtime/chain}_runtime.wasm
if [[ $crate == relay ]]; then
    # For `touchstone bench --cases`: the runtime beside the guest that stands for one, and the cases
    # that its two more exports have.
    folder=../../target/relay
    mkdir -p "$folder"
    cp "$wasm" "$folder/relay-runtime.wasm"
    cp ../../test-runtime/built/large-runtime.wasm "$folder"
    for name in call_empty_function dirty_1mb_of_memory; do
        sed 's/^guests .*/guests   = ["relay-runtime", "large-runtime"]/' \
            "../../benches/cases/$name.toml" >"$folder/$name.toml"
    done
    cd "$folder"
    sha256sum ./*.wasm | sed 's|\./||' >SHA256SUMS
    ls -l ./*.wasm
    exit
fi
digest=$(sha256sum <"$wasm" | cut -d ' ' -f 1)

if [[ ${1-} == --check ]]; then
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
