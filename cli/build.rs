//! Tells the linker where the program finds the libraries of the backends.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    touchstone_wasmedge_library::link();
}
