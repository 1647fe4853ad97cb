//! Where the programs of this package find libwasmedge.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    touchstone_wasmedge_library::link();
}
