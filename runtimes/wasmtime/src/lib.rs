//! Wasmtime behind Touchstone's executor contract.
//!
//! Three engines of one runtime: Cranelift (`wasmtime`), the single-pass
//! compiler Winch (`wasmtime_winch`) and the portable interpreter Pulley
//! (`wasmtime_pulley`). Recreating and pooling are Wasmtime's own. Reuse in place and
//! `recreate_instance_{resident,gated,tracked}` use Touchstone's memories, which Wasmtime gets
//! through its host memory interface. All engines run components and core modules.
//!
//! Calls on Touchstone's memories are stopped at their deadline by the signal SIGURG, without
//! looks at the time in the guest's code: a host that handles this signal passes it on.
//!
//! A fourth engine, `wasmtime_nearcore`, is a peer: Cranelift with the settings of nearcore.

mod collected;
mod component;
mod data;
mod deadline;
mod engine;
mod image;
mod linker;
mod live;
mod loan;
mod memory;
mod meter;
mod module;
mod nearcore;
mod raw;
mod reuse;
mod settings;
mod tenancy;
mod trap;

use touchstone_executor::adapter::MeasuredEngine;

/// The engines of this crate.
#[must_use]
pub fn engines() -> Vec<Box<dyn MeasuredEngine>> {
    use engine::{Compiler, Wasmtime};
    vec![
        Box::new(Wasmtime::new("wasmtime", Compiler::Cranelift)),
        Box::new(Wasmtime::new("wasmtime_winch", Compiler::Winch)),
        Box::new(Wasmtime::new("wasmtime_pulley", Compiler::Pulley)),
        Box::new(Wasmtime::new("wasmtime_nearcore", Compiler::Nearcore)),
    ]
}
