//! Notes which compiler builds the guests: it is this backend's version.

use std::process::Command;

fn main() {
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = Command::new(compiler)
        .arg("--version")
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .unwrap_or_else(|| "rustc unknown".to_owned());
    // `rustc 1.95.0 (59807616e 2026-04-14)`: number and word are enough.
    let version: Vec<&str> = version.split_whitespace().take(2).collect();
    println!("cargo::rustc-env=TOUCHSTONE_NATIVE_RUSTC={}", version.join(" "));
    let level = std::env::var("OPT_LEVEL").unwrap_or_default();
    println!("cargo::rustc-env=TOUCHSTONE_NATIVE_OPT_LEVEL={level}");
    println!("cargo::rerun-if-changed=build.rs");
}
