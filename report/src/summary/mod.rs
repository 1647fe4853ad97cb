//! The short page: what a reader needs within ten minutes. Which engines, calls and needs it
//! names stands in a data file; every number comes from the records.

mod engines;
mod ladder;
mod needs;
pub(crate) mod terminal;
mod verdict;

use crate::markdown::{Table, code, markdown};
use crate::matrix::{Executor, Matrix};
use crate::pages::Part;
use crate::sections::checks::Checked;
use crate::sections::{environment, tables};
use crate::units::{brief, count, grouped, joined};
use crate::{Content, charts, gate, origin};
use std::collections::BTreeSet;
use touchstone_record::{Check, Estimate, Outcome};

pub(super) fn text(content: &Content<'_>) -> String {
    let parts = [
        verdict::section(content),
        gate::draft(content.gate),
        needs::section(content),
        engines::section(content),
        charts::section(content.charts, &content.images),
        ladder::section(content),
        ladder::threads(content),
        engines::work(content),
        checks(content),
        tables::documents(content),
        limits(content),
        index(content),
        environment::failures(content.matrix.book),
        gate::broken_rules(content.gate),
    ];
    parts.concat()
}

/// Findings of a page that shows them alone.
const ALONE: usize = 3;

pub(super) fn findings(content: &Content<'_>) -> String {
    verdict::findings(content, ALONE) + "\n"
}

/// Limits of the numbers, and numbers that break a rule.
fn limits(content: &Content<'_>) -> String {
    let mut text = String::from("## Limits and known anomalies\n\n");
    for limit in &content.pages.limits {
        text += &format!("- {}\n", limit.trim().replace('\n', " "));
    }
    for other in origin::other_builds(content.matrix.records) {
        text += &format!("- {other}.\n");
    }
    text + "\n" + &gate::anomalies(content.gate)
}

fn named((executor, time): (&Executor, Estimate)) -> String {
    format!("{} {}", brief(&time), code(executor.strategy))
}

/// How many assertions of the specification's scripts an engine failed, of how many; `None`
/// where they were not run.
fn failed_assertions(matrix: &Matrix<'_>, engine: &str) -> Option<String> {
    let checked = matrix.records.checks.get(Check::Conformance)?;
    let number = |outcome| checked.count(outcome, |finding| finding.engine == engine);
    let failed = number(Outcome::Failed);
    let all = number(Outcome::Held) + failed;
    (all > 0).then(|| format!("{} of {}", grouped(failed), grouped(all)))
}

/// The environment in short, how to reproduce the page, and the detailed pages.
fn index(content: &Content<'_>) -> String {
    let header = &content.matrix.book.header;
    let versions: BTreeSet<&str> = header.engines.values().map(|facts| &*facts.version).collect();
    let mut table = Table::of_words("Page", ["It answers"]);
    for page in &content.pages.pages {
        table.row(content.link_named(&page.file, &page.title), [markdown(&page.answers)]);
    }
    let (measures, more) = match content.pages.are_undivided() {
        true => ("touchstone bench", " For a folder of cases, both take `--cases DIR`."),
        false => ("make bench", ""),
    };
    format!(
        "## Environment, reproduction and detailed pages\n\n{}, {}, {} KiB of memory. Versions: {}. \
         Every guest is the same bytes for every engine.\n\n`{measures}` measures; `touchstone \
         report` generates this page, the detailed pages and the charts from `records/` alone. The \
         same records give the same bytes on any machine.{more}\n\n[All cells]({}index.html): open it \
         in a browser to sort, filter and compare them.\n\n{}",
        markdown(&header.machine.os),
        markdown(&header.tools.rustc),
        header.machine.memory_kib,
        joined(versions.into_iter().map(markdown), "; "),
        content.folder,
        table.finish()
    )
}

/// Names of exceptions that are printed; the others are counted.
const MOST: usize = 6;

/// Correctness and isolation: totals and exceptions.
fn checks(content: &Content<'_>) -> String {
    let checks = &content.matrix.records.checks;
    let all = [
        (Check::Conformance, "Conformance: assertions of the specification's scripts"),
        (Check::Isolation, "Isolation: can a call see state of the call before it?"),
        (Check::Hostile, "Hostile guests: attacks on the host"),
        (Check::Survival, "Survival: runs that are killed or run out of disk"),
    ];
    let mut table = Table::of_words("Check", ["Held", "Failed", "Exceptions", "Commit", "Details"]);
    for (check, what) in all {
        let Some(checked) = checks.get(check) else { continue };
        let number = |outcome| grouped(checked.count(outcome, |_| true));
        let link = content.link_to_part(&Part::Check(check));
        let [held, failed] = [Outcome::Held, Outcome::Failed].map(number);
        let commit = code(&checked.header.tools.commit);
        table.row(what, [held, failed, exceptions(&checked), commit, link]);
    }
    let heading = "## Correctness and isolation\n\n";
    let table = table.finish();
    if table.is_empty() && content.pages.are_undivided() {
        return table;
    }
    if table.is_empty() {
        return format!("{heading}There are no records of checks; `make checks` makes them.\n\n");
    }
    format!(
        "{heading}Every cell's output is compared with the expected one before it is timed. Beyond \
         that, `make checks` looks for wrong and leaking executors.\n\n{table}"
    )
}

/// Where something failed, engine by engine.
fn exceptions(checked: &Checked<'_>) -> String {
    let engines = checked.engines().into_iter().filter_map(|engine| {
        let failed = checked.count(Outcome::Failed, |finding| finding.engine == engine);
        (failed > 0).then(|| format!("{} {}", code(engine), grouped(failed)))
    });
    let mut parts: Vec<String> = engines.collect();
    let held_by_ending = checked.count(Outcome::HeldByEnding, |_| true);
    if held_by_ending > 0 {
        let of = checked.findings.iter().filter(|f| f.number(Outcome::HeldByEnding) > 0);
        let names: BTreeSet<&str> = of.map(|finding| finding.name.as_str()).collect();
        let shown = joined(names.iter().take(MOST).map(code), ", ");
        let attacks = count(held_by_ending, "attack");
        let more = match names.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        parts.push(format!("{attacks} held by ending the process: {shown}{more}"));
    }
    if parts.is_empty() { "none".to_owned() } else { parts.join("; ") }
}
