//! Planning: crosses cases, guests, engines, strategies and threads to cells, and makes
//! comparisons between cells.

mod budget;
mod cells;
mod comparisons;
mod filter;

pub use crate::case::{Random, shuffled};
pub use budget::{Budget, FEWEST_CALLS_US};
pub(crate) use cells::refusal;
pub use cells::{Cell, Plan};
pub use comparisons::{Compare, Rows, Wanted, default_rows};
pub use filter::{Filter, near};

/// Processors that this process may use.
#[must_use]
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
