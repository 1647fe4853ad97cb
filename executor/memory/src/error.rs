//! Errors of this crate.

/// Result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A refused content or template, a misuse, or a failed system call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No memory can have this content or region.
    #[error("{0}")]
    Unsuitable(String),
    /// A segment reaches beyond the end of the memory.
    #[error("a segment of {length} bytes at {offset} does not fit into a memory of {size} bytes")]
    OutOfBounds {
        /// Where the segment begins, bytes.
        offset: usize,
        /// Length of the segment, bytes.
        length: usize,
        /// Size of the memory, bytes.
        size: usize,
    },
    /// A call that the state of the memory forbids.
    #[error("misuse of a memory: {0}")]
    Misuse(&'static str),
    /// A system call failed.
    #[error("{action}: {cause}")]
    System {
        /// The failed action.
        action: &'static str,
        /// The system's error, which the message has.
        cause: std::io::Error,
    },
}

impl Error {
    /// A closure for `map_err` that wraps a system error.
    pub(crate) fn system<E: Into<std::io::Error>>(action: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::System { action, cause: error.into() }
    }
}
