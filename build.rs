//! Notes which compiler and profile build the instrument, for the records, lists the workloads of
//! experiments, and says where programs find the libraries of the backends.

use std::fmt::Write;
use std::path::Path;
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
    workloads();
}

/// Lists the workloads of experiments: each file or folder of `src/experiment/workloads`, and of
/// `src/experiment/systems` and `src/experiment/substrate` with their features. Each file has a
/// workload called `Own`.
fn workloads() {
    let folder =
        Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("src/experiment");
    let has = |feature: &str| std::env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    let all = [("workloads", true), ("systems", has("SYSTEMS")), ("substrate", has("CHAIN"))];
    let folders = all.into_iter().filter_map(|(name, is_wanted)| is_wanted.then_some(name));
    let (mut modules, mut names) = (String::new(), String::new());
    for folder in folders.map(|name| folder.join(name)) {
        println!("cargo::rerun-if-changed={}", folder.display());
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
        files.sort();
        for file in files {
            let path = if file.is_dir() { file.join("mod.rs") } else { file.clone() };
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            // Writing to a string cannot fail.
            let _ = writeln!(modules, "#[path = {path:?}]\nmod {name};");
            let _ = write!(names, "({name:?}, &{name}::Own), ");
        }
    }
    let list = "/// Each workload by the name of its experiment.\n\
                static WORKLOADS: &[(&str, &dyn Workload)] = ";
    let text = format!("{modules}\n{list}&[{names}];\n");
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    std::fs::write(Path::new(&out).join("workloads.rs"), text).expect("cannot list the workloads");
}
