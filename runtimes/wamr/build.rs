//! Does nothing itself: see `build.rs` of Touchstone's Wasm3 backend, which needs libclang too.

use touchstone_wasm3_libclang as _;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
