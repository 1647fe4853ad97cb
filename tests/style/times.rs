//! Tests have one limit of time: `LIMIT` of `tests/fixtures/time.rs`. A limit of their own, however
//! wide it seems, is met one day beside other work.

use regex::Regex;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The file that may have it.
const PLACE: &str = "fixtures/time.rs";

/// Folders of tests.
fn folders(root: &Path) -> Vec<PathBuf> {
    let mut folders = vec![root.join("tests"), root.join("executor/tests")];
    folders.extend([root.join("checks/tests"), root.join("fuzz-targets/tests")]);
    let backends = std::fs::read_dir(root.join("runtimes")).unwrap();
    folders.extend(backends.map(|entry| entry.unwrap().path().join("tests")));
    folders
}

/// All sources beneath a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        match path.extension() {
            Some(of) if of == "rs" => found.push(path),
            _ => sources(&path, found),
        }
    }
}

/// A line has a limit of its own: whole seconds, or a time that something took and that is compared
/// with another limit.
fn has_its_own_limit(line: &str) -> bool {
    static SECONDS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"Duration::from_(secs|mins|hours)\([0-9]").unwrap());
    static COMPARED: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"assert.*(elapsed\(\)|took) <=? ([A-Za-z0-9_:]+)").unwrap());
    let other = |found: regex::Captures<'_>| &found[2] != "LIMIT";
    SECONDS.is_match(line) || COMPARED.captures(line).is_some_and(other)
}

#[test]
fn tests_have_no_limit_of_time_of_their_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    folders(root).iter().for_each(|folder| sources(folder, &mut files));
    assert!(files.len() > 100, "{}", files.len());
    files.retain(|file| !file.ends_with(PLACE) && !file.ends_with("style/times.rs"));
    let mut own = String::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for (place, line) in text.lines().enumerate().filter(|(_, line)| has_its_own_limit(line)) {
            own += &format!("{}:{}: {}\n", file.display(), place + 1, line.trim());
        }
    }
    assert!(own.is_empty(), "use LIMIT of tests/{PLACE}:\n{own}");
}

#[test]
fn limits_are_recognised() {
    assert!(has_its_own_limit("const LONG: Duration = Duration::from_secs(60);"));
    assert!(has_its_own_limit("assert!(took < most, \"{took:?}\");"));
    assert!(has_its_own_limit("assert!(began.elapsed() < LONG);"));
    assert!(!has_its_own_limit("assert!(began.elapsed() < LIMIT);"));
    assert!(!has_its_own_limit("let deadline = Duration::from_millis(100);"));
    assert!(!has_its_own_limit("while started.elapsed() < wait {"));
}
