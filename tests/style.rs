//! The documents, the texts of `benches/` and the comments keep the rules of CONTRIBUTING.md
//! ("Writing style"): no avoided words, no long sentences, no floating openings, no sentences as
//! headings.

#[path = "style/comments.rs"]
mod comments;
#[path = "style/links.rs"]
mod links;
#[path = "style/markdown.rs"]
mod markdown;
#[path = "style/rules.rs"]
mod rules;
#[path = "style/times.rs"]
mod times;

use std::path::Path;

use markdown::{Place, sentences};
use rules::{Finding, avoided, check};

/// The checked documents.
pub(crate) const DOCUMENTS: [&str; 11] = [
    "README.md",
    "METHODOLOGY.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "BENCHMARK.md",
    "docs/commands.md",
    "docs/related-work.md",
    "docs/substrate.md",
    "docs/wasmtime-14313.md",
];

#[test]
fn the_documents_keep_the_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut report = String::new();
    for name in DOCUMENTS {
        let text = std::fs::read_to_string(root.join(name)).unwrap();
        report.extend(check(&text).iter().map(|finding| format!("{name}:{finding}\n")));
    }
    assert!(report.is_empty(), "\n{report}");
}

/// Commands and options have a page of their own.
#[test]
fn the_readme_is_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let words = std::fs::read_to_string(root.join("README.md")).unwrap();
    let words = words.split_whitespace().count();
    assert!(words <= 1200, "README.md has {words} words, at most 1200 are allowed");
}

/// Headings, paragraphs and items of the detailed pages. Tables, folded lists and lists of ratios
/// are left out: their texts are names, settings and messages of engines.
#[test]
fn the_detailed_pages_keep_the_rules() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benchmark");
    let mut report = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|of| of != "md") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let findings = check(&without_data(&text));
        let path = path.display();
        report.extend(findings.iter().map(|finding| format!("{path}:{finding}\n")));
    }
    assert!(report.is_empty(), "\n{report}");
}

/// A page with empty lines for those of tables, of lists of ratios and of what is folded.
fn without_data(page: &str) -> String {
    let mut is_folded = false;
    let mut text = String::new();
    for line in page.lines() {
        is_folded |= line.starts_with("<details>");
        let is_ratios = line.starts_with("* `") && line.contains(" → ");
        if !is_folded && !is_ratios && !line.starts_with('|') {
            text.push_str(line);
        }
        text.push('\n');
        is_folded &= !line.starts_with("</details>");
    }
    text
}

#[test]
fn tables_and_folded_lists_are_data() {
    let page = "One.\n\n| quiet |\n| --- |\n\n<details>\nquiet\n</details>\n\nTwo.\n";
    assert_eq!(without_data(page), "One.\n\n\n\n\n\n\n\n\nTwo.\n");
}

