//! Requests that get no result.

use touchstone_executor::guest::text::{self, near};

/// Longest error text, characters: messages may quote a line of input.
const LONGEST: usize = 2000;

/// An error on one line, with texts of guests and files made harmless.
pub(super) fn text_of(error: &anyhow::Error) -> String {
    let whole = format!("{error:#}");
    let lines: Vec<&str> = whole.split_ascii_whitespace().collect();
    text::harmless(&text::abridged(&lines.join(" "), LONGEST))
}

/// The reason why a request has no result. Its text is the body of the answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("there is only the path /; name the contract in the header X-Contract")]
    Path,
    #[error("the method {0} is not supported; list functions with GET, call them with POST")]
    Method(String),
    #[error("the header {header} is missing; there are: {known}")]
    Missing { header: &'static str, known: String },
    #[error("the header {0} is no text in UTF-8")]
    NoText(&'static str),
    #[error("the header {0} was sent more than once; send it once")]
    Repeated(&'static str),
    #[error("there is no {kind} '{name}'{}", near(.similar))]
    Unknown { kind: &'static str, name: String, similar: Vec<String> },
    /// The contract cannot be loaded, or not with this target.
    #[error("cannot load {name}: {reason}")]
    Unusable { name: String, reason: String },
    #[error("cannot call {name}: {reason}")]
    NotCallable { name: String, reason: String },
    /// The codec cannot read the body, or it does not fit the function.
    #[error("the body does not fit: {0}")]
    Body(String),
    #[error("the body has more than {0} bytes")]
    TooLarge(usize),
    #[error("the body did not arrive within {0} ms")]
    TooSlow(u128),
    #[error("the body cannot be read: {0}")]
    Broken(String),
    #[error("the call did not end within {0} ms")]
    TooLong(u128),
    #[error("{0} calls wait already; try again later")]
    Busy(usize),
    #[error("the function calls {0}, which nobody provides; name a target in X-Target")]
    NoTarget(String),
    #[error("the answer has more than {0} bytes")]
    TooMuch(usize),
    #[error("the function trapped: {0}")]
    Trapped(String),
    #[error("the host failed: {0}")]
    Failed(String),
}

impl Refusal {
    pub(super) fn status(&self) -> u16 {
        match self {
            Self::Missing { .. } | Self::NoText(_) | Self::Repeated(_) => 400,
            Self::Body(_) | Self::Broken(_) => 400,
            Self::NotCallable { .. } | Self::NoTarget(_) => 400,
            Self::Path | Self::Unknown { .. } => 404,
            Self::Method(_) => 405,
            Self::TooSlow(_) => 408,
            Self::TooLarge(_) => 413,
            Self::Unusable { .. } => 422,
            Self::Trapped(_) | Self::Failed(_) | Self::TooMuch(_) => 500,
            Self::Busy(_) => 503,
            Self::TooLong(_) => 504,
        }
    }
}
