//! Constructors of a user's module: called before the export, without being asked.

use super::initialized;
use touchstone_executor::guest::{ModuleInfo, constructors, started_with};

/// A module whose constructors have run, or run at each instantiation.
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
) -> touchstone_executor::guest::Result<Option<Constructed>> {
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
