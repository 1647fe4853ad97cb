//! The parts of the page, one file each. Each returns Markdown, and says in a
//! sentence if there is nothing to show.

pub(super) mod checks;
pub(super) mod comparisons;
mod crowded;
pub(super) mod dropping;
pub(super) mod environment;
pub(super) mod failed;
pub(super) mod machines;
pub(super) mod metrics;
mod order;
pub(super) mod pairs;
pub(super) mod settings;
pub(super) mod shares;
pub(super) mod tables;
pub(super) mod threads;

use super::markdown::{Footnotes, code, markdown};
use std::fmt::Display;
use touchstone_record::{Header, Refusal};

/// Heading of the counts of operators.
const OPERATORS: &str = "operators";

/// The name of a row: a call on a number of threads.
fn function(case: &str, guest: &str, threads: impl Display) -> String {
    format!("{case}_from_{guest}_on_{threads}_threads")
}

/// The status of a refusal with a footnote that says why.
fn refused(refusal: &Refusal, notes: &mut Footnotes) -> String {
    format!("{}{}", refusal.status, notes.mark(&refusal.reason))
}

/// Where findings and counts come from.
fn source(header: &Header) -> String {
    let (kernel, cpu) = (markdown(&header.machine.kernel), markdown(&header.machine.cpu));
    format!("Linux {kernel} ({cpu}), commit {}", code(&header.tools.commit))
}
