//! Comments of Rust files: openings, width and avoided words.

use std::path::{Path, PathBuf};

use crate::rules::{Broken, phrases};

/// Widest line of a comment, in columns. Rows of tables may be wider.
const COLUMNS: usize = 100;

/// First words that a doc comment does not begin with.
const OPENINGS: [&str; 2] = ["What", "Whether"];

/// All Rust files beneath `folder`, without build folders, hidden and generated files.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with('.') || name == "target" || entry.file_type().unwrap().is_symlink() {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            sources(&entry.path(), found);
        } else if name.ends_with(".rs") && !name.ends_with("generated.rs") {
            found.push(entry.path());
        }
    }
}

/// Consecutive lines of one kind of comment.
#[derive(Default)]
struct Block<'a> {
    /// Number of the first line, from 1.
    line: usize,
    /// `//`, `///` or `//!`.
    marker: &'a str,
    lines: Vec<&'a str>,
}

impl Block<'_> {
    /// Broken rules, each with its line.
    fn findings(&self) -> Vec<(usize, Broken)> {
        let text = self.lines.join(" ");
        let prose: Vec<&str> = text.split('`').step_by(2).collect();
        let mut found: Vec<(usize, Broken)> =
            phrases(&prose.join("``")).into_iter().map(|broken| (self.line, broken)).collect();
        let first = text.split(|of: char| !of.is_alphanumeric()).next().unwrap_or_default();
        if self.marker != "//" && OPENINGS.contains(&first) {
            let rule = format!("a doc comment does not begin with \"{first}\"");
            let instead = "a noun, a verb, or \"`true` if …\"".into();
            found.push((self.line, Broken { rule, instead }));
        }
        found
    }
}

/// The marker and the text of a line that holds only a comment.
fn comment(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let rest = line.strip_prefix("//")?;
    let length = 2 + usize::from(rest.starts_with(['/', '!']));
    Some((&line[..length], line[length..].trim()))
}

/// Broken rules of the comments in a file, each with its line.
fn check(source: &str) -> Vec<(usize, Broken)> {
    let mut found = Vec::new();
    let mut block = Block::default();
    for (line, text) in (1..).zip(source.lines()) {
        let (marker, words) = comment(text).unwrap_or_default();
        let columns = text.chars().count();
        if !marker.is_empty() && !words.starts_with('|') && columns > COLUMNS {
            let rule = format!("a comment has at most {COLUMNS} columns; this line has {columns}");
            found.push((line, Broken { rule, instead: "two lines".into() }));
        }
        if block.marker != marker {
            found.extend(block.findings());
            block = Block { line, marker, lines: Vec::new() };
        }
        block.lines.push(words);
    }
    found.extend(block.findings());
    found
}

#[test]
fn comments_keep_the_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut report = String::new();
    let mut files = Vec::new();
    sources(root, &mut files);
    assert!(files.len() > 700, "{}", files.len());
    for path in files {
        let source = std::fs::read_to_string(&path).unwrap();
        for (line, Broken { rule, instead }) in check(&source) {
            report += &format!("{}:{line}: {rule}; write: {instead}\n", path.display());
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

/// The lines of `source` that break a rule, with the rules.
fn broken(source: &str) -> Vec<(usize, String)> {
    check(source).into_iter().map(|(line, broken)| (line, broken.rule)).collect()
}

#[test]
fn a_good_comment_passes() {
    let long = format!("let a = \"{}\";", "x".repeat(COLUMNS));
    for source in [
        "//! Pages.\n\n/// The pages that `What` wrote.\n// What follows is cheap.\nfn of() {}",
        "/// A `quiet` NaN.\n/// ```\n/// quiet\n/// ```\nlet quiet = 1; // quiet",
        "/// Whatever comes.\n///\n/// What follows.",
        &format!("/// | {} |", "x".repeat(COLUMNS)),
        &long,
    ] {
        assert!(broken(source).is_empty(), "{source}: {:?}", broken(source));
    }
}

#[test]
fn openings_widths_and_words_of_comments_are_found() {
    let opening = |word| format!("a doc comment does not begin with \"{word}\"");
    assert_eq!(broken("//! What it is."), [(1, opening("What"))]);
    assert_eq!(broken("fn of() {}\n    /// Whether it is."), [(2, opening("Whether"))]);
    assert_eq!(broken("// One.\n/// What's in it."), [(2, opening("What"))]);
    let wide = format!("// {}", "x".repeat(COLUMNS));
    let rule = "a comment has at most 100 columns; this line has 103";
    assert_eq!(broken(&wide), [(1, rule.into())]);
    assert_eq!(broken("// Not\n// at\n// hand."), [(1, "avoid \"at hand\"".into())]);
}
