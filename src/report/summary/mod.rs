//! The short page: what a reader needs within ten minutes. Which engines, calls and needs it
//! names stands in a data file; every number comes from the records.

mod checks;
mod documents;
mod engines;
mod index;
mod ladder;
mod needs;
mod threads;
mod verdict;
mod work;

use super::Content;
use super::charts;
use super::gate;
use super::markdown::code;
use super::matrix::{Executor, Matrix};
use super::units;
use crate::record::{Check, Estimate, Outcome};
use std::fmt::Write;

/// The sections in order.
pub(super) fn text(content: &Content<'_>) -> String {
    let parts = [
        gate::draft(content.gate),
        verdict::section(content),
        needs::section(content),
        engines::section(content),
        charts::section(content.charts, &content.images),
        ladder::section(content),
        threads::section(content),
        work::section(content),
        checks::section(content),
        documents::section(content),
        limits(content),
        index::section(content),
    ];
    parts.concat()
}

/// The findings alone, with the machine that they are of.
pub(super) fn findings(content: &Content<'_>) -> String {
    verdict::findings(content) + "\n"
}

/// What the numbers do not say, and those that contradict a rule.
fn limits(content: &Content<'_>) -> String {
    let mut text = String::from("## Limits and known anomalies\n\n");
    for limit in &content.pages.limits {
        let _ = writeln!(text, "- {}", limit.trim().replace('\n', " "));
    }
    for other in content.matrix.records.other_builds() {
        let _ = writeln!(text, "- {other}.");
    }
    text + "\n" + &gate::anomalies(content.gate)
}

/// A time with how far its interval reaches, or a dash.
fn time(time: Option<Estimate>) -> String {
    time.map_or_else(|| super::markdown::NOTHING.to_owned(), |time| units::time_with_reach(&time))
}

/// The fastest executor that is `wanted` on a work, with its time. Precompiled variants are
/// left out: they change the load, not the call.
fn fastest<'a>(
    matrix: &'a Matrix<'_>,
    work: &super::matrix::Work,
    wanted: impl Fn(&Executor) -> bool,
) -> Option<(&'a Executor, Estimate)> {
    let own = matrix.executors.iter().filter(|e| !e.strategy.is_precompiled() && wanted(e));
    own.filter_map(|executor| Some((executor, matrix.time(executor, work, 1)?)))
        .min_by(|a, b| a.1.median.total_cmp(&b.1.median))
}

/// A strategy with its time.
fn named((executor, time): (&Executor, Estimate)) -> String {
    format!("{} {}", units::time_with_reach(&time), code(executor.strategy))
}

/// How many assertions of the specification's scripts an engine failed, of how many; `None`
/// where they were not run.
fn failed_assertions(matrix: &Matrix<'_>, engine: &str) -> Option<(u64, u64)> {
    let checked = matrix.records.checks.get(Check::Conformance)?;
    let number = |outcome| checked.count(outcome, |finding| finding.engine == engine);
    let (held, failed) = (number(Outcome::Held), number(Outcome::Failed));
    (held + failed > 0).then_some((failed, held + failed))
}
