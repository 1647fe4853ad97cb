//! Worker processes: a backend that aborts, crashes or hangs fails its cell and not the run.
//!
//! The parent ([`Workers`]) holds the record file and starts a child process
//! ([`supervise`](crate::supervise)) for each backend, one after the other. The child
//! ([`Worker`]) does what every run does, but its [`Sink`](crate::record::Sink) is the
//! parent: it says which cell begins, hands each record over and waits until it is kept.
//! When a worker dies, the cell in progress is recorded as failed with the reason, and the
//! worker is started again for the rest.

mod message;
mod parent;
mod side;

pub use crate::supervise::Stop;
pub use message::Place;
pub use parent::{Came, Task, Unit, Workers};
pub use side::Worker;
