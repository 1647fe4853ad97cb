//! Density: how many live instances fit into a process, what each takes, and what a clean call
//! on one of many costs.
//!
//! Each number of instances has a process of its own, because memory that was given back does
//! not leave a process as it was. An instance is live when it is prepared: a call is then
//! `invoke`, `finish` and the next `prepare`. One of Touchstone's pool is live when it can be
//! prepared at once: a call is then `prepare`, `invoke` and `finish`.

mod live;
mod process;

pub use live::live;
pub use process::{Ask, FromProcess, serve};

/// Numbers of instances if none are given.
pub const COUNTS: [u64; 6] = [1, 10, 100, 1000, 10_000, 20_000];
