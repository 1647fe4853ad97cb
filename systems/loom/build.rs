//! Sets `cfg(loom)` for this package alone: no flag of the compiler, no other build of the
//! rest.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(loom)");
    println!("cargo::rustc-cfg=loom");
}
