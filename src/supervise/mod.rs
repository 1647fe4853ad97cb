//! Child processes: the one place that starts, limits, follows and ends them.
//!
//! What can crash, hang or take all memory runs in a child process. Parent and child
//! exchange messages, one line of JSON each, over a socket pair that the child receives as
//! its standard input. The child's standard output and error are not used, so that a
//! runtime may print what it likes; after [`Parent::join`] the child's standard input is
//! `/dev/null`. The users of this module define the messages.
//!
//! The parent holds a [`Child`]: it sends, receives with a deadline, watches the child's
//! memory meanwhile, and learns how the child ended ([`Death`]). The child holds a
//! [`Parent`]. A child ends with its parent, and a dropped [`Child`] is killed and waited
//! for, so that no process is left behind. A [`Stop`] ends running children from a handler
//! of Ctrl-C.

mod child;
mod death;
mod lines;
mod parent;
mod stop;
#[cfg(test)]
mod tests;

pub use child::{Child, Heard};
pub use death::{Death, Limits};
pub use parent::{CHILD, Parent};
pub use stop::Stop;

use std::io;

/// Why a process cannot be started or talked to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused something.
    #[error("cannot {action}")]
    System {
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// A message that JSON cannot express.
    #[error("a message cannot be written as JSON")]
    Unwritable(#[source] serde_json::Error),
    /// A line that is not one of the expected messages.
    #[error("'{line}' is not a message that was expected")]
    Foreign {
        /// The beginning of the line.
        line: String,
        /// Why it is no message.
        #[source]
        source: serde_json::Error,
    },
    /// A line longer than any message.
    #[error("a line is longer than {} MiB", lines::LONGEST >> 20)]
    Long,
    /// The process claims to be a child, but its parent did not start it as one.
    #[error("{CHILD} is set, but no touchstone process has started this one")]
    Orphan,
    /// The process at the other end has ended, or does not read.
    #[error("the other process has ended or does not listen")]
    Gone(#[source] io::Error),
}

impl Error {
    fn system(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { action, source }
    }
}