/// The page and `touchstone cases` print these texts.
#[test]
fn the_texts_of_benches_keep_the_rules() {
    fn check_all(value: &toml::Value, key: &str, findings: &mut Vec<Finding>) {
        match value {
            toml::Value::Table(table) => {
                table.iter().for_each(|(key, value)| check_all(value, key, findings));
            }
            toml::Value::Array(values) => {
                values.iter().for_each(|value| check_all(value, key, findings));
            }
            toml::Value::String(text) if key == "title" => {
                findings.extend(check(&format!("# {text}")));
            }
            toml::Value::String(text) if ["analysis", "reason", "text"].contains(&key) => {
                findings.extend(check(text));
            }
            _ => {}
        }
    }
    let benches = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches");
    let mut report = String::new();
    for folder in [benches.clone(), benches.join("cases"), benches.join("tables")] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|of| of != "toml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let mut findings = Vec::new();
            check_all(&toml::from_str(&text).unwrap(), "", &mut findings);
            let path = path.display();
            report.extend(findings.iter().map(|finding| format!("{path}, text line {finding}\n")));
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

/// The rules that `document` breaks, each with its line.
fn broken(document: &str) -> Vec<(usize, String)> {
    check(document).into_iter().map(|finding| (finding.line, finding.rule)).collect()
}

fn words(count: usize) -> String {
    format!("{}.", vec!["word"; count].join(" "))
}

#[test]
fn a_good_text_passes() {
    let text = "# Data flow\n\n\
        23 cells (0.56 %) are marked †. They may read up to 2 × slow.\n\n\
        * `What is this` runs the benchmark; any fallback is listed.\n\
        * What does it cost?\n\n\
        | value | meaning |\n|---|---|\n| `quiet` | the number of rounds |\n\n\
        ```sh\nquiet twin # It is what it is\n```\n\n\
        ## Add a runtime\n\nThat's quoted here only: see above.\n";
    assert_eq!(broken(text), [(18, r#"a sentence does not begin with "That's""#.into())]);
    assert!(broken(text.split("\nThat's").next().unwrap()).is_empty());
}

#[test]
fn every_avoided_word_is_found_in_any_case_and_across_lines() {
    for avoided in avoided() {
        for text in [format!("Some {avoided} text."), avoided.to_uppercase()] {
            assert!(!check(&text).is_empty(), "'{text}' passes");
            assert!(!check(&text.replace(' ', "\n")).is_empty(), "'{text}' on lines passes");
        }
        assert!(check(&format!("Some `{avoided}` text.")).is_empty(), "`{avoided}` is found");
        assert!(check(&format!("Some x{avoided}x text.")).is_empty(), "x{avoided}x is found");
    }
}

#[test]
fn a_finding_says_what_to_write_instead() {
    let findings = check("Good text.\n\nMade with\n*much* patience.\n");
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!(
        finding.to_string(),
        "3: Made with much patience.\n    rule: avoid \"patience\"\n    write: retry budget"
    );
}

#[test]
fn long_sentences_are_found() {
    assert!(broken(&words(30)).is_empty());
    let rule = "a sentence has at most 30 words; this one has 31".to_owned();
    assert_eq!(broken(&format!("Good.\n\n{}", words(31))), [(3, rule.clone())]);
    assert_eq!(broken(&format!("* good\n* {}", words(31))), [(2, rule.clone())]);
    assert_eq!(broken(&format!("| a | b |\n|---|---|\n| c | {} |", words(31))), [(3, rule)]);
}

#[test]
fn code_spans_cells_and_items_do_not_lengthen_a_sentence() {
    let code = format!("One `{}` two.", words(40));
    assert_eq!(sentences(&code)[0].words(), 3);
    assert!(broken(&format!("* {}\n* {}", words(20), words(20))).is_empty());
    assert!(broken(&format!("| {} | {} |\n|---|---|\n", words(20), words(20))).is_empty());
    assert!(broken(&format!("| {}<br>{} |\n|---|\n", words(20), words(20))).is_empty());
    assert!(broken(&format!("```\n{}\n```", words(40))).is_empty());
    assert!(broken(&format!("![{}](image.svg)", words(40))).is_empty());
    assert!(broken(&format!("<p>\n{}\n</p>", words(40))).is_empty());
}

#[test]
fn sentences_end_where_a_reader_ends_them() {
    let text = "One (see e.g. `a.b c`). Two in v1.5 of it! \"Three?\" *Four.* Five\n\nSix";
    let found: Vec<String> = sentences(text).iter().map(|of| of.shown()).collect();
    let expected =
        ["One (see e.g. `a.b c`).", "Two in v1.5 of it!", "\"Three?\"", "Four.", "Five", "Six"];
    assert_eq!(found, expected);
}

#[test]
fn floating_openings_are_found() {
    for opening in ["It is", "It was", "That", "What", "Whoever", "This is why", "Here is what"] {
        let rule = format!(r#"a sentence does not begin with "{opening}""#);
        assert_eq!(broken(&format!("Good. {opening} matters here.")), [(1, rule)]);
    }
    assert!(broken("Thatcher wrote it. Its size is fixed. There is no fallback.").is_empty());
}

#[test]
fn headings_that_are_sentences_are_found() {
    for heading in ["What one call is", "The codec costs time", "How to read", "Results."] {
        let document = format!("Text.\n\n## {heading}\n\nText.\n");
        assert_eq!(sentences(&document)[1].place, Place::Heading);
        assert_eq!(broken(&document).len(), 1, "{heading}");
    }
    assert!(broken("## `what` and `is`\n\n### Memory 2.0: pools\n").is_empty());
}
