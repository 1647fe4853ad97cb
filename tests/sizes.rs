//! The stored report and the code keep the sizes that people and GitHub can read.

#[path = "sizes/code.rs"]
mod code;
#[path = "sizes/interface.rs"]
mod interface;

use std::fs;
use std::path::{Path, PathBuf};

/// Largest sizes, bytes.
const SUMMARY: u64 = 40 * 1024;
const DETAILED: u64 = 200_000;
const INTERACTIVE: u64 = 3_000_000;
const SCRIPTS: u64 = 30_000;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).len()
}

/// The files of a folder with an ending.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|own| own == ending)).collect();
    assert!(!files.is_empty(), "{folder} has no .{ending}");
    files
}

#[test]
fn the_pages_are_small_enough_to_read() {
    let mut limits = vec![
        (root().join("BENCHMARK.md"), SUMMARY),
        (root().join("benchmark/index.html"), INTERACTIVE),
    ];
    limits.extend(files("benchmark", "md").into_iter().map(|path| (path, DETAILED)));
    for (path, most) in limits {
        let size = size(&path);
        assert!(size <= most, "{} has {size} bytes of {most}", path.display());
    }
}

#[test]
fn the_scripts_of_the_interactive_page_are_small() {
    let size: u64 = files("report/src/html", "js").iter().map(|path| size(path)).sum();
    assert!(size <= SCRIPTS, "the scripts have {size} bytes of {SCRIPTS}");
}
