//! The parts of the page, one file each. Each returns Markdown, and says in a
//! sentence if there is nothing to show.

pub(super) mod conformance;
pub(super) mod environment;
pub(super) mod failed;
pub(super) mod full;
pub(super) mod hostile;
pub(super) mod isolation;
pub(super) mod pairs;
pub(super) mod peers;
pub(super) mod phases;
pub(super) mod pictures;
pub(super) mod quiet;
pub(super) mod rows;
pub(super) mod settings;
pub(super) mod shares;
pub(super) mod survival;
pub(super) mod swap;
pub(super) mod tables;
pub(super) mod threads;
pub(super) mod usage;

use super::markdown::{Footnotes, code};
use super::matrix::Work;
use super::rank::Timing;
use super::units;
use crate::record::{CellRecord, Status};

/// Heading of the counts of operators.
const OPERATORS: &str = "operators";

/// A count of operators with its thousands apart, or a dash.
fn operators(count: Option<u64>) -> String {
    count.map_or_else(|| "–".to_owned(), units::grouped)
}

/// What a cell without a time says instead.
fn status_word(status: Status) -> &'static str {
    match status {
        Status::Ok => "no time",
        Status::Wrong => "wrong",
        Status::Trapped => "trapped",
        Status::Unsupported => "unsupported",
        Status::Failed => "failed",
        Status::Skipped => "skipped",
    }
}

/// A cell's time by `print`, or a word with a footnote that says why there is none.
fn time_or_word(
    cell: Option<&CellRecord>,
    notes: &mut Footnotes,
    print: impl Fn(Timing) -> String,
) -> String {
    let Some(cell) = cell else { return "–".to_owned() };
    if let Some(timing) = Timing::of(cell) {
        return print(timing);
    }
    let reason = match (&cell.reason, cell.status) {
        (_, Status::Ok) => "the record says ok but holds no time",
        (Some(reason), _) => reason,
        (None, _) => "the record gives no reason",
    };
    format!("{}{}", status_word(cell.status), notes.mark(reason))
}

/// A timing as the big table prints it.
fn with_interval(timing: Timing) -> String {
    let (low, high) = timing.interval.unzip();
    units::time_with_interval(timing.median, low, high)
}

/// A work as the heading of a column.
fn column(work: &Work, what: &str) -> String {
    format!("{}<br>{}<br>{what}", code(&work.case), code(&work.guest))
}
