//! Failures of the host: the module cannot be used, the backend cannot do
//! what was asked, or something under us broke. Never a guest's trap.

use crate::strategy::Strategy;

/// Shorthand for results of the contract.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure of the host. Each one says what to do about it, where something
/// can be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes are neither a module nor a compressed blob of one.
    #[error("not a WebAssembly module: {reason}")]
    NotAModule {
        /// What the bytes look like instead.
        reason: String,
    },
    /// The bytes are a module, but not a valid one.
    #[error("the module does not validate: {reason} (at offset {offset:#x})")]
    Invalid {
        /// What the validator says.
        reason: String,
        /// Where in the module, bytes from its start.
        offset: usize,
    },
    /// A compressed blob that cannot be unpacked.
    #[error("cannot unpack the compressed blob: {reason}")]
    Blob {
        /// What is wrong with it.
        reason: String,
    },
    /// The module uses something that no host here offers, or a limit is exceeded.
    #[error("the module cannot be hosted: {reason}")]
    Unhostable {
        /// What it uses.
        reason: String,
    },
    /// There is no export of that name.
    #[error("the module has no exported function '{name}'{}", near(.candidates))]
    NoSuchExport {
        /// What was asked for.
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
        /// The convention that was asked for.
        abi: crate::abi::Abi,
        /// What the convention needs.
        expected: &'static str,
        /// What the export has, in words.
        found: String,
    },
    /// The module has the export, but this backend cannot call it, whatever the
    /// strategy.
    #[error("{engine} does not have '{name}': {reason}")]
    ExportUnsupported {
        /// The backend.
        engine: &'static str,
        /// The export, or the part of it that was asked for.
        name: String,
        /// Why.
        reason: String,
    },
    /// The backend cannot do the strategy, or not for this module.
    #[error("{engine} does not support {strategy} here: {reason}")]
    Unsupported {
        /// The backend.
        engine: &'static str,
        /// The strategy.
        strategy: Strategy,
        /// Why.
        reason: String,
    },
    /// After loading, something else was in force than the strategy's name says.
    #[error(
        "{engine} was asked for {strategy}, but {reason}; its times would stand under a wrong name"
    )]
    WrongMode {
        /// The backend.
        engine: &'static str,
        /// The strategy.
        strategy: Strategy,
        /// What was found instead.
        reason: String,
    },
    /// An artifact that this backend did not make, or that is damaged.
    #[error("the artifact cannot be loaded by {engine}: {reason}; compile the module again")]
    BadArtifact {
        /// The backend.
        engine: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// `invoke` without `prepare`, or an export of another module.
    #[error("misuse of the contract: {0}")]
    Misuse(&'static str),
    /// The runtime refused or broke.
    #[error("{engine} failed to {action}: {reason}")]
    Runtime {
        /// The backend.
        engine: &'static str,
        /// What it was doing, after "to".
        action: &'static str,
        /// What it says.
        reason: String,
    },
    /// The operating system refused.
    #[error("{action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
}

impl Error {
    /// A closure that wraps what a runtime says, for `map_err`.
    pub fn runtime<E: std::fmt::Display>(
        engine: &'static str,
        action: &'static str,
    ) -> impl FnOnce(E) -> Self {
        // `{:#}` prints the chain of causes of the error types that have one.
        move |error| Self::Runtime { engine, action, reason: format!("{error:#}") }
    }

    /// A closure that wraps what the system says, for `map_err`.
    pub fn system<E: Into<std::io::Error>>(action: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::System { action, source: error.into() }
    }
}

/// Similar names as the end of a message; empty if there are none.
#[must_use]
pub fn near(candidates: &[String]) -> String {
    if candidates.is_empty() { String::new() } else { format!("; near: {}", candidates.join(", ")) }
}
