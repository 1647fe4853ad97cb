//! The gate's findings on the page.

use super::{Gate, Rule};
use crate::markdown::{Table, code, in_cell, markdown};
use crate::units;
use indexmap::IndexMap;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Lines of a list that stand on the page; the command prints them all.
const MOST: usize = 50;

/// Explained violations; cells with the same explanation share a row.
pub(crate) fn anomalies(gate: &Gate) -> String {
    let mut rows: IndexMap<&str, Vec<(String, String)>> = IndexMap::new();
    for (violation, explanation) in &gate.explained {
        if let (Some((cell, _)), (found, limit)) = (&violation.cell, &violation.found) {
            let found = markdown(&format!("{found} ({limit})"));
            rows.entry(explanation).or_default().push((code(cell.name(None)), found));
        }
    }
    if rows.is_empty() {
        let text = match gate.violations.len() {
            0 => "No number breaks a rule of publication.",
            _ => {
                "[Broken rules](#broken-rules) lists the numbers that break a rule of publication."
            }
        };
        return format!("{text}\n\n");
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

/// The line of a draft that links to its broken rules; nothing where the page may be published.
pub(crate) fn draft(gate: &Gate) -> String {
    match gate.violations.len() {
        0 => String::new(),
        rules => {
            format!("**Draft: {}**, [listed at the end](#broken-rules).\n\n", broken(rules))
        }
    }
}

/// The broken rules of a draft, folded, those of a kind together; nothing where the page may be
/// published.
pub(crate) fn broken_rules(gate: &Gate) -> String {
    let mut kinds: BTreeMap<Option<Rule>, Vec<String>> = BTreeMap::new();
    for violation in &gate.violations {
        let rule = violation.cell.as_ref().map(|(_, rule)| *rule);
        kinds.entry(rule).or_default().push(violation.to_string());
    }
    let mut text = String::new();
    for (rule, reasons) in kinds {
        fold(&mut text, rule.map_or("the whole run", Rule::title), &reasons);
    }
    if text.is_empty() { text } else { format!("## Broken rules\n\n{text}") }
}

fn fold(text: &mut String, title: &str, reasons: &[String]) {
    let _ = writeln!(text, "<details><summary>{title}: {}</summary>\n", reasons.len());
    for reason in reasons.iter().take(MOST) {
        let _ = writeln!(text, "- {}", markdown(reason));
    }
    if reasons.len() > MOST {
        let _ = writeln!(text, "- and {} more", units::count(reasons.len() - MOST, "line"));
    }
    *text += "\n</details>\n\n";
}
