//! Wasmer behind Touchstone's executor contract.
//!
//! One engine, `wasmer`, with Cranelift. Recreating is Wasmer's own; reuse in
//! place and the copy-on-write strategies work on memories of this project's own,
//! given to Wasmer through its `Tunables`.

mod engine;
mod imports;
mod memory;
mod module;
mod raw;
mod reuse;
mod rewrite;
mod running;
mod settings;
mod trap;

use touchstone_executor::Engine;

/// The engines of this crate.
#[must_use]
pub fn engines() -> Vec<Box<dyn Engine>> {
    vec![Box::new(engine::Wasmer::new())]
}
