#!/usr/bin/env bash
# Measures everything that the page shows, at one commit with one build on one machine, and writes the page.
# A step whose records are whole and of this commit is skipped, so an interrupted publication continues.
#
#   benches/publish.sh          all steps, into records/
#   benches/publish.sh --dry    only asks whether the programs take these commands, as every publication does
#                               first; chain is left out, which not every build has
#
# TOUCHSTONE and CHECKS are the programs, the first built with the features FEATURES (all,systems,chain);
# `make publish` builds them. The pictures need Chromium. The steps with their times are in target/publish/steps.tsv, a line each.
set -euo pipefail
cd "$(dirname "$0")/.."

only_dry=false
[ "${1:-}" != --dry ] || only_dry=true
work=target/publish
mkdir -p "$work"
steps="$work/steps.tsv"
commit=$(git rev-parse --short=12 HEAD)
if ! $only_dry &&
  [ -n "$(git status --porcelain --untracked-files=no -- . ':!records' ':!BENCHMARK.md' ':!README.md' ':!benchmark' ':!image')" ]; then
  echo "the tree has changes that no commit holds: commit them first" >&2
  exit 1
fi

dry=true
touchstone() { run "${TOUCHSTONE:-target/release/touchstone}" "$@"; }
checks() { run "${CHECKS:-target/release/touchstone-checks}" "$@"; }
run() {
  if $dry; then "$@" --help >/dev/null; else "$@"; fi
}

# step NAME COMMAND…: runs the command unless it succeeded at this commit.
step() {
  local name=$1 begun=$SECONDS
  shift
  if $dry; then
    "$@"
    return
  fi
  if grep -q "^$name	" "$steps"; then
    echo "== $name: done before"
    return
  fi
  echo "== $name: $*"
  "$@"
  printf '%s\t%s s\t%s\n' "$name" "$((SECONDS - begun))" "$*" >>"$steps"
}

# Exits with 1 where the most instances do not fit, which the page shows with the reason, and for a
# wrong answer, which ends the publication.
density() {
  touchstone density --records records/density.jsonl ||
    { [ $? -eq 1 ] && [ -s records/density.jsonl ] &&
      ! grep -qE '"status":"(wrong|trapped)"' records/density.jsonl; }
}

# A run of this commit goes on; another begins anew.
measure() {
  local how=--replace
  if grep '"kind":"run"' records/records.jsonl 2>/dev/null | tail -n 1 | grep -q "\"commit\":\"$commit"; then
    how=--resume
  fi
  touchstone bench --records records/records.jsonl "$how"
}

# The ratios at the head of the page.
verdict='^peers/wasmtime_(instance_reuse|recreate_instance)_tracked/.*/wasmtime_pooling_cow(_resident)?$'
layouts() {
  local part="$work/layout.jsonl"
  if $dry; then
    touchstone peers "$verdict" --records "$part"
    return
  fi
  : >"$work/layouts.jsonl"
  for program in "$work"/layouts/touchstone-*; do
    rm -f "$part"
    "$program" peers "$verdict" --records "$part"
    head -n 1 "$part" | grep -q "\"commit\":\"$commit\"" ||
      { echo "$program is of another commit: benches/layouts.sh builds them" >&2; exit 1; }
    cat "$part" >>"$work/layouts.jsonl"
  done
  mv "$work/layouts.jsonl" records/layouts.jsonl
}

# The engines and strategies of the table that has four threads, with the best of the runtime and Touchstone's.
# Two threads for the comparison with perfect sharing.
oversubscribed() {
  touchstone bench '^(call_empty_function|dirty_1mb_of_memory)_from_(large|test)_runtime/' --threads 2,4 \
    --engines wasmi,wasmedge,wasmedge_aot,wasmtime \
    --strategies instance_reuse,instance_reuse_tracked,interpreted,pooling,pooling_cow,pooling_cow_precompiled,pooling_cow_resident,recreate_instance,recreate_instance_cow,recreate_instance_cow_precompiled,recreate_instance_precompiled,recreate_instance_tracked \
    --sampling quick --records records/oversubscribed.jsonl --replace
}

# A check, into a file of its own: two may not write to one at the same time.
check() { checks "$1" --store --records "$work/$1.jsonl"; }
findings() {
  $dry || cat "$work"/{conformance,features,isolation,hostile,survival}.jsonl >records/checks.jsonl
}

all() {
  step bench measure
  step peers touchstone peers
  step layouts layouts
  step oversubscribed oversubscribed
  step resets touchstone resets
  step density density
  step swap touchstone swap --swaps 100000
  step systems touchstone systems
  # Without settings that differ in when a function is compiled, WasmEdge's and Wasm3's interpreters anew in each
  # call, whose blocks take seconds, and all but one strategy of Wasmtime's other compilers.
  $only_dry || step chain touchstone systems chain \
    --filter '^([^w]|wamr|wasmedge_(aot|i)|wasmtime_([^wp]|pool|[a-z]+_i)|(wasm3|wasmi)_i)' --records records/chain.jsonl
  step counts checks costs --store
  # Findings do not depend on time, so the longest check runs beside the others.
  step hostile check hostile &
  for name in conformance features isolation survival; do
    step "$name" check "$name"
  done
  wait $!
  step checks findings
  step page touchstone report
}

all
if $only_dry; then
  exit
fi
dry=false
# Another commit begins anew.
[ "$(head -n 1 "$steps" 2>/dev/null)" = "# $commit" ] || echo "# $commit" >"$steps"
all
step pictures make --no-print-directory pictures FEATURES="${FEATURES:-all,systems,chain}"
step recomputed checks/recompute.py
# Records of another commit would make the page speak for code that was not measured or checked.
# Each check has a run of its own in its file; of others, the newest run counts.
for file in records/*.jsonl; do
  last=1
  [ "$file" != records/checks.jsonl ] || last=+1
  others=$(grep '"kind":"run"' "$file" | tail -n "$last" | grep -vc "\"commit\":\"$commit\"" || true)
  [ "$others" = 0 ] || { echo "$file is of another commit" >&2; exit 1; }
done
cat "$steps"
