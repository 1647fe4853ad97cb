//! Reasons why bytes are no usable guest.

use crate::text;
use wasmparser::BinaryReaderError;

/// Result of reading or rewriting a guest.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The bytes are no guest that can be hosted. The message names the remedy, if there is one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes are neither a module nor a compressed blob of one.
    #[error("not a WebAssembly module: {reason}")]
    NotAModule {
        /// The format that the bytes seem to have.
        reason: String,
    },
    /// The bytes are a module, but not a valid one.
    #[error("the module does not validate: {reason} (at offset {offset:#x})")]
    Invalid {
        /// The validator's message.
        reason: String,
        /// Offset in the module, bytes.
        offset: usize,
    },
    /// The compressed blob cannot be unpacked.
    #[error("cannot unpack the compressed blob: {reason}")]
    Blob {
        /// The defect.
        reason: String,
    },
    /// The module needs an unsupported feature, or exceeds a limit.
    #[error("the module cannot be hosted: {reason}")]
    Unhostable {
        /// The feature or the limit.
        reason: String,
    },
    /// Modules cannot be linked.
    #[error("{0}")]
    Link(Box<LinkError>),
    /// A segment does not fit, so every instantiation traps.
    #[error("the guest traps when it is instantiated: {0}")]
    Segment(SegmentTrap),
}

impl Error {
    /// The module needs what nobody here has, for this reason.
    pub fn unhostable(reason: impl Into<String>) -> Self {
        Self::Unhostable { reason: reason.into() }
    }
}

/// Modules cannot become one. Modules in messages are `the main module` and `the library 'NAME'`,
/// types have the text format.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// A library cannot be linked to any module.
    #[error("cannot link '{name}': {error}")]
    Library {
        /// The name that its exports are imported from.
        name: String,
        /// The defect.
        error: Error,
    },
    /// A module lacks an export that another one imports, or has it with another type.
    #[error(
        "{importer} imports {import} as {wanted}, which {exporter} {}{}",
        found.as_ref().map_or("does not export".to_owned(), |found| format!("has as {found}")),
        text::near(near)
    )]
    Import {
        /// The module that imports it.
        importer: String,
        /// The import, as `module.name`.
        import: String,
        /// The imported type.
        wanted: String,
        /// The module that is to export it.
        exporter: String,
        /// The type that it has there, if there is one.
        found: Option<String>,
        /// Otherwise names of exports that resemble it, the closest first.
        near: Vec<String>,
    },
    /// The modules do not fit together.
    #[error("the modules cannot be linked: {reason}")]
    Unlinkable {
        /// The obstacle.
        reason: String,
    },
}

impl From<LinkError> for Error {
    fn from(error: LinkError) -> Self {
        Self::Link(Box::new(error))
    }
}

/// An [`Error::Unhostable`] as a result.
pub(crate) fn unhostable<T>(reason: impl Into<String>) -> Result<T> {
    Err(Error::unhostable(reason))
}

/// The same if there is a reason.
pub(crate) fn refused(reason: Option<String>) -> Result<()> {
    reason.map_or(Ok(()), unhostable)
}

impl From<BinaryReaderError> for Error {
    fn from(error: BinaryReaderError) -> Self {
        Self::Invalid { reason: error.message().to_owned(), offset: error.offset() }
    }
}

/// The trap of an instantiation whose segments do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SegmentTrap {
    /// A data segment does not fit.
    #[error("a data segment lies outside the memory")]
    Memory,
    /// An element segment does not fit.
    #[error("an element segment lies outside the table")]
    Table,
}
