//! What the page says of the gate.

use super::Gate;
use crate::escape::{code, in_cell, markdown};
use crate::report::markdown::Table;
use crate::report::units;
use indexmap::IndexMap;
use std::fmt::Write;

/// Lines of a list that stand on the page; the command prints them all.
const MOST: usize = 50;

/// What breaks a rule and is explained: cells with the same explanation share a row.
pub(in crate::report) fn anomalies(gate: &Gate) -> String {
    let mut rows: IndexMap<&str, Vec<(String, String)>> = IndexMap::new();
    for (violation, explanation) in &gate.explained {
        if let (Some((cell, _)), (found, limit)) = (&violation.cell, &violation.found) {
            let found = markdown(&format!("{found} ({limit})"));
            rows.entry(explanation).or_default().push((code(cell.name(None)), found));
        }
    }
    if rows.is_empty() {
        return "No number breaks a rule of publication.\n\n".to_owned();
    }
    let mut table = Table::of_words("Cell", ["Found", "Explanation"]);
    for (explanation, cells) in rows {
        let (cell, found) = &cells[0];
        let more = match cells.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more of the same call"),
        };
        table.row(format!("{cell}{more}"), [found.clone(), in_cell(explanation)]);
    }
    format!(
        "These numbers break a rule of publication. They are published with the cause, as far as it \
         is known.\n\n{}",
        table.finish()
    )
}

/// So many rules are broken.
pub(super) fn broken(number: usize) -> String {
    let verb = if number == 1 { "is" } else { "are" };
    format!("{} of publication {verb} broken", units::count(number, "rule"))
}

/// What stands on top of a draft; nothing where the page may be published.
pub(in crate::report) fn draft(gate: &Gate) -> String {
    let reasons = gate.reasons();
    if reasons.is_empty() {
        return String::new();
    }
    let mut text = format!("**Draft: {}.**\n\n", broken(reasons.len()));
    for reason in reasons.iter().take(MOST) {
        let _ = writeln!(text, "- {}", markdown(reason));
    }
    if reasons.len() > MOST {
        let _ = writeln!(text, "- and {} more", units::count(reasons.len() - MOST, "line"));
    }
    text + "\n"
}
