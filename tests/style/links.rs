//! Links between documents, and the paths that ARCHITECTURE.md and CONTRIBUTING.md name, exist.

use std::collections::BTreeSet;
use std::path::Path;

use crate::DOCUMENTS;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

/// First parts of paths; other code with a slash is a name of a cell or a placeholder.
const ROOTS: [&str; 13] = [
    "benches",
    "checks",
    "cli",
    "executor",
    "fuzz",
    "fuzz-targets",
    "record",
    "report",
    "runtimes",
    "src",
    "systems",
    "test-runtime",
    "tests",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Anchors of the headings of a document, as GitHub makes them.
fn anchors(document: &str) -> BTreeSet<String> {
    let (mut anchors, mut heading) = (BTreeSet::new(), None::<String>);
    for event in Parser::new(document) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let text = heading.take().unwrap_or_default().to_lowercase();
                let kept = |of: &char| of.is_alphanumeric() || matches!(of, ' ' | '-' | '_');
                anchors.insert(text.chars().filter(kept).collect::<String>().replace(' ', "-"));
            }
            Event::Text(text) | Event::Code(text) => {
                heading.iter_mut().for_each(|heading| heading.push_str(&text));
            }
            _ => {}
        }
    }
    anchors
}

/// Links of a document to other files and headings.
fn links(document: &str) -> Vec<String> {
    let links = Parser::new(document).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. }) => Some(dest_url.to_string()),
        _ => None,
    });
    links.filter(|link| !link.contains("://")).collect()
}

/// The paths of a document: code spans that begin with a folder of the project. Parts in capital
/// letters or angle brackets, and patterns, are placeholders.
fn paths(document: &str) -> Vec<String> {
    let spans = Parser::new(document).filter_map(|event| match event {
        Event::Code(text) => Some(text.to_string()),
        _ => None,
    });
    let is_path = |span: &String| {
        let first = span.split('/').next().unwrap_or_default();
        span.contains('/')
            && ROOTS.contains(&first)
            && !span.contains(['<', '*', '{', ' ', '…', ':'])
    };
    let has_placeholder = |span: &String| {
        span.split(['/', '.'])
            .any(|part| part.len() > 1 && part.chars().all(|of| of.is_ascii_uppercase()))
    };
    spans.filter(is_path).filter(|span| !has_placeholder(span)).collect()
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut report = String::new();
    for name in DOCUMENTS {
        let text = std::fs::read_to_string(root().join(name)).unwrap();
        for link in links(&text) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let place = match file {
                "" => root().join(name),
                _ => root().join(name).with_file_name("").join(file),
            };
            if !place.exists() {
                report += &format!("{name}: there is no {file}\n");
            } else if !anchor.is_empty() {
                let target = std::fs::read_to_string(place).unwrap();
                if !anchors(&target).contains(anchor) {
                    report += &format!("{name}: {file} has no heading '{anchor}'\n");
                }
            }
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

#[test]
fn named_paths_exist() {
    let mut report = String::new();
    for name in ["ARCHITECTURE.md", "CONTRIBUTING.md", "METHODOLOGY.md", "SECURITY.md"] {
        let text = std::fs::read_to_string(root().join(name)).unwrap();
        let gone = paths(&text).into_iter().filter(|path| !root().join(path).exists());
        report.extend(gone.map(|path| format!("{name}: there is no {path}\n")));
    }
    assert!(report.is_empty(), "\n{report}");
}

#[test]
fn anchors_and_paths_are_recognised() {
    let document = "# A\n\n## Substrate's executors, `2022`\n\n[a](B.md#c) [b](https://a.b) \
                    `src/run/` `src/NAME.rs` `runtimes/<name>/` `a/b` `src/*.rs`\n";
    assert!(anchors(document).contains("substrates-executors-2022"));
    assert_eq!(links(document), ["B.md#c"]);
    assert_eq!(paths(document), ["src/run/"]);
}
