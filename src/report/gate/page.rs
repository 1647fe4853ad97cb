//! What the page says of the gate.

use super::{Gate, Violation};
use crate::report::markdown::{Table, code, escape};
use crate::report::units;
use std::fmt::Write;

/// Lines of a list that stand on the page; the command prints them all.
const MOST: usize = 50;

/// The section of what breaks a rule and is explained.
pub(in crate::report) fn anomalies(gate: &Gate) -> String {
    let mut text = String::from("## Known anomalies\n\n");
    if gate.explained.is_empty() {
        text.push_str("No published number breaks a rule of publication.\n\n");
        return text;
    }
    text.push_str(
        "These numbers break a rule of publication. They are published because the cause is \
         known.\n\n",
    );
    let mut table = Table::of_words(&["cell", "found", "explanation"]);
    for (violation, explanation) in &gate.explained {
        if let Violation::Cell { cell, fault } = violation {
            let name = format!("{}/{}", cell.work(), cell.function());
            let found = format!("{} ({})", fault.found(cell.threads), fault.limit());
            table.row(&[code(&name), escape(&found), explanation.replace('|', "\\|")]);
        }
    }
    text + &table.finish()
}

/// What stands on top of a draft; nothing where the page may be published.
pub(in crate::report) fn draft(gate: &Gate) -> String {
    let reasons = gate.reasons();
    if reasons.is_empty() {
        return String::new();
    }
    let broken = match reasons.len() {
        1 => "1 rule of publication is broken".to_owned(),
        many => format!("{many} rules of publication are broken"),
    };
    let mut text = format!("**Draft: {broken}.**\n\n");
    for reason in reasons.iter().take(MOST) {
        let _ = writeln!(text, "- {}", escape(reason));
    }
    if reasons.len() > MOST {
        let _ = writeln!(text, "- and {} more", units::count(reasons.len() - MOST, "line"));
    }
    text + "\n"
}
