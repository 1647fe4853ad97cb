//! Licences and sources of the locked graph: licences that fit the project's own, and public
//! sources.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Licences that code under `Apache-2.0 OR MIT` may link.
const ALLOWED: [&str; 12] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "0BSD",
    "ISC",
    "BSL-1.0",
    "Zlib",
    "Unicode-3.0",
    "Unlicense",
    "CC0-1.0",
];

/// `true` if the allowed licences satisfy an SPDX expression. Supports OR (and the old `/`), AND,
/// and brackets.
fn allowed(expression: &str) -> bool {
    let expression = expression.trim();
    let split = |word: &str| -> Option<(String, String)> {
        let mut depth = 0;
        for (at, letter) in expression.char_indices() {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            if depth == 0 && expression[at..].starts_with(word) {
                return Some((expression[..at].into(), expression[at + word.len()..].into()));
            }
        }
        None
    };
    if let Some((left, right)) = split(" OR ").or_else(|| split("/")) {
        return allowed(&left) || allowed(&right);
    }
    if let Some((left, right)) = split(" AND ") {
        return allowed(&left) && allowed(&right);
    }
    match expression.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => allowed(inner),
        None => ALLOWED.contains(&expression),
    }
}

#[test]
fn expressions_are_understood() {
    assert!(allowed("MIT OR GPL-3.0"));
    assert!(allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(allowed("Unlicense/MIT"));
    assert!(!allowed("GPL-3.0"));
    assert!(!allowed("MIT AND GPL-3.0"));
}

/// Crates that run while a dependency is built and are not linked, with their
/// licence: the certificates of a downloader that is not used here.
const BUILDING: [(&str, &str); 1] = [("webpki-roots", "MPL-2.0")];

/// Crates of features outside `all` that may have another licence, with that
/// licence: who does not ask for the feature does not have them. The Mozilla
/// licence binds changes to a crate's own files, and it is linked as it is; the
/// exception to the GNU licence allows linking those two with code under any other.
const OPTIONAL: [(&str, &str); 3] = [
    ("colored", "MPL-2.0"),
    ("sc-executor-common", "GPL-3.0-or-later WITH Classpath-exception-2.0"),
    ("sc-executor-wasmtime", "GPL-3.0-or-later WITH Classpath-exception-2.0"),
];

#[test]
fn every_dependency_has_an_allowed_licence_and_a_public_source() {
    assert_eq!(problems(&["--features=all"], &BUILDING), Vec::<String>::new());
}

#[test]
fn optional_dependencies_are_no_exception_but_by_name() {
    let exceptions = [&OPTIONAL[..], &BUILDING].concat();
    assert_eq!(problems(&["--all-features"], &exceptions), Vec::<String>::new());
}

/// The problems of a selection of features, in cargo's words. Cargo reads the manifests of the
/// whole workspace, also unused ones, and fetches missing ones.
fn problems(selection: &[&str], exceptions: &[(&str, &str)]) -> Vec<String> {
    // For this machine only: of other platforms' crates not even the manifests
    // are on the disk.
    let compiler = Command::new("rustc").arg("-vV").output().unwrap();
    let compiler = String::from_utf8(compiler.stdout).unwrap();
    let host = compiler.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version=1", "--filter-platform", host])
        .args(selection)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = metadata["packages"].as_array().unwrap().iter();
    let checks = checks.filter(|package| package["name"] == "touchstone-checks");
    let built = built(&metadata["resolve"], checks.map(|package| package["id"].as_str().unwrap()));
    let mut problems = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        if !built.contains(package["id"].as_str().unwrap()) {
            continue;
        }
        let name = package["name"].as_str().unwrap();
        if let Some(source) = package["source"].as_str()
            && source != "registry+https://github.com/rust-lang/crates.io-index"
        {
            problems.push(format!("{name} comes from {source}"));
        }
        match package["license"].as_str() {
            Some(licence) if allowed(licence) || exceptions.contains(&(name, licence)) => {}
            other => problems.push(format!("{name} has the licence {other:?}")),
        }
    }
    problems
}

/// The packages that the root package and others are built from; the list of packages also has
/// unselected needs of workspace members.
fn built<'a>(
    resolve: &'a serde_json::Value,
    others: impl Iterator<Item = &'a str>,
) -> BTreeSet<&'a str> {
    let nodes: BTreeMap<_, _> = resolve["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| (node["id"].as_str().unwrap(), &node["dependencies"]))
        .collect();
    let mut seen = BTreeSet::new();
    let mut next: Vec<&str> = others.chain(resolve["root"].as_str()).collect();
    while let Some(id) = next.pop() {
        if seen.insert(id) {
            let dependencies = nodes[id].as_array().unwrap();
            next.extend(dependencies.iter().map(|dependency| dependency.as_str().unwrap()));
        }
    }
    seen
}
