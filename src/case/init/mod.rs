//! Pre-initialisation: a guest's bytes after one of its exports ran.
//!
//! The export runs once, in wasmi. `wasmtime-wizer` writes the resulting memory and globals into a
//! new module without the export. All engines get the same bytes.

#[cfg(feature = "wizer")]
mod snapshot;

use touchstone_executor::Signature;
use touchstone_executor::guest::text::{near, similar};
#[cfg(feature = "wizer")]
use touchstone_executor::guest::with_definitions;
use touchstone_executor::guest::{self, ModuleInfo, constructors, started_with, unpack};

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

/// A module of a user whose constructors have run, or run at each instantiation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constructed {
    pub wasm: Vec<u8>,
    /// Constructors in the order of their calls.
    pub exports: Vec<String>,
    pub means: Means,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Means {
    /// Once: the module contains their effects. Every strategy remains possible.
    Initialized,
    /// By a start function, in each new instance. Strategies that start from an image of the
    /// memory refuse such a module.
    Started {
        /// Why the module could not be pre-initialised.
        reason: String,
    },
}

/// The module with its constructors called before `export`; `None` if it has none. Pre-initialises
/// the module if possible; otherwise, for instance if a constructor calls the host, a start
/// function calls them.
pub fn constructed(
    wasm: &[u8],
    info: &ModuleInfo,
    export: &str,
) -> guest::Result<Option<Constructed>> {
    let names = if info.component.is_some() { Vec::new() } else { constructors(info, export) };
    if names.is_empty() {
        return Ok(None);
    }
    let exports = names.iter().map(|name| (*name).to_owned()).collect();
    let initialized = names.iter().try_fold(wasm.to_vec(), |wasm, name| initialized(&wasm, name));
    let (wasm, means) = match initialized {
        Ok(wasm) => (wasm, Means::Initialized),
        Err(error) => (started_with(wasm, &names)?, Means::Started { reason: error.to_string() }),
    };
    Ok(Some(Constructed { wasm, exports, means }))
}
