//! Worker processes: a backend that aborts, crashes or hangs takes its cell down and not
//! the run.
//!
//! The parent ([`Workers`]) holds the record file and starts a process of its own for
//! each backend, one after the other. That process ([`Worker`]) does what every run does,
//! but its [`Sink`](crate::record::Sink) is the parent: it says which cell begins, hands
//! each record over and waits until it is kept. When a worker dies, the parent knows which
//! cell was in progress, records it as failed with the reason, and starts the worker again
//! for the cells that are left.
//!
//! The two talk over a socket that is the worker's standard input. Output and errors of a
//! worker go where the parent's go.

mod message;
mod parent;
mod side;
mod stop;

pub use message::Place;
pub(crate) use parent::signal_of;
pub use parent::{Came, Task, Unit, Workers};
pub use side::{IS_WORKER, Worker};
pub use stop::Stop;
