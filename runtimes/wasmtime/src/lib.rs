//! Wasmtime behind Touchstone's executor contract.
//!
//! Three engines of one runtime: Cranelift (`wasmtime`), the single-pass
//! compiler Winch (`wasmtime_winch`) and the portable interpreter Pulley
//! (`wasmtime_pulley`). Recreating and pooling are Wasmtime's own; reuse in
//! place and `recreate_instance_{resident,tracked}` work on memories of this project's
//! own, given to Wasmtime through its host memory interface. All of them run
//! components as well as core modules.
//!
//! A fourth, `wasmtime_nearcore`, is a peer: Cranelift under the settings by which
//! nearcore runs contracts.

mod component;
mod deadline;
mod engine;
mod linker;
mod live;
mod loan;
mod memory;
mod meter;
mod module;
mod nearcore;
mod raw;
mod restored;
mod reuse;
mod settings;
mod shrinking;
mod tenancy;
mod trap;

use touchstone_executor::Engine;

/// The engines of this crate.
#[must_use]
pub fn engines() -> Vec<Box<dyn Engine>> {
    use engine::{Compiler, Wasmtime};
    vec![
        Box::new(Wasmtime::new("wasmtime", Compiler::Cranelift)),
        Box::new(Wasmtime::new("wasmtime_winch", Compiler::Winch)),
        Box::new(Wasmtime::new("wasmtime_pulley", Compiler::Pulley)),
        Box::new(Wasmtime::new("wasmtime_nearcore", Compiler::Nearcore)),
    ]
}
