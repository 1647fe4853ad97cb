//! Pre-initialisation: a guest's bytes as they are after one of its exports ran.
//!
//! The export runs once, in wasmi, and `wasmtime-wizer` writes the memory and the globals that
//! it left into a new module. All engines get the same bytes. The export is not in them.

mod constructors;
#[cfg(feature = "wizer")]
mod snapshot;

pub use constructors::{Constructed, Means, constructed};

use touchstone_executor::Signature;
#[cfg(feature = "wizer")]
use touchstone_executor::guest::with_definitions;
use touchstone_executor::guest::{self, ModuleInfo, unpack};
use touchstone_executor::text::{near, similar};

/// Why a guest cannot be pre-initialised.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InitError {
    /// The build lacks the feature.
    #[error("this build cannot pre-initialise guests: it lacks the feature `wizer`")]
    NotBuilt,
    /// The bytes are no valid module.
    #[error("the guest cannot be read: {reason}")]
    Invalid {
        /// What is wrong.
        reason: String,
    },
    /// The guest is a component.
    #[error("a component cannot be pre-initialised")]
    Component,
    /// The module does not export such a function.
    #[error("the module has no exported function '{export}'{near}")]
    NoExport {
        /// The name.
        export: String,
        /// Names that resemble it, as the end of a sentence.
        near: String,
    },
    /// The export has parameters or results.
    #[error("export '{export}' is {found}; it must be a function () -> ()")]
    WrongSignature {
        /// The name.
        export: String,
        /// Its type.
        found: String,
    },
    /// The module has state that cannot be written into a module.
    #[error("the module cannot be pre-initialised: {reason}")]
    Unsupported {
        /// What it has.
        reason: String,
    },
    /// The guest calls the host, which is not there yet.
    #[error(
        "'{export}' calls the import {module}.{name}; pre-initialisation has no host functions"
    )]
    CallsImport {
        /// The export that ran.
        export: String,
        /// The import's module.
        module: String,
        /// The import's name.
        name: String,
    },
    /// The guest traps.
    #[error("'{export}' traps: {reason}")]
    Traps {
        /// The export that ran.
        export: String,
        /// The trap.
        reason: String,
    },
    /// The guest does not return.
    #[error("'{export}' does not end within {fuel} units of fuel")]
    Endless {
        /// The export that ran.
        export: String,
        /// What it had.
        fuel: u64,
    },
}

/// The module as it is after `export` ran on a new instance: the same bytes for the same module.
/// A compressed blob is unpacked.
///
/// # Errors
///
/// [`InitError`].
pub fn initialized(bytes: &[u8], export: &str) -> Result<Vec<u8>, InitError> {
    let invalid =
        |error: guest::Error| InitError::Invalid { reason: error.to_string() };
    let wasm = unpack(bytes).map_err(invalid)?;
    let info = ModuleInfo::read(&wasm).map_err(invalid)?;
    if info.component.is_some() {
        return Err(InitError::Component);
    }
    let Some(found) = info.exports.iter().find(|candidate| candidate.name == export) else {
        let names = info.exports.iter().map(|export| export.name.as_str());
        let near = near(&similar(export, names));
        return Err(InitError::NoExport { export: export.to_owned(), near });
    };
    if found.signature.as_ref() != Some(&Signature::default()) {
        let signature = found.signature.as_ref().map(Signature::to_string);
        let found = signature.unwrap_or_else(|| "of types that no host can pass".to_owned());
        return Err(InitError::WrongSignature { export: export.to_owned(), found });
    }
    #[cfg(feature = "wizer")]
    return snapshot::take(&with_definitions(&wasm).map_err(invalid)?, export);
    #[cfg(not(feature = "wizer"))]
    Err(InitError::NotBuilt)
}
