//! Failures of the host: an unusable module, an unsupported request, or a failure of the
//! runtime or the system. A guest's trap in a call is not an error; one before any call is
//! [`Error::Instantiation`].

use crate::text::near;
use crate::{Abi, Signature, Strategy, Trap, TrapKind, text};
use touchstone_guest as guest;

/// Result of the contract's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure of the host. The message names the remedy, if there is one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes are no guest, or none that can be hosted.
    #[error(transparent)]
    Guest(guest::Error),
    /// The module has no export of that name.
    #[error("the module has no exported function '{name}'{}", near(.candidates))]
    NoSuchExport {
        /// The requested name.
        name: String,
        /// Exports with a similar name.
        candidates: Vec<String>,
    },
    /// The export is one of the module's own imports.
    #[error(
        "export '{name}' is a function that the module imports and passes on: no code of the \
         guest would run; call an export that the module defines"
    )]
    ExportImported {
        /// The export.
        name: String,
    },
    /// The export has another signature than the convention needs.
    #[error("export '{name}' has the signature {found}, the {abi} convention needs {expected}")]
    WrongSignature {
        /// The export.
        name: String,
        /// The requested convention.
        abi: Abi,
        /// The signature that the convention needs.
        expected: &'static str,
        /// The export's signature, in words.
        found: String,
    },
    /// The export has another type than the host wants to call it with.
    #[error("export '{name}' has the type {found}, and is to be called as {wanted}")]
    WrongType {
        /// The export.
        name: String,
        /// The type that the host wants.
        wanted: Box<Signature>,
        /// The export's type.
        found: Box<Signature>,
    },
    /// The module has the export, but this backend cannot call it, whatever the
    /// strategy.
    #[error("{engine} does not have '{name}': {reason}")]
    ExportUnsupported {
        /// The backend.
        engine: &'static str,
        /// The export, or the requested part of it.
        name: String,
        /// The reason.
        reason: String,
    },
    /// No host function answers some imports of the module.
    #[error(
        "the host does not have {} of the module's imports: {}", imports.len(), listed(imports)
    )]
    MissingImports {
        /// Each import with its type, and with the type or the closest name that the host has.
        imports: Vec<String>,
    },
    /// A host function panicked.
    #[error(
        "the host function {}.{} panicked: {}",
        text::name(module),
        text::name(name),
        text::name(message)
    )]
    HostPanicked {
        /// Module part of the function's name.
        module: String,
        /// The function's name.
        name: String,
        /// The panic's message, if it was a text.
        message: String,
    },
    /// A limit of a call that this instance cannot enforce.
    #[error("the engine cannot limit a call by {limit} here{remedy}")]
    LimitUnsupported {
        /// The limit.
        limit: &'static str,
        /// How to get it.
        remedy: &'static str,
    },
    /// The host called an export with other arguments than its type has.
    #[error("{0}")]
    WrongArguments(String),
    /// The backend does not support the strategy, or not for this module.
    #[error("{engine} does not support {strategy} here: {reason}")]
    Unsupported {
        /// The backend.
        engine: &'static str,
        /// The strategy.
        strategy: Strategy,
        /// The reason.
        reason: String,
    },
    /// After loading, another mode was in force than the strategy names.
    #[error(
        "{engine} was asked for {strategy}, but {reason}; its times would stand under a wrong name"
    )]
    WrongMode {
        /// The backend.
        engine: &'static str,
        /// The strategy.
        strategy: Strategy,
        /// The mode that was found.
        reason: String,
    },
    /// An artifact that this backend did not make, or that is damaged.
    #[error("the artifact cannot be loaded by {engine}: {reason}; compile the module again")]
    BadArtifact {
        /// The backend.
        engine: &'static str,
        /// The defect.
        reason: String,
    },
    /// `invoke` without `prepare`, or an export of another module.
    #[error("misuse of the contract: {0}")]
    Misuse(&'static str),
    /// The runtime failed.
    #[error("{engine} failed to {action}: {reason}")]
    Runtime {
        /// The backend.
        engine: &'static str,
        /// The failed action, after "to".
        action: &'static str,
        /// The runtime's message.
        reason: String,
    },
    /// The guest trapped before any call: in its start function, or because a segment does not
    /// fit.
    #[error("the guest trapped while it was instantiated: {trap}")]
    Instantiation {
        /// The trap.
        trap: Trap,
    },
    /// A system call failed.
    #[error("{action}: {cause}")]
    System {
        /// The failed action.
        action: &'static str,
        /// The system's error, which the message has.
        cause: std::io::Error,
    },
}

/// Imports that are named in a message.
const LISTED: usize = 20;

/// Imports in a message.
fn listed(imports: &[String]) -> String {
    let more = imports.len().saturating_sub(LISTED);
    let end = if more > 0 { format!("; and {more} more") } else { String::new() };
    imports[..imports.len() - more].join("; ") + &end
}

impl Error {
    /// The handle of an export was made by another module.
    pub const FOREIGN_HANDLE: Self = Self::Misuse("the export handle is of another module");

    /// The module cannot be hosted, for this reason.
    pub fn unhostable(reason: impl Into<String>) -> Self {
        Self::Guest(guest::Error::unhostable(reason))
    }

    /// A closure for `map_err` that wraps a runtime's error.
    pub fn runtime<E: std::fmt::Display>(
        engine: &'static str,
        action: &'static str,
    ) -> impl FnOnce(E) -> Self {
        // `{:#}` prints the chain of causes of the error types that have one.
        move |error| Self::Runtime { engine, action, reason: format!("{error:#}") }
    }

    /// The error of an instantiation that ended with the guest's trap, or with a failure.
    #[must_use]
    pub fn of_instantiation(sorted: Result<Trap>) -> Self {
        sorted.map_or_else(|error| error, |trap| Self::Instantiation { trap })
    }

    /// The error for a module whose memory cannot have a [`Region`](crate::memory::Region).
    #[must_use]
    pub fn no_region(reason: &str) -> Self {
        Self::unhostable(format!("no region can be mapped into its memory: {reason}"))
    }

    /// A closure for `map_err` that wraps a system error.
    pub fn system<E: Into<std::io::Error>>(action: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::System { action, cause: error.into() }
    }
}

impl From<crate::memory::Error> for Error {
    fn from(error: crate::memory::Error) -> Self {
        use crate::memory::Error as Memory;
        match error {
            Memory::OutOfBounds { .. } => {
                Self::Instantiation { trap: TrapKind::MemoryOutOfBounds.into() }
            }
            Memory::Misuse(reason) => Self::Misuse(reason),
            Memory::System { action, cause } => Self::System { action, cause },
            // `Unsuitable`, and variants of later versions.
            other => Self::unhostable(other.to_string()),
        }
    }
}

/// A segment that does not fit is the guest's trap at the instantiation.
impl From<guest::Error> for Error {
    fn from(error: guest::Error) -> Self {
        match error {
            guest::Error::Segment(trap) => {
                Self::Instantiation { trap: TrapKind::from(trap).into() }
            }
            other => Self::Guest(other),
        }
    }
}
