//! The interactive page: one file that holds its style, its script and the timed cells of a
//! run, and that asks no network for anything.

mod data;

use crate::matrix::Matrix;
use crate::rank::Pick;
use crate::sections::machines::{self, Call};
use crate::units::{
    MARK, TWO_MODES, count, grouped, percent, ratio_with_interval, time_with_interval,
};
use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use data::Data;
use sha2::{Digest, Sha256};
use touchstone_record::escape::{html, in_script};
use touchstone_record::estimate::{CLEAN_SAMPLES, PROCESSES};

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
/// Fails when the cells cannot be written as JSON.
pub(super) fn page(matrix: &Matrix<'_>, picks: &[Pick<'_>]) -> Result<String> {
    let data = serde_json::to_string(&Data::of(matrix, picks))
        .context("cannot write the cells of the page")?;
    let parts = [
        ("policy", policy()),
        ("style", STYLE.to_owned()),
        ("script", SCRIPT.to_owned()),
        ("facts", facts(matrix)),
        ("headlines", headlines(matrix, picks)),
        ("machines", machines_table(matrix)),
        ("note", note(matrix)),
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

/// Picks that are shown at most.
const MOST: usize = 7;

/// Machine, date, commit and size of the run: terms and descriptions.
fn facts(matrix: &Matrix<'_>) -> String {
    let header = &matrix.book.header;
    let (machine, sampling) = (&header.machine, &header.sampling);
    let (cells, marked, share) = matrix.counts();
    let processes = match sampling.processes {
        1 => "1 process".to_owned(),
        several => format!("each of {several} processes"),
    };
    let samples = count(sampling.samples as u64, "sample");
    let rows = [
        ("Machine", format!("{}, {}", machine.cpu, count(machine.cores, "processor"))),
        ("System", format!("{}, Linux {}", machine.os, machine.kernel)),
        ("Started", header.started_at.clone()),
        ("Commit", header.tools.commit.clone()),
        ("Compiler", header.tools.rustc.clone()),
        ("Cells with a time", grouped(cells as u64)),
        ("Marked †", format!("{} ({})", grouped(marked as u64), percent(share))),
        ("Sampling", format!("{}: {samples} in {processes}", sampling.name)),
    ];
    let rows = rows.iter();
    rows.map(|(name, own)| format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", html(own))).collect()
}

/// The table of the picks, around its rows.
const HEADLINES: &str = include_str!("headlines.html");

/// A row for each of the first picks, whose executor links to the view with it as baseline;
/// nothing without a pick.
fn headlines(matrix: &Matrix<'_>, all: &[Pick<'_>]) -> String {
    let mut text = String::new();
    for Pick { need, executor, time, .. } in all.iter().take(MOST) {
        let threads = matrix.threads(&need.call).first().copied().unwrap_or(1);
        let (case, guest, name) = (&need.call.case, &need.call.guest, executor.to_string());
        let view = format!("#case={case}&guest={guest}&threads={threads}&base={name}");
        text += &format!(
            "<tr><th scope=\"row\">{}<div class=\"note\">{} on {}</div></th>\
             <td><a href=\"{}\">{}</a></td><td class=\"number\">{}</td></tr>\n",
            html(&need.need),
            breakable(case),
            breakable(guest),
            html(&view),
            breakable(&name),
            html(&time_with_interval(time)).replace(" – ", "&nbsp;–&nbsp;"),
        );
    }
    if text.is_empty() {
        return text;
    }
    HEADLINES.replace("{{rows}}", &text)
}

/// A name that may be broken at each underscore.
fn breakable(name: &str) -> String {
    html(name).replace('_', "_<wbr>")
}

/// The meaning of †, and a warning if the sampling was short.
fn note(matrix: &Matrix<'_>) -> String {
    let sampling = &matrix.book.header.sampling.name;
    let sketch = match sampling.as_str() {
        "full" => String::new(),
        other => format!(
            " <strong>Caution</strong>: this run was sampled with {} instead of full. Its numbers \
             are a sketch.",
            html(other)
        ),
    };
    format!(
        "{MARK} marks a value with interference: fewer than {PROCESSES} processes gave \
         {CLEAN_SAMPLES} clean samples each, and the value may read up to 2 × slow. {TWO_MODES} marks a cell whose processes fall \
         into two groups more than 1.5 times apart.{sketch}"
    )
}

/// The headline ratios of several machines, a column for each; nothing where there are none.
fn machines_table(matrix: &Matrix<'_>) -> String {
    let machines = &matrix.records.machines;
    if machines.is_empty() {
        return String::new();
    }
    let heads = machines.iter().map(|machine| {
        let (header, own) = (&machine.header, &machine.header.machine);
        let about = format!(
            "{}, Linux {}, {}, {}",
            count(own.cores, "processor"),
            own.kernel,
            header.date(),
            machine.state()
        );
        let (cpu, about) = (html(&own.cpu), html(&about));
        format!("<th scope=\"col\" class=\"number\">{cpu}<div class=\"note\">{about}</div></th>")
    });
    let heads: String = heads.collect();
    let row = |call: &Call| {
        let cells = machines.iter().map(|machine| {
            let ratio = machine.ratio(call).as_ref().map(ratio_with_interval);
            format!("<td class=\"number\">{}</td>", html(ratio.as_deref().unwrap_or("–")))
        });
        let Call { subject, baseline, case, .. } = call;
        let call = format!("{case}, {}", count(subject.threads, "thread"));
        format!(
            "<tr><th scope=\"row\">{} / {}<div class=\"note\">{}</div></th>{}</tr>\n",
            breakable(&baseline.to_string()),
            breakable(&subject.to_string()),
            html(&call),
            cells.collect::<String>()
        )
    };
    let rows: String = machines::calls(machines).into_iter().map(row).collect();
    format!(
        "<section aria-labelledby=\"machines\">\n<h2 id=\"machines\">Machines</h2>\n<p>The ratios of \
         the headlines on several machines: how many times slower the first executor is than the \
         second, timed in turns on one machine. A ratio never spans two machines.</p>\n<div class=\"scroll\" role=\"region\" \
         aria-label=\"Ratios of machines\" tabindex=\"0\">\n<table aria-label=\"Ratios of machines\">\n\
         <thead><tr><th scope=\"col\">Executors, call</th>{heads}</tr></thead>\n<tbody>\n{rows}\
         </tbody>\n</table>\n</div>\n</section>\n"
    )
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
