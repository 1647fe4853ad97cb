//! The interactive page: one file that holds its style, its script and the timed cells of a
//! run, and that asks no network for anything.

mod data;
mod overview;

use super::matrix::Matrix;
use super::rank::Pick;
use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use data::Data;
use sha2::{Digest, Sha256};
use touchstone_record::escape::in_script;

/// The name of the file in the folder of the detailed pages.
pub(super) const FILE: &str = "index.html";

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
/// One classic script: what the table is, a second record file, and what a user does.
const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("script.js"),
    include_str!("second.js"),
    include_str!("events.js"),
    "})();\n"
);

/// The page of a run.
///
/// # Errors
///
/// When the cells cannot be written as JSON.
pub(super) fn page(matrix: &Matrix<'_>, picks: &[Pick<'_>]) -> Result<String> {
    let data = serde_json::to_string(&Data::of(matrix, picks))
        .context("cannot write the cells of the page")?;
    let parts = [
        ("policy", policy()),
        ("style", STYLE.to_owned()),
        ("script", SCRIPT.to_owned()),
        ("facts", overview::facts(matrix)),
        ("headlines", overview::headlines(matrix, picks)),
        ("machines", overview::machines(matrix)),
        ("note", overview::note(matrix)),
        ("data", in_script(&data)),
    ];
    Ok(fill(PAGE, &parts))
}

/// The content security policy: this script and this style alone, and no connections.
fn policy() -> String {
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; \
         form-action 'none'",
        source(SCRIPT),
        source(STYLE)
    )
}

fn source(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

/// A template with its places `{{name}}` filled in. What is filled in may hold anything,
/// further places included.
fn fill(template: &str, parts: &[(&str, String)]) -> String {
    let mut pieces = template.split("{{");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").unwrap_or((piece, ""));
        let part = parts.iter().find(|(own, _)| *own == name);
        text.push_str(part.map_or("", |(_, part)| part));
        text.push_str(rest);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_filled_once() {
        let parts = [("a", "{{b}}".to_owned()), ("b", "<x>".to_owned())];
        assert_eq!(fill("1{{a}}2{{b}}3{{c}}4", &parts), "1{{b}}2<x>34");
    }

    #[test]
    fn every_place_of_the_page_has_a_part() {
        let names = ["policy", "style", "script", "facts", "headlines", "machines", "note", "data"];
        let places: Vec<&str> =
            PAGE.split("{{").skip(1).map(|p| &p[..p.find("}}").unwrap()]).collect();
        assert!(places.iter().all(|place| names.contains(place)), "{places:?}");
        assert!(names.iter().all(|name| places.contains(name)), "{places:?}");
    }

    #[test]
    fn script_and_style_do_not_end_their_elements() {
        assert!(!SCRIPT.contains("</script") && !STYLE.contains("</style"));
    }

    #[test]
    fn the_script_is_small() {
        assert!(SCRIPT.len() <= 30_000, "{} bytes", SCRIPT.len());
    }

    #[test]
    fn a_source_is_the_digest_of_the_text() {
        // The value that the specification of content security policies gives.
        let digest = "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='";
        assert_eq!(source("alert('Hello, world.');"), digest);
    }
}
