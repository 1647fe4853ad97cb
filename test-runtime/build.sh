#!/usr/bin/env bash
# Builds the guests, modules and components, the same to the byte on every machine.
#
#   build.sh             builds them and replaces those in built/
#   build.sh --check     builds them and compares them with those in built/
#   build.sh --changed   the same, but only the programs if sources and compiler are those
#                        that built/ was made with (sources.sha256)
set -euo pipefail

# Guests whose memory and heap are the host's, and guests that bring their own.
hosted=(test-runtime large-runtime core-runtime)
# Of the first kind too, but each built by itself, so that none changes another's features.
payloads=(accounts verify-schnorr verify-ecdsa kernels pages node-runtime fan-out integrity)
# Two of them again, built for size, and for size with 8 codegen units: -s and -s8 behind
# the package's name.
sized=(verify-schnorr-s verify-ecdsa-s)
parted=(verify-schnorr-s8 verify-ecdsa-s8)
contracts=(json-module records layouts)
# The guest batch once for each format that it can have, and once without.
formats=(none karmem columnar capnproto flatbuffers json messagepack protobuf)
# Contracts that are there a second time, with room between their functions.
padded=(layouts)
# The same as the contracts with vector instructions.
vectors=(layouts-simd)
# Guests of the second kind, of whose modules components are made.
components=(json-component json-codec json-composed contract mul wasm-serde-json wasm-serde-toml)
# Guests with the standard library.
separate=(javascript json-wapc)
# Programs of WASI, which have a workspace of their own.
programs=(coremark blake3 markdown json)
# A guest that a program writes.
written=(many-segments)
guests=("${hosted[@]}" "${payloads[@]}" "${sized[@]}" "${parted[@]}" "${contracts[@]}"
    "${formats[@]/#/batch-}" "${padded[@]/%/-padded}" "${vectors[@]}" "${components[@]}"
    "${separate[@]}" "${programs[@]}" "${written[@]}")
target=wasm32v1-none
# The target that has a standard library.
standard=wasm32-unknown-unknown
# The target of the programs.
wasi=wasm32-wasip1

fail() {
    printf 'build.sh: %s\n' "$1" >&2
    exit "${2:-2}"
}

# SHA-256 digests of files, or of the standard input.
sha256() {
    if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi
}

# The digest of a file, or a dash where there is no such file.
digest() {
    if [[ -f $1 ]]; then sha256 <"$1" | cut -d ' ' -f 1; else echo -; fi
}

# The digest of the compiler's version and of all files that the guests are built from.
sources() {
    {
        "$rustc" -vV | grep -v '^host:'
        find . ../.cargo/config.toml -type f ! -path '*/target/*' ! -path './built/*' \
            ! -path './native/*' ! -name README.md ! -name sources.sha256 -print0 |
            LC_ALL=C sort -z |
            while IFS= read -r -d '' file; do printf '%s %s\n' "$(digest "$file")" "$file"; done
    } | sha256 | cut -d ' ' -f 1
}

check=false changed=false
case "$#:${1-}" in
    0:) ;;
    1:--check) check=true ;;
    1:--changed) check=true changed=true ;;
    *) fail "usage: build.sh [--check | --changed]" ;;
esac

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
cd -- "$here"

# Whatever the caller set for a build of its own must not reach this one; only
# where cargo keeps its files and how it reaches a registry is left alone.
while IFS= read -r name; do
    case $name in
        CARGO_HOME | CARGO_HTTP_* | CARGO_NET_* | CARGO_REGISTR* | CARGO_SOURCE_*) ;;
        CARGO | CARGO_* | RUSTC | RUSTC_* | RUSTDOC* | RUSTFLAGS | RUSTUP_TOOLCHAIN)
            unset "$name"
            ;;
    esac
done < <(compgen -e)

# The toolchain: pinned, and used directly rather than through the proxies.
command -v rustup >/dev/null ||
    fail "rustup is not installed; get it from https://rustup.rs."
channel=$(sed -n 's/^channel = "\(.*\)"$/\1/p' rust-toolchain.toml)
cargo=$(rustup which --toolchain "$channel" cargo 2>/dev/null) ||
    fail "cargo $channel is missing; run 'rustup toolchain install $channel --profile minimal'."
rustc=$(rustup which --toolchain "$channel" rustc 2>/dev/null) ||
    fail "rustc $channel is missing; run 'rustup toolchain install $channel --profile minimal'."
sysroot=$("$rustc" --print sysroot)
for needed in "$target" "$standard" "$wasi"; do
    [[ -d $sysroot/lib/rustlib/$needed/lib ]] ||
        rustup target add --toolchain "$channel" "$needed" ||
        fail "the target $needed could not be added to toolchain $channel."
