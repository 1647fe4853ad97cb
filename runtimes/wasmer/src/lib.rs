//! Wasmer behind Touchstone's executor contract.
//!
//! One engine, `wasmer`, with Cranelift. Wasmer itself makes a new instance per call. Reuse in
//! place and the copy-on-write strategies use Touchstone's memories, which Wasmer gets through
//! its `Tunables`.

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

use touchstone_executor::adapter::MeasuredEngine;

/// The engines of this crate.
#[must_use]
pub fn engines() -> Vec<Box<dyn MeasuredEngine>> {
    vec![Box::new(engine::Wasmer::new())]
}
