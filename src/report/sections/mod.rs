//! The parts of the page, one file each. Each returns Markdown, and says in a
//! sentence if there is nothing to show.

pub(super) mod checks;
pub(super) mod comparisons;
pub(super) mod environment;
pub(super) mod failed;
pub(super) mod metrics;
pub(super) mod rows;
pub(super) mod settings;
pub(super) mod shares;
pub(super) mod swap;
pub(super) mod tables;
pub(super) mod threads;

use super::markdown::{Footnotes, code, escape};
use super::matrix::Cell;
use super::units::{self, grouped};
use crate::record::Header;

/// What stands where there is no value.
const NOTHING: &str = "–";

/// Heading of the counts of operators.
const OPERATORS: &str = "operators";

/// A count of operators with its thousands apart, or a dash.
fn operators(count: Option<u64>) -> String {
    count.map_or_else(|| NOTHING.to_owned(), grouped)
}

/// A cell's time with its interval, or a word with a footnote that says why there is none.
fn time_or_word(cell: Cell<'_>, notes: &mut Footnotes) -> String {
    match cell {
        Cell::Timed(time) => units::time_with_interval(&time),
        Cell::Refused(refusal) => format!("{}{}", refusal.status, notes.mark(&refusal.reason)),
        Cell::Absent => NOTHING.to_owned(),
    }
}

/// Where findings and counts come from.
fn source(header: &Header) -> String {
    let (kernel, cpu) = (escape(&header.machine.kernel), escape(&header.machine.cpu));
    format!("Linux {kernel} ({cpu}), commit {}", code(&header.tools.commit))
}
