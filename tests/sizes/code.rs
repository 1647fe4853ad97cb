//! The tables of CONTRIBUTING.md ("Sizes") hold: lines of each part, and numbers of public things.
//!
//! Lines of code are all lines of Rust files without unit tests: see [`is_test`] and [`lines_of`].

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use touchstone_executor::Strategy;

/// Largest deviation of a number in the table of lines, a share.
const STALE: f64 = 0.05;

/// Folders that hold tests, or no code of the project.
const TEST_FOLDERS: [&str; 7] =
    ["tests", "benches", "examples", "loom", "snapshots", "target", "node_modules"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// `true` if a file or a folder of this name holds unit tests.
fn is_test(name: &str) -> bool {
    let ends = ["tests.rs", "_test.rs", "testing.rs", "test_support.rs"];
    TEST_FOLDERS.contains(&name)
        || name.starts_with('.')
        || ends.iter().any(|end| name.ends_with(end))
}

/// Lines of a file outside of inline test modules.
fn lines_of(source: &str) -> usize {
    let lines: Vec<&str> = source.lines().collect();
    let (mut count, mut at) = (0, 0);
    while at < lines.len() {
        let is_attribute = |line: &str| line.trim_start().starts_with("#[");
        let is_test = ["#[cfg(test)]", "#[cfg(all(test,"]
            .iter()
            .any(|condition| lines[at].trim_start().starts_with(condition));
        let item = (at..lines.len()).find(|at| !is_attribute(lines[*at])).unwrap_or(at);
        let is_module = |line: &str| line.contains("mod ") && line.ends_with(" {");
        if is_test && lines.get(item).is_some_and(|line| is_module(line)) {
            let end =
                format!("{}}}", &lines[item][..lines[item].len() - lines[item].trim_start().len()]);
            at = (item..lines.len()).find(|at| lines[*at] == end).unwrap() + 1;
        } else {
            count += 1;
            at += 1;
        }
    }
    count
}

/// Lines of all Rust files beneath a folder, without unit tests and without folders of `apart`.
fn lines(folder: &Path, apart: &[PathBuf]) -> usize {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let lines = entries.map(|entry| entry.unwrap().path()).map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        match path.extension() {
            _ if is_test(name) || apart.contains(&path) || path.is_symlink() => 0,
            _ if path.is_dir() => self::lines(&path, apart),
            Some(of) if of == "rs" => lines_of(&fs::read_to_string(&path).unwrap()),
            _ => 0,
        }
    });
    lines.sum()
}

