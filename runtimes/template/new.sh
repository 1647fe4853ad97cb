#!/usr/bin/env bash
# Begins a backend: new.sh NAME CRATE[@VERSION]. Copies this folder to runtimes/NAME, adds the runtime's
# crate to it, and enters the backend in runtimes/Cargo.toml, runtimes/src/lib.rs and cli/Cargo.toml. The
# copy builds, and its tests pass, as it is: it runs wasmi until its source is changed.
set -euo pipefail
cd "$(dirname "$0")/../.."

stop() { echo "make runtime: $*" >&2; exit 2; }

name=${1:-} crate=${2:-}
[ -n "$name" ] && [ -n "$crate" ] || stop "NAME and CRATE are needed: make runtime NAME=wamr CRATE=wamrx"
[[ $name =~ ^[a-z][a-z0-9_]*$ ]] || stop "'$name' is no name: small letters, digits and _"
[ ! -e "runtimes/$name" ] || stop "runtimes/$name exists"

type=$(sed -E 's/(^|_)([a-z0-9])/\U\2/g' <<<"$name")
mkdir -p "runtimes/$name"
cp -r runtimes/template/{Cargo.toml,src,tests} "runtimes/$name"
find "runtimes/$name" -type f -exec sed -i \
  -e "s/touchstone-template/touchstone-$name/g; s/touchstone_template/touchstone_${name//-/_}/g" \
  -e "s/\"template\"/\"$name\"/; s/\\bTemplate\\b/$type/g" \
  -e "s/^description = .*/description = \"$type behind Touchstone's executor contract\"/" {} +

# The introduction is of the template.
rest=$(sed -n '/^$/,$p' "runtimes/$name/src/lib.rs")
printf '//! %s behind Touchstone'"'"'s contract.\n%s\n' "$type" "$rest" >"runtimes/$name/src/lib.rs"

# Adds a line before the first one that matches: FILE PATTERN LINE.
before() {
  sed -i "0,/$2/s//$3\n&/" "$1"
  grep -q -- "$name" "$1" || stop "$1 has no line like '$2'"
}
before runtimes/Cargo.toml '^native = \[' "$name = [\"dep:touchstone-$name\"]"
before runtimes/Cargo.toml '^touchstone-native = ' \
  "touchstone-$name = { path = \"$name\", version = \"0.1.0\", optional = true }"
before cli/Cargo.toml '^native = \[' "$name = [\"touchstone-runtimes\/$name\"]"
before runtimes/src/lib.rs '^ *#\[cfg(feature = "native")\]' \
  "    #[cfg(feature = \"$name\")]\n    touchstone_$name::engines(),"

cargo add --quiet --manifest-path "runtimes/$name/Cargo.toml" "$crate" ${CARGO_ADD_FLAGS:-}
echo "made runtimes/$name, with the features $name of runtimes/Cargo.toml and cli/Cargo.toml"
echo "next: cargo test --release -p touchstone-$name, then step 2 of CONTRIBUTING.md"
