//! Resets: how long a clean call takes that writes so many pages, under each strategy.
//!
//! `benches/resets.toml` names the guest and selects the points. All executors of an engine are
//! timed at a point in turns, in one process; each point is measured in several processes.

mod process;
mod selection;
mod writer;

pub use process::{Ask, FromProcess, Measured, serve};
pub use selection::{Selection, Wanted, default_file, preferred_engine};
