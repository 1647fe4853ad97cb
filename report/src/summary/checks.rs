//! Correctness and isolation: totals and exceptions.

use crate::Content;
use crate::checks::Checked;
use crate::markdown::Table;
use crate::pages::Part;
use crate::units::{count, grouped};
use std::collections::BTreeSet;
use touchstone_record::escape::code;
use touchstone_record::{Check, Outcome};

/// Names of exceptions that are printed; the others are counted.
const MOST: usize = 6;

pub(super) fn section(content: &Content<'_>) -> String {
    let checks = &content.matrix.records.checks;
    let all = [
        (
            Check::Conformance,
            Part::Conformance,
            "Conformance: assertions of the specification's scripts",
        ),
        (
            Check::Isolation,
            Part::Isolation,
            "Isolation: can a call see state of the call before it?",
        ),
        (Check::Hostile, Part::Hostile, "Hostile guests: attacks on the host"),
        (Check::Survival, Part::Survival, "Survival: runs that are killed or run out of disk"),
    ];
    let mut table = Table::of_words("Check", ["Held", "Failed", "Exceptions", "Details"]);
    for (check, part, what) in all {
        let Some(checked) = checks.get(check) else { continue };
        let number = |outcome| checked.count(outcome, |_| true);
        let cells = [
            grouped(number(Outcome::Held)),
            grouped(number(Outcome::Failed)),
            exceptions(&checked),
            content.link_to_part(&part),
        ];
        table.row(what, cells);
    }
    let table = table.finish();
    if table.is_empty() {
        return "## Correctness and isolation\n\nThere are no records of checks; `make checks` makes \
                them.\n\n"
            .to_owned();
    }
    format!(
        "## Correctness and isolation\n\nEvery cell's output is compared with the expected one \
         before it is timed. Beyond that, `make checks` looks for wrong and leaking executors.\n\n\
         {table}"
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
        let shown: Vec<String> = names.iter().take(MOST).map(code).collect();
        let more = names.len().saturating_sub(MOST);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        parts.push(format!(
            "{} held only by ending the process: {}{more}",
            count(held_by_ending, "attack"),
            shown.join(", ")
        ));
    }
    if parts.is_empty() { "none".to_owned() } else { parts.join("; ") }
}
