//! tinywasm behind the executor contract.
//!
//! One engine, `tinywasm`: a small interpreter without unsafe code. It accepts any memory that
//! implements its trait, so new and reused instances run on Touchstone's memories.

mod caged;
mod engine;
mod imports;
mod memory;
mod module;
mod raw;
mod reuse;
mod running;
mod trap;

use touchstone_executor::adapter::MeasuredEngine;

/// The engines of this crate.
#[must_use]
pub fn engines() -> Vec<Box<dyn MeasuredEngine>> {
    vec![Box::new(engine::TinyWasm)]
}
