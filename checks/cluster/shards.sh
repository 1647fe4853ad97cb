# What both recipes measure and compare; sourced by parallel.sh and slurm.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

project=$PWD
touchstone=${TOUCHSTONE:-$PWD/target/release/touchstone}
shards=6
# Cells and comparisons of calls that no time budget may leave out. One shard has none.
filter='(call_empty_function|dirty_1mb)'
options=(--engines wasmi,wasmtime --strategies instance_reuse,instance_reuse_tracked --threads 1
  --budget 3 --cell-limit 120)

say() { echo "cluster: $*"; }
stop() { echo "cluster: $*" >&2; exit 1; }

# The folder of a recipe, empty.
begin() {
  [ -x "$touchstone" ] || stop "$touchstone is missing: cargo build --release --features=all"
  work=$project/target/cluster/$1
  rm -rf "$work"
  mkdir -p "$work/results"
  # One program for all nodes, which a build in the meantime does not change.
  cp "$touchstone" "$work/touchstone"
  touchstone=$work/touchstone
}

# Waits until the first attempt at shard $1 has measured for a moment, and kills it.
kill_worker() {
  local pid
  until [ -s "$work/begun-$1" ]; do sleep 0.05; done
  sleep 1
  pid=$(head -1 "$work/begun-$1")
  kill -KILL "$pid" || stop "the worker of shard $1 ended before it was killed"
  say "killed the worker of shard $1 (process $pid)"
}

# Some values of each exported row, one row a line: a pattern of their names, their number, then arguments.
rows() {
  local names=$1 dashes
  dashes=$(printf '%*s' "$2" '' | sed 's/ /- /g')
  shift 2
  # shellcheck disable=SC2086 # one argument a dash
  "$touchstone" export --format jsonl "$@" | grep -o "\"\($names\)\":[^,}]*" | paste $dashes
}

# Names of cells and comparisons with their metrics, and refusals, without times.
contents() {
  rows 'kind\|metric\|name' 3 "$1" | sort -u
  grep -o '^{"kind":"refusal".*' "$1" | sort
}

# Merges the shards of folder $1 and compares the result with a run that is not sharded.
check() {
  "$touchstone" merge "$1" -o "$work/merged.jsonl"
  say "measuring the same in one run"
  "$touchstone" bench "$filter" "${options[@]}" --records "$work/whole.jsonl" 2>"$work/whole.log" ||
    { tail "$work/whole.log" >&2; stop "the run in one piece failed"; }
  diff <(contents "$work/whole.jsonl") <(contents "$work/merged.jsonl") >"$work/difference" ||
    { head "$work/difference" >&2; stop "the merged records have other contents than one run"; }
  rows 'kind\|metric\|name\|process\|sample' 5 --samples "$work/merged.jsonl" | sort | uniq -d >"$work/double"
  [ ! -s "$work/double" ] || { head "$work/double" >&2; stop "samples are double"; }
  say "the merged records have the contents of one run," \
    "$(rows 'kind\|metric\|name' 3 "$work/merged.jsonl" | cut -f3 | sort -u | wc -l) cells and comparisons"
}
