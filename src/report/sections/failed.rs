//! The cells without a time, by backend and reason.

use super::status_word;
use crate::record::{CellRecord, Status};
use crate::report::markdown::{Table, code, escape};
use crate::report::matrix::{Executor, Matrix};
use crate::report::units::count;
use std::collections::{BTreeMap, BTreeSet};

/// More cells than these are counted, not named.
const MOST_NAMED: usize = 3;

/// Status, reason and strategies, as they are printed.
type Group = (&'static str, String, String);

pub(in crate::report) fn section(matrix: &Matrix) -> String {
    let mut table = Table::of_words(&["Status", "Backends", "Reason", "Strategies"]);
    // Backends that cannot do the same things for the same reason share a row.
    let mut shared: Vec<(Group, Vec<String>)> = Vec::new();
    for backend in matrix.backends() {
        for group in groups(matrix, backend) {
            match shared.iter_mut().find(|(known, _)| *known == group) {
                Some((_, backends)) => backends.push(code(backend)),
                None => shared.push((group, vec![code(backend)])),
            }
        }
    }
    if shared.is_empty() {
        return "## Cells without a time\n\nEvery cell on record was right and was timed.\n\n"
            .to_owned();
    }
    // Stable: what went wrong first, then what cannot be.
    shared.sort_by_key(|((status, ..), _)| *status == status_word(Status::Unsupported));
    for ((status, reason, strategies), backends) in shared {
        table.row(&[status.to_owned(), backends.join(", "), reason, strategies]);
    }
    format!(
        "## Cells without a time\n\nA cell that is wrong, traps, fails or cannot be done is listed \
         with its reason; its time is never published. A strategy without more has no time in any \
         cell.\n\n{}",
        table.finish()
    )
}

/// What a backend has no time for, in the order of the tables.
fn groups(matrix: &Matrix, backend: &str) -> Vec<Group> {
    let mut groups: BTreeMap<_, Vec<(&Executor, Vec<&CellRecord>)>> = BTreeMap::new();
    for executor in matrix.executors.iter().filter(|executor| executor.backend == backend) {
        for cell in matrix.of(executor).filter(|cell| cell.status != Status::Ok) {
            let reason = cell.reason.as_deref().unwrap_or("the record gives no reason");
            let group = groups.entry((status_word(cell.status), reason)).or_default();
            match group.last_mut() {
                Some((last, cells)) if *last == executor => cells.push(cell),
                _ => group.push((executor, vec![cell])),
            }
        }
    }
    groups
        .into_iter()
        .map(|((status, reason), executors)| {
            let strategies: Vec<String> = executors
                .iter()
                .map(|(executor, cells)| strategy(matrix, executor, cells))
                .collect();
            (status, escape(reason), strategies.join(", "))
        })
        .collect()
}

/// A strategy, with its cells unless these are all it has.
fn strategy(matrix: &Matrix, executor: &Executor, cells: &[&CellRecord]) -> String {
    let name = code(&executor.strategy);
    let all = matrix.of(executor).count();
    if all == cells.len() && cells.iter().all(|cell| cell.status == Status::Unsupported) {
        return name;
    }
    // What cannot be done cannot be done on any number of threads.
    let rows: BTreeSet<String> = cells
        .iter()
        .map(|cell| {
            let threads = match cell.status {
                Status::Unsupported => String::new(),
                _ => format!(", {}", count(cell.key.threads, "thread")),
            };
            format!("{} on {}{threads}", cell.key.case, cell.key.guest)
        })
        .collect();
    if rows.len() > MOST_NAMED {
        return format!("{name} ({})", count(cells.len(), "cell"));
    }
    let rows: Vec<String> = rows.iter().map(|row| escape(row)).collect();
    format!("{name} ({})", rows.join("; "))
}
