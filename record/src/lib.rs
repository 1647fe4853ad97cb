//! The records of a run: versioned JSON Lines.
//!
//! A [`Header`] begins a run and describes what its lines share: the machine, the binary, the
//! engines. The lines below it are setups, observations, refusals, comparisons, counts,
//! findings, swaps, densities and resets. They hold raw samples. Published numbers ([`Estimate`]) are computed
//! from them when they are read. The report is made from records alone.

mod book;
mod check;
pub mod compare;
pub mod data;
mod density;
pub mod escape;
pub mod estimate;
pub mod files;
mod header;
mod holder;
mod line;
mod metric;
mod named;
mod refusal;
mod reset;
mod sample;
mod store;
mod swap;
pub mod system;
pub mod terminal;

pub use book::Book;
pub use check::{MOST_PROCESSES, MOST_WORKS};
pub use density::{Density, Footprint};
pub use estimate::Estimate;
pub use header::{
    EngineFacts, Header, InitFacts, Machine, Role, SCHEMA, Sampling, Sweep, Tools, WorkFacts,
};
pub use line::{
    CellKey, Check, Comparison, Contender, Count, Executor, Finding, Line, Match, Means,
    Observations, Outcome, Purpose, Setup, without_offset,
};
pub use metric::{Metric, Unit};
pub use refusal::{Refusal, Refusals, Status, worst};
pub use reset::{Drift, PAGE, Place, Reset, ResetKey, ResetPoint, Touch};
pub use sample::{Sample, Samples};
pub use store::{
    BENCH, CHECKS, COUNTS, DENSITY, Loaded, PEERS, RESETS, RecordFile, Replacement, SWAPS, SYSTEMS,
    Sink, Skipped, default_path, load, newest, output_path,
};
pub use swap::{SoakPoint, Swap, SwapFound, Tail};
pub use system::{
    FanOut, InstanceState, Load, Node, Pipeline, Requests, Rounds, Shape, System, SystemFound,
    Verifier, Way,
};
