//! The short page: what a reader needs within ten minutes. Which engines, calls and needs it
//! names stands in a data file; every number comes from the records.

mod checks;
mod engines;
mod index;
mod ladder;
mod needs;
mod own;
pub(crate) mod terminal;
mod threads;
mod verdict;
mod work;

use super::Content;
use super::charts;
use super::gate;
use super::matrix::{Executor, Matrix};
use super::origin;
use super::sections::{failed, tables};
use super::units;
use crate::markdown::code;
use std::fmt::Write;
use touchstone_record::{Check, Estimate, Outcome};

pub(super) fn text(content: &Content<'_>) -> String {
    let parts = [
        verdict::section(content),
        gate::draft(content.gate),
        needs::section(content),
        engines::section(content),
        charts::section(content.charts, &content.images),
        ladder::section(content),
        threads::section(content),
        work::section(content),
        checks::section(content),
        tables::documents(content),
        limits(content),
        index::section(content),
        failed::failures(content.matrix.book),
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
        let _ = writeln!(text, "- {}", limit.trim().replace('\n', " "));
    }
    for other in origin::other_builds(content.matrix.records) {
        let _ = writeln!(text, "- {other}.");
    }
    text + "\n" + &gate::anomalies(content.gate)
}

/// A strategy with its time.
fn named((executor, time): (&Executor, Estimate)) -> String {
    format!("{} {}", units::brief(&time), code(executor.strategy))
}

/// How many assertions of the specification's scripts an engine failed, of how many; `None`
/// where they were not run.
fn failed_assertions(matrix: &Matrix<'_>, engine: &str) -> Option<String> {
    let checked = matrix.records.checks.get(Check::Conformance)?;
    let number = |outcome| checked.count(outcome, |finding| finding.engine == engine);
    let (held, failed) = (number(Outcome::Held), number(Outcome::Failed));
    let all = held + failed;
    (all > 0).then(|| format!("{} of {}", units::grouped(failed), units::grouped(all)))
}
