//! Tells the linker where the program finds the libraries of the backends.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "wasmedge")]
    touchstone_wasmedge_library::link();
}
