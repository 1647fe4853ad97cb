//! What can go wrong with a message.

use super::Kind;
use touchstone_executor::{Error, Trap};

/// Why a message was not answered as it has to be.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Another output than the expected one.
    #[error("{place}: {kind} gave another output: expected {expected}, got {got}")]
    Wrong {
        /// Engine and rung.
        place: String,
        /// Name of the kind.
        kind: String,
        /// Hexadecimal.
        expected: String,
        /// Hexadecimal.
        got: String,
    },
    /// The guest trapped.
    #[error("{place}: {kind} trapped")]
    Trapped {
        /// Engine and rung.
        place: String,
        /// Name of the kind.
        kind: String,
        /// Why.
        source: Box<Trap>,
    },
    /// The host side failed: compiling, loading, an instance or the call.
    #[error("{place}: {kind} failed")]
    Host {
        /// Engine and rung.
        place: String,
        /// Name of the kind.
        kind: String,
        /// Why.
        source: Box<Error>,
    },
    /// The engine has no strategy for it, or not for these guests: nothing was run.
    #[error("{reason}")]
    LeftOut {
        /// Why.
        reason: String,
    },
    /// A thread could not be started, or something else of the system's.
    #[error("{place}: {what}")]
    System {
        /// Engine and what was done.
        place: String,
        /// What could not be done.
        what: &'static str,
        /// Why.
        source: std::io::Error,
    },
}

impl Problem {
    /// A failure of the host side.
    pub(super) fn host(place: String, kind: &Kind, source: Error) -> Self {
        Self::Host { place, kind: kind.name.clone(), source: Box::new(source) }
    }
}
