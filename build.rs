//! Notes which compiler and profile build the harness, for the records, and where
//! its programs find the libraries of the backends.

use std::process::Command;

fn main() {
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = Command::new(compiler)
        .arg("--version")
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=TOUCHSTONE_RUSTC={}", version.trim());
    let profile = std::env::var("OPT_LEVEL").unwrap_or_default();
    println!("cargo::rustc-env=TOUCHSTONE_OPT_LEVEL={profile}");
    println!("cargo::rerun-if-changed=build.rs");
    touchstone_wasmedge_library::link();
}
