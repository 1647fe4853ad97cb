//! Where the program finds libwasmedge, if the patch has that engine.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    touchstone_wasmedge_library::link();
}
