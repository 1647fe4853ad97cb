//! Properties that outputs of hostile records share with those of harmless ones.

use pulldown_cmark::{Event, Options, Parser, Tag};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use touchstone_executor::guest::text::is_hostile;

/// The output of the command for a record file, checked to be JSON where required.
pub(super) fn printed(records: &Path) -> BTreeMap<String, String> {
    let path = records.to_str().unwrap();
    let own = ["--records", path];
    let mut printed = BTreeMap::new();
    for (name, arguments) in [
        ("show", [&["show"], &own[..]].concat()),
        ("show --json", [&["show", "--json", "--samples"], &own[..]].concat()),
        ("compare", vec!["compare", path, path]),
        ("compare --json", vec!["compare", path, path, "--json"]),
    ] {
        let output =
            assert_cmd::Command::new(env!("CARGO_BIN_EXE_touchstone")).args(arguments).output();
        let output = output.unwrap();
        let [out, error] =
            [output.stdout, output.stderr].map(|own| String::from_utf8(own).unwrap());
        if name.ends_with("--json") {
            let line = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
            out.lines().map(line).for_each(|value| assert_harmless(name, &all_texts(&value)));
        }
        printed.insert(name.to_owned(), out);
        printed.insert(format!("{name}, errors"), error);
    }
    printed
}

/// The names and texts of a value, a line each.
fn all_texts(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(all) => all.iter().map(all_texts).collect(),
        Value::Object(all) => {
            all.iter().map(|(name, value)| format!("{name}\n{}", all_texts(value))).collect()
        }
        _ => String::new(),
    }
}

/// There are no characters that control a terminal or are not seen.
#[track_caller]
pub(super) fn assert_harmless(name: &str, text: &str) {
    let at = text.find(|c: char| is_hostile(c) && c != '\n');
    assert_eq!(at.map(|at| text[at..].chars().take(40).collect::<String>()), None, "{name}");
}

/// Both have the same files, and each file the same structure.
#[track_caller]
pub(super) fn assert_alike(
    harmless: &BTreeMap<String, String>,
    hostile: &BTreeMap<String, String>,
    payload: &str,
) {
    let files = |of: &BTreeMap<String, String>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(files(harmless), files(hostile), "{payload:?}");
    for (name, text) in hostile {
        let (what, known) = (format!("{name} with {payload:?}"), &harmless[name]);
        assert_harmless(&what, text);
        match name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("md") => assert_markdown(&what, known, text),
            Some("svg" | "html") => assert_elements(&what, known, text),
            _ => assert_eq!(known.lines().count(), text.lines().count(), "{what}:\n{text}"),
        }
    }
}

/// Paragraphs, lists, tables and emphasis are as many, and links, images and elements of HTML are
/// those of the harmless document.
#[track_caller]
fn assert_markdown(what: &str, known: &str, text: &str) {
    let (known, found) = (Document::of(known), Document::of(text));
    assert_eq!(known.tags, found.tags, "{what}:\n{text}");
    assert_eq!(known.links, found.links, "{what}");
    let more: Vec<_> = found.elements.difference(&known.elements).collect();
    let own = ["span", "/span", "code", "/code"];
    assert!(more.iter().all(|tag| own.contains(&tag.as_str())), "{what}: {more:?}");
    // GitHub makes links of these without further signs.
    for address in ["://evil", "www.evil", "@evil"] {
        let lines = found.source.lines().filter(|line| line.contains(address));
        assert_eq!(lines.collect::<Vec<_>>(), [""; 0], "{what}");
    }
}

#[derive(Default)]
struct Document {
    tags: BTreeMap<String, usize>,
    links: BTreeSet<String>,
    elements: BTreeSet<String>,
    /// The source without code spans and blocks of HTML, of which nobody makes links.
    source: String,
}

impl Document {
    fn of(text: &str) -> Self {
        let mut document = Self { source: text.to_owned(), ..Self::default() };
        let mut html = String::new();
        for (event, range) in Parser::new_ext(text, Options::all()).into_offset_iter() {
            match event {
                Event::Start(tag) => {
                    if let Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } = &tag {
                        document.links.insert(dest_url.to_string());
                    }
                    let tag = format!("{tag:?}");
                    let kind = tag.split([' ', '(', '{']).next().unwrap_or_default();
                    // Blocks of HTML are told apart by their elements.
                    *document.tags.entry(kind.to_owned()).or_default() += 1;
                }
                Event::InlineHtml(own) => html += &own,
                Event::Html(_) | Event::Code(_) => {
                    if matches!(event, Event::Html(_)) {
                        html += &text[range.clone()];
                    }
                    let blank = " ".repeat(range.len());
                    document.source.replace_range(range, &blank);
                }
                Event::InlineMath(_) | Event::DisplayMath(_) | Event::FootnoteReference(_) => {
                    *document.tags.entry("other".to_owned()).or_default() += 1;
                }
                _ => {}
            }
        }
        document.elements = elements(&html);
        document
    }
}

/// The elements with the names of their attributes are those of the harmless document.
#[track_caller]
fn assert_elements(what: &str, known: &str, text: &str) {
    let (known_data, data) = (split(known), split(text));
    let (known, found) = (elements(&known_data.0), elements(&data.0));
    let more: Vec<_> = found.difference(&known).filter(|tag| *tag != "wbr").collect();
    assert!(more.is_empty(), "{what}: {more:?}");
    assert_eq!(known_data.1.len(), data.1.len(), "{what}");
    for (script, island) in known_data.1.iter().zip(&data.1) {
        // A script is the same, and data are still JSON.
        let is_json = |text: &str| serde_json::from_str::<serde_json::Value>(text).is_ok();
        assert!(script == island || (is_json(script) && is_json(island)), "{what}");
    }
}

/// A document without its scripts and styles, and their contents.
fn split(html: &str) -> (String, Vec<String>) {
    let (mut rest, mut outside, mut inside) = (html, String::new(), Vec::new());
    while let Some(at) = rest.find("<script").or_else(|| rest.find("<style")) {
        let (before, from) = rest.split_at(at);
        let (tag, content) = from.split_once('>').unwrap();
        let end = content.find(if tag.starts_with("<script") { "</script" } else { "</style" });
        outside += before;
        inside.push(content[..end.unwrap()].to_owned());
        rest = &content[end.unwrap()..];
    }
    (outside + rest, inside)
}

/// The elements of HTML or SVG, each with the names of its attributes; `src`, `srcset` and `href`
/// with their values up to the first sign that is none of a path.
fn elements(html: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let mut quote = None;
        let end = rest.find(|c: char| match quote {
            Some(open) => {
                quote = Some(open).filter(|open| *open != c);
                false
            }
            None => {
                quote = Some(c).filter(|c| matches!(c, '"' | '\''));
                c == '>'
            }
        });
        let Some(end) = end else { panic!("an element without end: {rest:.80}") };
        let mut tag = String::new();
        for (place, part) in rest[..end].split('"').enumerate() {
            let is_value = place % 2 == 1;
            if !is_value {
                tag += part;
            } else if [" src=", " srcset=", " href="].iter().any(|name| tag.ends_with(name)) {
                let path = |c: char| !(c.is_ascii_alphanumeric() || "./_-".contains(c));
                tag += part.split(path).next().unwrap_or_default();
            }
        }
        found.insert(tag);
        rest = &rest[end + 1..];
    }
    found
}
