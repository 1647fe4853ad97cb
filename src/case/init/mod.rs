//! Pre-initialisation: a guest's bytes after one of its exports ran.
//!
//! The export runs once, in wasmi. `wasmtime-wizer` writes the resulting memory and globals into a
//! new module without the export. All engines get the same bytes.

mod constructors;
#[cfg(feature = "wizer")]
mod snapshot;

pub use constructors::{Constructed, Means, constructed};

use touchstone_executor::Signature;
use touchstone_executor::guest::text::{near, similar};
#[cfg(feature = "wizer")]
use touchstone_executor::guest::with_definitions;
use touchstone_executor::guest::{self, ModuleInfo, unpack};

/// The reason why a guest cannot be pre-initialised.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InitError {
    #[error("this build cannot pre-initialise guests: it lacks the feature `wizer`")]
    NotBuilt,
    #[error("{0}")]
    Failed(String),
}

/// The module after `export` ran on a new instance: the same result for the same module. A
/// compressed blob is unpacked.
pub fn initialized(bytes: &[u8], export: &str) -> Result<Vec<u8>, InitError> {
    let invalid =
        |error: guest::Error| InitError::Failed(format!("the guest cannot be read: {error}"));
    let wasm = unpack(bytes).map_err(invalid)?;
    let info = ModuleInfo::read(&wasm).map_err(invalid)?;
    let failed = |reason: String| Err(InitError::Failed(reason));
    if info.component.is_some() {
        return failed("a component cannot be pre-initialised".to_owned());
    }
    let Some(found) = info.exports.iter().find(|candidate| candidate.name == export) else {
        let near = near(&similar(export, info.exports.iter().map(|export| export.name.as_str())));
        return failed(format!("the module has no exported function '{export}'{near}"));
    };
    if found.signature.as_ref() != Some(&Signature::default()) {
        let signature = found.signature.as_ref().map(Signature::to_string);
        let found = signature.unwrap_or_else(|| "of types that no host can pass".to_owned());
        return failed(format!("export '{export}' is {found}; it must be a function () -> ()"));
    }
    #[cfg(feature = "wizer")]
    return snapshot::take(&with_definitions(&wasm).map_err(invalid)?, export)
        .map_err(InitError::Failed);
    #[cfg(not(feature = "wizer"))]
    Err(InitError::NotBuilt)
}
