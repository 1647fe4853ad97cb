//! Builds the guests' library in their own workspace, with the modules' profile, and notes
//! the compiler, which is this backend's version.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Whose sources the library is made of, below the workspace's folder, and what it also depends on.
const NOT_SOURCES: [&str; 6] = ["built", "inputs", "target", "componentize", "programs", "wit"];

/// Beginnings of variables that say where cargo keeps its files, how it reaches a registry,
/// and whose jobs it shares.
const KEPT: [&str; 6] = [
    "CARGO_HOME",
    "CARGO_HTTP_",
    "CARGO_NET_",
    "CARGO_REGISTR",
    "CARGO_SOURCE_",
    "CARGO_MAKEFLAGS",
];

fn main() {
    let compiler = variable("RUSTC");
    let version = Command::new(&compiler).arg("--version").output().expect("the compiler runs");
    let version = String::from_utf8(version.stdout).expect("its version is a text");
    // `rustc 1.95.0 (59807616e 2026-04-14)`: name and number are enough.
    let version: Vec<&str> = version.split_whitespace().take(2).collect();
    println!("cargo::rustc-env=TOUCHSTONE_NATIVE_RUSTC={}", version.join(" "));

    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let workspace = here.join("../../test-runtime");
    for entry in workspace.read_dir().expect("the guests' workspace is there").flatten() {
        if !NOT_SOURCES.iter().any(|name| entry.file_name() == *name) {
            println!("cargo::rerun-if-changed={}", entry.path().display());
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
    let library = build(&workspace);
    println!("cargo::rustc-env=TOUCHSTONE_NATIVE_LIBRARY={}", library.display());
}

fn build(workspace: &Path) -> PathBuf {
    let target = variable("TARGET");
    // Beside this build's folders, so that all profiles, and clippy, share one library.
    let out = PathBuf::from(variable("OUT_DIR"));
    let folder = out.ancestors().nth(4).unwrap_or(&out).join("native");
    let mut cargo = Command::new(variable("CARGO"));
    // What is set for the program's build must not reach this one.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_set = ["CARGO_", "RUSTC_", "RUSTFLAGS"].iter().any(|start| text.starts_with(start));
        if is_set && !KEPT.iter().any(|start| text.starts_with(start)) {
            cargo.env_remove(&name);
        }
    }
    let status = cargo
        .args(["build", "--locked", "--package=touchstone-native-library", "--profile=native"])
        .args(["--target", &target])
        .arg("--manifest-path")
        .arg(workspace.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&folder)
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the guests' library could not be built: see above");
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    folder.join(target).join("native").join(format!("{prefix}touchstone_guests{suffix}"))
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
