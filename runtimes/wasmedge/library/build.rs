//! Looks for libwasmedge where the build of its bindings will look, some
//! seconds before that build would fail with other words.

use std::path::PathBuf;

fn main() {
    for name in ["WASMEDGE_DIR", "WASMEDGE_INCLUDE_DIR", "WASMEDGE_LIB_DIR", "HOME"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let home = folder("HOME");
    let places = [
        folder("WASMEDGE_DIR"),
        home.as_ref().map(|home| home.join(".wasmedge")),
        home.as_ref().map(|home| home.join(".local")),
        Some(PathBuf::from("/usr/local")),
    ];
    let found = folder("WASMEDGE_INCLUDE_DIR").is_some() && folder("WASMEDGE_LIB_DIR").is_some()
        || places.into_iter().flatten().any(|place| {
            place.join("include/wasmedge/wasmedge.h").exists()
                && ["lib", "lib64"]
                    .iter()
                    .any(|lib| place.join(lib).join("libwasmedge.so").exists())
        });
    if !found && std::env::var_os("CARGO_FEATURE_WANTED").is_some() {
        println!(
            "cargo::error=the WasmEdge backend needs libwasmedge 0.17.1, which was not found: run \
             `make wasmedge`, which prepares it without root"
        );
    }
}
