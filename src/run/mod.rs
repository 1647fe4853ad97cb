//! The run loop: cells and comparisons in fresh processes, each recorded before the next.
//!
//! Every cell is measured in several passes. In each pass every engine has its own process, which
//! opens its cells in random order. Cells with too few clean samples are measured again in
//! further passes. The parent holds the record file. A worker that dies or hangs
//! fails the current cell only.

mod arguments;
mod job;
mod passes;
mod perform;
mod provenance;
mod resume;
mod worker;

pub use arguments::{
    Arguments, Asked, SamplingName, seconds, seed, serve_if_worker, shown, stopped_code,
    watch_for_ctrl_c,
};
pub use job::{Came, Job, Selection, Tally};
pub use passes::{Host, Observer, Pairs, no_pairs, run};
pub(crate) use perform::setup;
pub use perform::{Performer, perform_side};
pub use provenance::{Clone as ThisClone, digest_of, header, machine, now, tools};
pub use resume::{Done as Finished, go_on, goes_on, going_on, starting_again};
pub use worker::{Done, FromWorker, Scope, Task, ToWorker, serve};
