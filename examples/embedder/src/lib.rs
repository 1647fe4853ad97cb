//! An engine by name, and a module under one strategy, for all examples.

use anyhow::{Context, Result};
use std::sync::Arc;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Config, Engine, Module, Strategy};

/// The engine of a name, such as `wasmtime`.
pub fn engine(name: &str) -> Result<Arc<dyn Engine>> {
    let found = touchstone_runtimes::engines().into_iter().find(|engine| engine.id() == name);
    Ok(found.with_context(|| format!("no engine '{name}' in this build"))?)
}

/// Compiles and loads a module, in binary or text form. Its calls are clean under every strategy.
pub fn load(
    engine: &dyn Engine,
    name: &str,
    wasm: &[u8],
    strategy: Strategy,
    config: &Config,
) -> Result<(GuestModule, Box<dyn Module>)> {
    let guest = GuestModule::new(name, &wat::parse_bytes(wasm)?, HeapPages::default())?;
    let artifact = engine.compile(&guest, strategy, config)?;
    let module = engine.load(&guest, &artifact, strategy, config)?;
    Ok((guest, module))
}
