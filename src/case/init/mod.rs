//! Pre-initialisation: a guest's bytes after one of its exports ran.
//!
//! The export runs once, in wasmi. `wasmtime-wizer` writes the resulting memory and globals into a
//! new module without the export. All engines get the same bytes.

mod constructors;
#[cfg(feature = "wizer")]
mod snapshot;

pub use constructors::{Constructed, Means, constructed};

use touchstone_executor::Signature;
#[cfg(feature = "wizer")]
use touchstone_executor::guest::with_definitions;
use touchstone_executor::guest::{self, ModuleInfo, unpack};
use touchstone_executor::text::{near, similar};

/// The reason why a guest cannot be pre-initialised.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InitError {
    #[error("this build cannot pre-initialise guests: it lacks the feature `wizer`")]
    NotBuilt,
    #[error("the guest cannot be read: {reason}")]
    Invalid { reason: String },
    #[error("a component cannot be pre-initialised")]
    Component,
    #[error("the module has no exported function '{export}'{near}")]
    NoExport {
        export: String,
        /// Similar names, as the end of a sentence.
        near: String,
    },
    #[error("export '{export}' is {found}; it must be a function () -> ()")]
    WrongSignature {
        export: String,
        found: String,
    },
    /// The module has state that a module cannot contain.
    #[error("the module cannot be pre-initialised: {reason}")]
    Unsupported { reason: String },
    /// The guest calls the host, which does not exist yet.
    #[error(
        "'{export}' calls the import {module}.{name}; pre-initialisation has no host functions"
    )]
    CallsImport { export: String, module: String, name: String },
    #[error("'{export}' traps: {reason}")]
    Traps { export: String, reason: String },
    #[error("'{export}' does not end within {fuel} units of fuel")]
    Endless {
        export: String,
        fuel: u64,
    },
}

/// The module after `export` ran on a new instance: the same result for the same module. A
/// compressed blob is unpacked.
pub fn initialized(bytes: &[u8], export: &str) -> Result<Vec<u8>, InitError> {
    let invalid = |error: guest::Error| InitError::Invalid { reason: error.to_string() };
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
