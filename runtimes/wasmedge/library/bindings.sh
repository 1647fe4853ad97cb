#!/bin/sh
# Stands in for bindgen while wasmedge-sys is built, so that no libclang is
# needed: gives the bindings that the crate itself carries for this version.
# Called as `bindings.sh … -o FILE …` in the crate's folder.
while [ $# -gt 0 ]; do
  if [ "$1" = -o ]; then
    exec cp "$CARGO_MANIFEST_DIR/bindings/wasmedge.rs" "$2"
  fi
  shift
done
echo "bindings.sh: no -o FILE" >&2
exit 2
