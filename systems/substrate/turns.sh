#!/usr/bin/env bash
# Builds the program in node/ with the patch and without, and runs both in turns: the boot, a clean
# call of `Core_version`, building and executing the stored block, in nanoseconds. Medians of
# processes, each of which gives the shortest of three times.
#
#   turns.sh [PROCESSES [EXECUTOR...]]
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

processes=${1:-5}
executors=("${@:2}")
if [[ ${#executors[@]} -eq 0 ]]; then
    # One of each engine that the patch may have.
    executors=(wasmtime_instance_reuse_tracked wasmi_instance_reuse_tracked
        wasm3_instance_reuse_tracked wasmedge_aot_instance_reuse_tracked)
fi
root=$PWD/../..
target=$root/target/substrate
plain=$target/unpatched
build=(cargo build --release --target-dir "$target")

cp "$root/Cargo.lock" Cargo.lock
"${build[@]}" --workspace --features sc-executor-wasmtime/wasm3,sc-executor-wasmtime/wasmedge
if grep -A 1 '^name = "wasmtime"$' Cargo.lock | grep -q '"36\.'; then
    echo "turns.sh: the lock of the patched program has Wasmtime 36" >&2
    exit 1
fi
cp "$target/release/touchstone-substrate-node" "$target/patched-node"

# The same program in a workspace without the patch.
mkdir -p "$plain"
cp "$root/Cargo.lock" node/build.rs "$plain"
{
    sed -e "s|\"\.\./host|\"$PWD/host|" -e "s|\"\.\./\.\./\.\.|\"$root|" node/Cargo.toml
    printf '[[bin]]\nname = "touchstone-substrate-node"\npath = "%s"\n' "$PWD/node/src/main.rs"
    printf '[workspace]\n[profile.release]\ncodegen-units = 16\n'
} >"$plain/Cargo.toml"
(cd "$plain" && "${build[@]}")
cp "$target/release/touchstone-substrate-node" "$target/unpatched-node"

lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
for ((process = 0; process < processes; process++)); do
    printf 'unpatched\t%s\n' "$("$target/unpatched-node")" >>"$lines"
    for name in "${executors[@]}"; do
        printf '%s\t%s\n' "$name" "$(TOUCHSTONE_EXECUTOR=$name "$target/patched-node")" >>"$lines"
    done
done
printf 'executor\tboot_ns\tcall_ns\tbuild_ns\texecute_ns\n'
for name in unpatched "${executors[@]}"; do
    printf '%s' "$name"
    for column in 2 3 4 5; do
        awk -F '\t' -v name="$name" -v column=$column '$1 == name { print $column }' "$lines" |
            sort -n | awk '{ all[NR] = $1 } END { printf "\t%.0f", all[int((NR + 1) / 2)] }'
    done
    printf '\n'
done
