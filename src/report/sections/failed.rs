//! The cells without a time, grouped by their reason.

use super::status_word;
use crate::record::Status;
use crate::report::markdown::{Table, code, escape};
use crate::report::matrix::Matrix;
use std::collections::BTreeMap;

pub(in crate::report) fn section(matrix: &Matrix) -> String {
    // Status and reason → executor → its rows.
    let mut groups: BTreeMap<(&str, &str), BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for cell in matrix.cells().iter().filter(|cell| cell.status != Status::Ok) {
        let reason = cell.reason.as_deref().unwrap_or("the record gives no reason");
        let row = format!("{} on {}, {}", cell.key.case, cell.key.guest, cell.key.threads);
        groups
            .entry((status_word(cell.status), reason))
            .or_default()
            .entry(cell.key.executor())
            .or_default()
            .push(row);
    }
    if groups.is_empty() {
        return "## Cells without a time\n\nEvery cell on record was right and was timed.\n\n"
            .to_owned();
    }
    let mut table = Table::of_words(&["Status", "Reason", "Executors (cells)"]);
    for ((status, reason), executors) in groups {
        let executors: Vec<String> = executors
            .iter()
            .map(|(executor, rows)| match rows.as_slice() {
                [only] => format!("{} ({})", code(executor), escape(only)),
                several => format!("{} ({})", code(executor), several.len()),
            })
            .collect();
        table.row(&[status.to_owned(), escape(reason), executors.join(", ")]);
    }
    format!(
        "## Cells without a time\n\nA cell that is wrong, traps, fails or cannot be done is listed \
         with its reason; its time is never published.\n\n{}",
        table.finish()
    )
}
