//! What becomes of finished cells when something happens to a run.

use crate::report::markdown::{Table, details, escape};
use crate::report::trust::Trust;
use crate::report::units::count;

/// Nothing where nothing was looked at.
pub(in crate::report) fn section(trust: &Trust) -> String {
    let Some(found) = &trust.survival else { return String::new() };
    let survival = &found.findings;
    let headings = ["What happens to a run", "rounds", "cells finished", "lost", "cut lines", ""];
    let mut table = Table::new(&headings);
    for scenario in &survival.scenarios {
        table.row(&[
            escape(&scenario.name),
            scenario.rounds.to_string(),
            scenario.finished.to_string(),
            scenario.lost.to_string(),
            scenario.half_lines.to_string(),
            if scenario.held() { "held".to_owned() } else { "**broken**".to_owned() },
        ]);
    }
    let said: String = survival
        .scenarios
        .iter()
        .filter(|scenario| !scenario.said.is_empty())
        .map(|scenario| format!("* {}: \"{}\"\n", escape(&scenario.name), escape(&scenario.said)))
        .collect();
    let broken: Vec<String> = survival
        .scenarios
        .iter()
        .flat_map(|scenario| {
            scenario
                .problems
                .iter()
                .map(|problem| format!("* {}: {}\n", escape(&scenario.name), escape(problem)))
        })
        .collect();
    let mut text = format!(
        "## What survives\n\nThe run itself, over an engine without a runtime, in processes to \
         which things happen: signals come at random moments (seed {}). Each round ends with a run \
         that goes on. A cell is finished when the run has said so; it is lost when its record is \
         not in the file afterwards, whole and once. A cut line is left out by whoever reads.\n\n{}",
        survival.seed,
        table.finish()
    );
    if !broken.is_empty() {
        text += &format!(
            "{} not as it has to be:\n\n{}\n",
            count(broken.len(), "thing"),
            broken.concat()
        );
    }
    if !said.is_empty() {
        text += &details("What people are told", &said);
    }
    text
}
