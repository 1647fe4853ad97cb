//! The records of a run: versioned JSON Lines.
//!
//! A [`Header`] begins a run and describes what its lines share: the machine, the binary, the
//! engines. The [`Line`]s below it hold raw samples. Published numbers ([`Estimate`]) are computed
//! when they are read. The report is made from records alone.
//!
//! The crate also has what the instrument and the report share: [`files`], [`data`] files,
//! [`terminal`] output, [`escape`]d text, and the verdicts of comparisons ([`compare`]).

#![allow(missing_docs, reason = "an internal crate: many fields need no comment beside their name")]

mod book;
mod check;
pub mod compare;
mod comparison;
pub mod data;
mod declaration;
mod end;
pub mod escape;
pub mod estimate;
mod experiment;
pub mod export;
pub mod expression;
pub mod files;
mod finding;
mod header;
mod holder;
mod line;
mod merge;
mod metric;
pub mod packed;
mod point;
mod preference;
mod refusal;
mod sample;
mod shard;
mod state;
mod store;
pub mod terminal;
pub mod verify;

pub use book::Book;
pub use check::{MOST_PROCESSES, MOST_WORKS};
pub use comparison::{Comparison, Contender, Match, Means, Purpose};
pub use end::{End, hex};
pub use estimate::{Estimate, Mode};
pub use experiment::{
    Dimension, Experiment, PointChart, PointColumn, PointGroup, PointMetric, PointRow, PointTable,
    PointUnit, SentencePart, SentenceRow, Shown, experiments_folder,
};
pub use finding::{Check, Finding, Outcome, without_offset};
pub use header::{
    EngineFacts, Header, InitFacts, Machine, Role, SCHEMA, Sampling, Sweep, Tools, WorkFacts,
};
pub use line::{CellKey, Count, Executor, Line, Observations, Setup, Setups};
pub use merge::{MergeError, Merged, Property, merge};
pub use metric::{Metric, Unit};
pub use point::{Coordinate, Footprint, PAGE, Place, Point, PointBook, PointRefusal, Points, Tail};
pub use preference::preference;
pub use refusal::{Refusal, Refusals, Status, worst};
pub use sample::{Sample, Samples};
pub use shard::Shard;
pub use state::{Prevailing, State};
pub use store::{
    BENCH, CHECKS, COUNTS, LAYOUTS, Loaded, OVERSUBSCRIBED, PEERS, RecordFile, Run, SWAPS, Sink,
    Skipped, Stream, default_path, load, newest, output_path,
};