/// The rows of the table in CONTRIBUTING.md with these headings.
fn table(headings: &str) -> Vec<Vec<String>> {
    let text = text("CONTRIBUTING.md");
    let (_, rest) = text.split_once(headings).unwrap_or_else(|| panic!("no table '{headings}'"));
    let rows = rest.lines().skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

/// The number of a cell with thousands separators.
fn number(cell: &str) -> usize {
    cell.replace(',', "").parse().unwrap_or_else(|error| panic!("'{cell}': {error}"))
}

#[test]
fn lines_of_test_modules_are_left_out_and_of_other_conditions_are_not() {
    let module = "mod of_it {\n    fn f() {}\n}\n";
    let lines =
        |attributes: &str| lines_of(&format!("fn a() {{}}\n{attributes}{module}fn b() {{}}\n"));
    assert_eq!(lines("#[cfg(test)]\n"), 2);
    assert_eq!(lines("#[cfg(test)]\n#[rustfmt::skip]\n"), 2);
    assert_eq!(lines("#[cfg(all(test, not(loom)))]\n"), 2);
    assert_eq!(lines(""), 5);
    assert_eq!(lines("#[cfg(loom)]\n"), 6);
}

#[test]
fn every_part_has_at_most_its_lines() {
    let rows = table("| part | before | now | at most |\n");
    let folders = |row: &[String]| -> Vec<PathBuf> {
        row[0].split(", ").map(|folder| root().join(folder.trim_matches('`'))).collect()
    };
    let all: Vec<PathBuf> = rows.iter().flat_map(|row| folders(row)).collect();
    let mut wrong = String::new();
    for row in &rows {
        let own = folders(row);
        let apart: Vec<PathBuf> =
            all.iter().filter(|folder| !own.contains(folder)).cloned().collect();
        let apart = [apart, own[1..].to_vec()].concat();
        let count: usize = own.iter().map(|folder| lines(folder, &apart)).sum();
        let (stated, most) = (number(&row[2]), number(&row[3]));
        if count > most {
            wrong += &format!("{}: {count} lines of {most}\n", row[0]);
        }
        if (count as f64 / stated as f64 - 1.0).abs() > STALE {
            wrong += &format!("{}: {count} lines, and CONTRIBUTING.md says {stated}\n", row[0]);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Names that the root of a crate makes public: items, and names of `pub use`.
fn public(source: &str) -> usize {
    let mut count = 0;
    let mut rest = source;
    while let Some((before, after)) = rest.split_once("pub ") {
        let is_item = before.is_empty() || before.ends_with('\n');
        rest = after;
        if !is_item {
            continue;
        }
        count += match after.strip_prefix("use ").and_then(|used| used.split(';').next()) {
            Some(used) => match used.split_once('{') {
                Some((_, names)) => names
                    .trim_end_matches('}')
                    .split(',')
                    .filter(|name| !name.trim().is_empty())
                    .count(),
                None => 1,
            },
            None => 1,
        };
    }
    count
}

/// Number of entries between `begin` and the next line that is `}`: lines that begin with four
/// spaces and a letter.
fn entries(source: &str, begin: &str) -> usize {
    let (_, body) = source.split_once(begin).unwrap_or_else(|| panic!("no '{begin}'"));
    let body = body.lines().skip(1).take_while(|line| *line != "}");
    let is_entry = |line: &&str| {
        let line = line.strip_prefix("    ");
        line.is_some_and(|line| line.starts_with(|of: char| of.is_ascii_alphabetic()))
    };
    body.filter(is_entry).count()
}

/// The commands of `cli/src/main.rs`, and those that experiments declare.
fn commands() -> BTreeSet<String> {
    let main = text("cli/src/main.rs");
    let (_, list) = main.split_once("\ncommands! {").unwrap();
    let list = list.lines().take_while(|line| *line != "}");
    let own = list.filter_map(|line| Some(line.trim().split_once("::")?.0.to_owned()));
    let declared = fs::read_dir(root().join("benches/experiments")).unwrap().map(|file| {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        let experiment: toml::Table = toml::from_str(&text).unwrap();
        experiment["command"].as_str().unwrap().to_owned()
    });
    own.chain(declared).collect()
}

#[test]
fn the_numbers_of_public_things_are_as_stated() {
    let counted = [
        ("strategies", Strategy::all().len()),
        ("public items of `touchstone-memory`", public(&text("executor/memory/src/lib.rs"))),
        ("public items of `touchstone-guest`", public(&text("executor/guest/src/lib.rs"))),
        ("public items of `touchstone-executor`", public(&text("executor/src/lib.rs"))),
        ("record kinds", entries(&text("record/src/line.rs"), "pub enum Line {")),
        ("commands of `touchstone`", commands().len()),
    ];
    let rows = table("| number of | before | now | at most |\n");
    assert_eq!(rows.len(), counted.len());
    let mut wrong = String::new();
    for (row, (name, count)) in rows.iter().zip(counted) {
        assert_eq!(row[0], name);
        if count != number(&row[2]) || count > number(&row[3]) {
            wrong +=
                &format!("{name}: {count}, and CONTRIBUTING.md says {} of {}\n", row[2], row[3]);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn lines_and_public_items_are_counted() {
    let source = "//! A.\n\nfn a() {}\n\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n    fn b() {\n    }\n}\nfn c() {}\n";
    assert_eq!(lines_of(source), 5);
    assert_eq!(lines_of("#[cfg(test)]\nmod tests;\n"), 2);
    let root = "mod a;\npub mod b;\npub use a::{A, B as C};\npub use c::D;\n    pub fn no() {}\npub fn e() {}\n";
    assert_eq!(public(root), 5);
    assert_eq!(
        entries(
            "pub enum A {\n    /// B.\n    B(\n        C),\n    D,\n}\n    E\n",
            "pub enum A {"
        ),
        2
    );
}
