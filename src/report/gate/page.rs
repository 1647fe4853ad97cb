//! What the page says of the gate.

use super::Gate;
use crate::report::markdown::{Table, code, escape};
use crate::report::units;
use std::fmt::Write;

/// Lines of a list that stand on the page; the command prints them all.
const MOST: usize = 50;

/// The section of what breaks a rule and is explained, and of runs of other builds.
pub(in crate::report) fn anomalies(gate: &Gate, other_builds: &[String]) -> String {
    let mut text = String::from("## Known anomalies\n\n");
    if !other_builds.is_empty() {
        let _ = writeln!(text, "Measured with other builds: {}.\n", other_builds.join("; "));
    }
    if gate.explained.is_empty() {
        text.push_str("No anomalies are known.\n\n");
        return text;
    }
    text.push_str(
        "These numbers break a rule of publication, if not within their intervals. They are \
         published with what is known of the cause.\n\n",
    );
    let mut table = Table::of_words("cell", ["found", "explanation"]);
    for (violation, explanation) in &gate.explained {
        if let (Some((cell, _)), (found, limit)) = (&violation.cell, &violation.found) {
            let found = escape(&format!("{found} ({limit})"));
            table.row(code(cell.name(None)), [found, explanation.replace('|', "\\|")]);
        }
    }
    text + &table.finish()
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
        let _ = writeln!(text, "- {}", escape(reason));
    }
    if reasons.len() > MOST {
        let _ = writeln!(text, "- and {} more", units::count(reasons.len() - MOST, "line"));
    }
    text + "\n"
}
