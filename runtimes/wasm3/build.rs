//! Does nothing itself. What it depends on looks for libclang, and has to do so before the bindings
//! are built, which cannot be made to depend on it. Cargo builds first what most others wait for:
//! as a dependency of this script, the look has more of them than as one of the library.

use touchstone_wasm3_libclang as _;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
