//! Planning: crosses cases, guests, engines, strategies and threads to cells, and makes
//! comparisons between cells.

mod budget;
mod cells;
mod comparisons;
mod filter;
mod selection;

pub use crate::case::{Random, shuffled};
pub use budget::{Budget, FEWEST_CALLS_US};
pub use cells::{Cell, Plan, crowded};
pub use comparisons::{Compare, Names, Rows, Wanted, default_rows};
pub use filter::{Filter, hint, near_name};
pub use selection::{MAIN_PAGE, OVERVIEW, keep_selected};

use anyhow::{Result, ensure};

/// Checks a requested number of threads. Fails if it is 0 or exceeds the number of processors.
pub fn check_threads(threads: usize) -> Result<()> {
    ensure!(threads > 0, "0 threads make no call: ask for at least 1");
    let (crowded, cores) = (crowded(threads), cores());
    ensure!(
        threads <= cores,
        "{crowded}: the affinity mask and the control group of this process leave it {cores}"
    );
    Ok(())
}

/// Most threads on each processor that `touchstone bench` measures.
const MOST_ON_A_PROCESSOR: usize = 16;

/// Checks a number of threads that was asked for by name, which may exceed the number of
/// processors. Fails if it is 0 or far too large.
pub fn check_asked_threads(threads: usize) -> Result<()> {
    ensure!(threads > 0, "0 threads make no call: ask for at least 1");
    let cores = cores();
    ensure!(
        threads <= cores * MOST_ON_A_PROCESSOR,
        "{threads} threads on {cores} processors are more than {MOST_ON_A_PROCESSOR} on each"
    );
    Ok(())
}

/// Processors available to this process.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
