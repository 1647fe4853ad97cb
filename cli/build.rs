//! Packs the data files that the program carries, and tells the linker where the libraries are.

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Cases, tables and templates; guests and their inputs.
const FOLDERS: [&str; 3] = ["benches", "test-runtime/built", "test-runtime/inputs"];
/// Digits that name the content.
const DIGITS: usize = 16;
/// Level of compression.
const LEVEL: u8 = 6;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    touchstone_wasmedge_library::link();
    let project = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for folder in FOLDERS {
        println!("cargo::rerun-if-changed={}", project.join(folder).display());
        list(&project, Path::new(folder), &mut files);
    }
    files.sort();
    let archive = packed(&project, &files);
    let digest: String =
        Sha256::digest(&archive).iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=TOUCHSTONE_DATA_DIGEST={}", &digest[..DIGITS]);
    println!("cargo::rustc-env=TOUCHSTONE_COMMIT={}", commit(&project).unwrap_or_default());
    let archive = miniz_oxide::deflate::compress_to_vec(&archive, LEVEL);
    let out = Path::new(&variable("OUT_DIR")).join("data");
    std::fs::write(out, archive).expect("cannot write the data files");
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

/// The files below a folder of the project, but for programs.
fn list(project: &Path, folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = project.join(folder).read_dir();
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries.flatten() {
        let path = folder.join(entry.file_name());
        match entry.path() {
            below if below.is_dir() => list(project, &path, files),
            file if file.extension().is_some_and(|ending| ending == "rs") => {}
            _ => files.push(path),
        }
    }
}

/// The number of the files, then of each the lengths of path and content, and both. Numbers have 32
/// bits, little-endian.
fn packed(project: &Path, files: &[PathBuf]) -> Vec<u8> {
    let number = |number: usize| u32::try_from(number).expect("it is below 4 GiB").to_le_bytes();
    let mut archive = number(files.len()).to_vec();
    for path in files {
        let content = std::fs::read(project.join(path)).expect("it was listed");
        let path = path.to_str().expect("names of the project are in UTF-8");
        archive.extend(number(path.len()));
        archive.extend(number(content.len()));
        archive.extend(path.as_bytes());
        archive.extend(content);
    }
    archive
}

/// The commit of the sources, for a program that is installed from them.
fn commit(project: &Path) -> Option<String> {
    let mut git = Command::new("git");
    let git = git.arg("-C").arg(project).args(["describe", "--always", "--abbrev=12", "--dirty"]);
    let output = git.args(["--exclude=*"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
