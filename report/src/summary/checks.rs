//! Correctness and isolation: totals and exceptions.

use crate::Content;
use crate::checks::Checked;
use crate::markdown::{Table, code};
use crate::pages::Part;
use crate::units::{count, grouped, joined};
use std::collections::BTreeSet;
use touchstone_record::{Check, Outcome};

/// Names of exceptions that are printed; the others are counted.
const MOST: usize = 6;

pub(super) fn section(content: &Content<'_>) -> String {
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
        let more = names.len().saturating_sub(MOST);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let attacks = count(held_by_ending, "attack");
        parts.push(format!("{attacks} held only by ending the process: {shown}{more}"));
    }
    if parts.is_empty() { "none".to_owned() } else { parts.join("; ") }
}
