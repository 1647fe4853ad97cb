//! Where the programs of this package find the libraries of the backends.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    touchstone_wasmedge_library::link();
}
