//! Files of machines: the stored ones are accepted, changed ones are not.

use crate::command::touchstone;
use std::fs;
use std::path::{Path, PathBuf};
use touchstone_record::packed::{packed, unpacked};

/// The stored files.
fn stored() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../records/machines");
    let list = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let mut files: Vec<PathBuf> =
        list(&folder).iter().filter(|path| path.is_dir()).flat_map(|own| list(own)).collect();
    files.sort();
    files
}

#[test]
fn stored_files_are_accepted_and_agree() {
    let files: Vec<String> =
        stored().iter().map(|path| path.to_str().unwrap().to_owned()).collect();
    if files.is_empty() {
        return;
    }
    let arguments: Vec<&str> =
        std::iter::once("verify").chain(files.iter().map(String::as_str)).collect();
    let out = touchstone(&arguments).well();
    assert_eq!(out.matches("accepted  ").count(), files.len(), "{out}");
}

#[test]
fn a_changed_a_cut_and_a_hostile_file_are_refused_with_the_reason() {
    let Some(path) = stored().into_iter().next() else { return };
    let content = fs::read(path).unwrap();
    let text = String::from_utf8(unpacked(content.clone()).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let refused = |bytes: &[u8], reason: &str| {
        let path = folder.path().join("file.jsonl.zst");
        fs::write(&path, bytes).unwrap();
        let ran = touchstone(&["verify", path.to_str().unwrap()]);
        assert_eq!((ran.code, &*ran.err), (1, ""), "{}", ran.out);
        assert!(ran.out.starts_with("refused  ") && ran.out.contains(reason), "{}", ran.out);
        assert!(!ran.out.contains("<script>\u{1b}"), "{}", ran.out);
    };
    let at = text.find("\"total\":[").unwrap() + "\"total\":[".len();
    let digit = if text.as_bytes()[at] == b'1' { "2" } else { "1" };
    let mut changed = text.clone();
    changed.replace_range(at..=at, digit);
    refused(&packed(changed.as_bytes()), "a line of the run was changed");
    refused(&packed(changed.as_bytes())[..1000], "cut off");
    refused(&content[..content.len() - 3], "cut off");
    let lines: Vec<&str> = text.lines().collect();
    refused(&packed(lines[..lines.len() - 1].join("\n").as_bytes()), "it has no end line");
    let script = text.replacen("\"cpu\":\"", "\"cpu\":\"<script>\\u001b[2J", 1);
    refused(&packed(script.as_bytes()), "characters that are not allowed in 'cpu'");
    let engine = text.replace("\"engine\":\"wasm3\"", "\"engine\":\"<img src=x>\"");
    refused(&packed(engine.as_bytes()), "characters that are not allowed in 'engine'");
    // A file that cannot be read does not hide the others.
    let (missing, other) = (folder.path().join("missing"), folder.path().join("file.jsonl.zst"));
    let ran = touchstone(&["verify", missing.to_str().unwrap(), other.to_str().unwrap()]);
    assert_eq!((ran.code, ran.out.matches("refused  ").count()), (1, 2), "{}", ran.out);
    assert!(ran.out.contains("cannot read"), "{}", ran.out);
}

#[test]
fn the_readme_names_the_number_of_machines_on_the_page() {
    let read = |path: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
        fs::read_to_string(path).unwrap_or_default()
    };
    let page = read("benchmark/machines.md");
    let head = page.lines().find(|line| line.starts_with("| Subject, baseline, call |"));
    let Some(head) = head else { return };
    // The first column has the names, the last one the spread.
    let machines = head.split('|').filter(|cell| !cell.is_empty()).count() - 2;
    let sentence = format!("has those of {machines} machines");
    assert!(read("README.md").contains(&sentence), "{sentence}");
}
