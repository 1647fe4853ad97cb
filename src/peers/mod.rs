//! The fastest executors against their peers: rows of a data file, each of them
//! two things timed in turns within one process, so that drift of the machine
//! hits both alike. `make peers` prints them.

mod measure;
mod rows;
mod tsv;

pub use measure::{PeerPlan, measure};
pub use rows::{Reference, Row, default_path, load, select};
pub use tsv::{HEAD, head, line};
