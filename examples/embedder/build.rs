//! Tells the linker where the program finds WasmEdge's library, which `make wasmedge` prepares.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    touchstone_wasmedge_library::link();
}
