#!/usr/bin/env bash
# Builds and tests the backends with the newest versions of their runtimes: run.sh [RUNTIME…]. Each runtime
# gets a copy of the project in target/canary, whose manifests ask for the newest version of the registry in
# place of the one here, also where that is for a newer Rust. Prints a table, also in target/canary/table.md, and what broke in
# target/canary/RUNTIME.log. Tells and decides nothing: it fails only if it cannot look.
set -euo pipefail
cd "$(dirname "$0")/../.."

runtimes=("$@")
[ ${#runtimes[@]} -gt 0 ] || runtimes=(wasmi tinywasm wasmtime wasmer)
folder=$PWD/target/canary
table=$folder/table.md
mkdir -p "$folder"
export CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS=allow

say() { echo "canary: $*" >&2; }

# The manifests that may name a runtime's crates: those of the workspace.
manifests() { git ls-files -- Cargo.toml '*/Cargo.toml' | grep -v '^\(test-runtime\|fuzz\|examples\)/'; }

# The version in the lock file here; of several, the newest.
here() { sed -n "/^name = \"$1\"\$/{n;s/^version = \"\(.*\)\"/\1/p}" Cargo.lock | tail -1; }

# The newest version of the registry that is no release candidate, whatever Rust it needs.
newest() {
  local ask=$folder/ask
  mkdir -p "$ask/src"
  : >"$ask/src/lib.rs"
  printf '[package]\nname = "ask"\nedition = "2024"\n[workspace]\n[dependencies]\n%s = "*"\n' "$1" \
    >"$ask/Cargo.toml"
  (cd "$ask" && rm -f Cargo.lock && cargo generate-lockfile --quiet --ignore-rust-version >&2)
  sed -n "/^name = \"$1\"\$/{n;s/^version = \"\(.*\)\"/\1/p}" "$ask/Cargo.lock"
}

# The Rust that a version needs.
needs() { (cd / && cargo info --color never --registry crates-io "$1@$2" 2>/dev/null) | sed -n 's/^rust-version: //p'; }

# A copy of the project whose manifests want version $2 of runtime $1 and of its own crates.
prepare() {
  local copy=$folder/$1 file
  rm -rf "$copy"
  mkdir -p "$copy"
  git ls-files -z | tar --null --ignore-failed-read -T - -cf - 2>/dev/null | tar -xf - -C "$copy"
  [ -d .toolchain ] && ln -s "$PWD/.toolchain" "$copy/.toolchain"
  for file in $(manifests); do
    # `wasmtime = "48"`, `wasmtime-environ = { version = "48", … }`, but no crate with another number.
    sed -i -E "s/^($1(-[a-z-]+)?) = (\{ version = )?\"[^\"]*\"/\1 = \3\"=$2\"/" "$copy/$file"
  done
}

# Gives the adapter in the copy the behaviours of the contract as a test of its own: without the rest of
# the project, it is built in a fraction of the time.
behaviours() {
  local folder=$1/runtimes/$2 name
  mkdir -p "$folder/tests"
  sed -e 's|^mod common;|#[path = "../../../tests/common/mod.rs"]\nmod common;|' \
    -e "s|^use touchstone_runtimes::engines;|fn engines() -> Vec<std::sync::Arc<dyn \
touchstone_executor::adapter::MeasuredEngine>> {\n    touchstone_$2::engines().into_iter()\
.map(std::sync::Arc::from).collect()\n}|" "$1/tests/behaviour.rs" >"$folder/tests/canary.rs"
  for name in tempfile wat; do
    sed -n '/^\[dev-dependencies\]/,$p' "$folder/Cargo.toml" | grep -q "^$name\b" ||
      sed -i "s/^\[dev-dependencies\]/&\n$name.workspace = true/" "$folder/Cargo.toml"
  done
}

# Builds the adapter and runs its tests.
check() { cargo test --release --no-fail-fast --ignore-rust-version -p "touchstone-$1" 2>&1; }

# The first words on what broke.
broke() {
  grep -m1 -E '^error(\[|:)|^test .* FAILED$|^error: failed to select' "$1" | cut -c1-160 | tr '|' '/' || true
}

{
  echo "| runtime | version here | newest | its Rust | passes | first failure |"
  echo "|---|---|---|---|---|---|"
} >"$table"
for runtime in "${runtimes[@]}"; do
  now=$(here "$runtime") next=$(newest "$runtime")
  [ -n "$now" ] && [ -n "$next" ] || { say "$runtime: no version here or in the registry"; exit 1; }
  if [ "$now" = "$next" ]; then
    row="it is the version here |"
  else
    say "$runtime $next in place of $now"
    prepare "$runtime" "$next"
    behaviours "$folder/$runtime" "$runtime"
    log=$folder/$runtime.log
    if (cd "$folder/$runtime" && CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$folder/build} check "$runtime") >"$log"; then
      row="yes, $(grep -c '^test .* ok$' "$log") tests"
    elif grep -q '^test .* FAILED$' "$log"; then
      row="$(grep -c '^test .* FAILED$' "$log") of $(grep -c '^test ' "$log") tests fail"
    else
      row="does not build"
    fi
    row="$row | $(broke "$log")"
    rm -rf "${folder:?}/$runtime"
  fi
  echo "| $runtime | $now | $next | $(needs "$runtime" "$next") | $row |" >>"$table"
done
cat "$table"