done

# An empty wrapper also overrides one from a configuration file.
export RUSTC=$rustc RUSTC_WRAPPER='' RUSTC_WORKSPACE_WRAPPER=''
export CARGO_TARGET_DIR=$here/target CARGO_INCREMENTAL=0 CARGO_TERM_COLOR=never
mkdir -p -- "${CARGO_HOME:=$HOME/.cargo}"
CARGO_HOME=$(cd -- "$CARGO_HOME" && pwd -P)
export CARGO_HOME

# Of the same sources the same compiler makes the same modules. That it does so on this machine,
# the programs show.
few=false
from=$(sources)
if $changed && [[ "$from $(digest built/SHA256SUMS)" == "$(cat sources.sha256 2>/dev/null)" ]]; then
    few=true
    separate=()
    echo "sources and compiler are those of sources.sha256: only ${programs[*]} are built again"
fi

# Dependencies come first, because the flags name the folders they are in.
$few || "$cargo" fetch --quiet --locked --target "$target"
for guest in "${separate[@]}"; do
    "$cargo" fetch --quiet --locked --target "$standard" --manifest-path "$guest/Cargo.toml"
done
"$cargo" fetch --quiet --locked --target "$wasi" --manifest-path programs/Cargo.toml

# Panic messages hold paths of source files; the last prefix that fits a path
# replaces it, so the more special ones are at the end.
commit=$("$rustc" -vV | sed -n 's/^commit-hash: //p')
remap=(
    "--remap-path-prefix=$here=/guests"
    "--remap-path-prefix=$sysroot/lib/rustlib/src/rust=/rustc/$commit"
)
for registry in "$CARGO_HOME"/registry/src/*/; do
    remap+=("--remap-path-prefix=${registry%/}=/registry")
done

# The same, and for other folders of the toolchain, which code of the standard library names.
remap_standard=("--remap-path-prefix=$sysroot=/sysroot" "${remap[@]}")

# Builds packages with flags of their own, the linker's or, from -C on, the compiler's:
# build NAME FLAG... -- PACKAGE... [--features FEATURE]
# Packages of one call share the features of what they depend on, and a folder in
# target/: cargo would build everything again each time the flags change there.
build() {
    local flags=() packages=() folder=$CARGO_TARGET_DIR/$1
    shift
    while [[ $1 != -- ]]; do
        case $1 in
            -C*) flags+=("$1") ;;
            *) flags+=("-Clink-arg=$1") ;;
        esac
        shift
    done
    shift
    while (($#)) && [[ $1 != --features ]]; do
        packages+=(--package "$1")
        shift
    done
    flags+=("${remap[@]}")
    CARGO_TARGET_DIR=$folder CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && printf '%s' "${flags[*]}") \
        "$cargo" build --locked --release --target "$target" "${packages[@]}" "$@"
}

# A module as cargo left it: module FOLDER PACKAGE.
module() {
    printf '%s/%s/%s/release/%s.wasm' "$CARGO_TARGET_DIR" "$1" "$target" "${2//-/_}"
}

# Each is one large module that one processor links for up to a minute: built
# beside the others, and ended with them.
others=()
trap 'kill "${others[@]}" 2>/dev/null || true' EXIT
for guest in "${separate[@]}"; do
    flags=('--cfg=getrandom_backend="custom"' -Clink-arg=--export=__heap_base
        -Clink-arg=-zstack-size=1048576 "${remap_standard[@]}")
    CARGO_TARGET_DIR=$CARGO_TARGET_DIR/$guest \
        CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && printf '%s' "${flags[*]}") \
        "$cargo" build --locked --release --target "$standard" --manifest-path "$guest/Cargo.toml" &
    others+=($!)
done
CARGO_TARGET_DIR=$CARGO_TARGET_DIR/programs \
    CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && printf '%s' "${remap_standard[*]}") \
    "$cargo" build --locked --release --target "$wasi" --manifest-path programs/Cargo.toml &
others+=($!)

# Builds the guests of this workspace.
build_workspace() {
    hosting=(--import-memory --export-table --export=__heap_base -zstack-size=1048576)
    build hosted "${hosting[@]}" -- "${hosted[@]}"
    # One by one, so that none changes when another is added.
    for guest in "${payloads[@]}"; do
        build hosted "${hosting[@]}" -- "$guest"
    done
    for guest in "${sized[@]}"; do
        CARGO_PROFILE_RELEASE_OPT_LEVEL=s build sized "${hosting[@]}" -- "${guest%-s}"
    done
    for guest in "${parted[@]}"; do
        CARGO_PROFILE_RELEASE_OPT_LEVEL=s CARGO_PROFILE_RELEASE_CODEGEN_UNITS=8 \
            build parted "${hosting[@]}" -- "${guest%-s8}"
    done
    for guest in "${contracts[@]}" "${components[@]}"; do
        build contracts --export=__heap_base -zstack-size=1048576 -- "$guest"
    done
    for format in "${formats[@]}"; do
        features=()
        [[ $format == none ]] || features=(--features "$format")
        build contracts --export=__heap_base -zstack-size=1048576 -- batch "${features[@]}"
        cp -- "$(module contracts batch)" "$CARGO_TARGET_DIR/batch-$format.wasm"
    done
    for guest in "${vectors[@]}"; do
        build vectors --export=__heap_base -zstack-size=1048576 -Ctarget-feature=+simd128 -- "$guest"
    done
}
$few || build_workspace

for other in "${others[@]}"; do
    wait "$other" || fail "the guests in workspaces of their own do not build." 1
done

# The guests as they are to be, all in one folder.
fresh=$CARGO_TARGET_DIR/built
mkdir -p -- "$fresh"
for guest in "${programs[@]}"; do
    cp -- "$CARGO_TARGET_DIR/programs/$wasi/release/$guest.wasm" "$fresh/"
done
# Copies all others there, and makes components of modules.
gather() {
    for guest in "${hosted[@]}" "${payloads[@]}"; do
        cp -- "$(module hosted "$guest")" "$fresh/$guest.wasm"
    done
    for guest in "${sized[@]}"; do
        cp -- "$(module sized "${guest%-s}")" "$fresh/$guest.wasm"
    done
    for guest in "${parted[@]}"; do
        cp -- "$(module parted "${guest%-s8}")" "$fresh/$guest.wasm"
    done
    for guest in "${contracts[@]}"; do
        cp -- "$(module contracts "$guest")" "$fresh/$guest.wasm"
    done
    for format in "${formats[@]}"; do
        cp -- "$CARGO_TARGET_DIR/batch-$format.wasm" "$fresh/"
    done
    for guest in "${vectors[@]}"; do
        cp -- "$(module vectors "$guest")" "$fresh/$guest.wasm"
    done
    for guest in "${separate[@]}"; do
        cp -- "$CARGO_TARGET_DIR/$guest/$standard/release/${guest//-/_}.wasm" "$fresh/$guest.wasm"
    done
    host=$("$rustc" -vV | sed -n 's/^host: //p')
    "$cargo" build --locked --manifest-path componentize/Cargo.toml --target "$host" \
        --target-dir "$CARGO_TARGET_DIR/tools"
    for guest in "${padded[@]}"; do
        "$CARGO_TARGET_DIR/tools/$host/debug/pad" "$fresh/$guest-padded.wasm" "$fresh/$guest.wasm"
    done
    "$CARGO_TARGET_DIR/tools/$host/debug/segments" "$fresh/${written[0]}.wasm"
    for guest in "${components[@]}"; do
        plug=()
        # This one imports a codec, and becomes one component with it.
        [[ $guest == json-composed ]] && plug=("$(module contracts json-codec)")
        "$CARGO_TARGET_DIR/tools/$host/debug/componentize" \
            "$fresh/$guest.wasm" "$(module contracts "$guest")" "${plug[@]}"
    done
}
$few || gather

if $check; then
    same=true
    printf '%-20s %-64s %s\n' guest expected got
    for guest in "${guests[@]}"; do
        expected=$(sed -n "s/^\([0-9a-f]*\) [ *]$guest\.wasm\$/\1/p" built/SHA256SUMS 2>/dev/null || true)
        # The list and the module beside it must agree as well.
        if [[ -z $expected || $(digest "built/$guest.wasm") != "$expected" ]]; then
            expected="missing or not what SHA256SUMS says"
        fi
        got=$(digest "$fresh/$guest.wasm")
        if $few && [[ " ${programs[*]} " != *" $guest "* ]]; then
            got="not built again"
            [[ $expected != missing* ]] || same=false
        elif [[ $got != "$expected" ]]; then
            same=false
        fi
        printf '%-20s %-64s %s\n' "$guest" "$expected" "$got"
    done
    $same || fail "the modules in built/ are not what their source builds to, or what SHA256SUMS says." 1
    $few || ! $changed ||
        fail "sources.sha256 is not of these sources, compiler and digests: build.sh writes it." 1
else
    mkdir -p built
    : >built/SHA256SUMS
    for guest in "${guests[@]}"; do
        install -m 644 -- "$fresh/$guest.wasm" "built/$guest.wasm"
        printf '%s  %s.wasm\n' "$(digest "built/$guest.wasm")" "$guest" >>built/SHA256SUMS
    done
    echo "$from $(digest built/SHA256SUMS)" >sources.sha256
    cat built/SHA256SUMS
fi
