//! tinywasm behind the executor contract.
//!
//! One engine, `tinywasm`: a small interpreter that is written without unsafe
//! code. It takes any memory that implements its trait, so that new instances
//! and reused ones alike can run on memories of this project's own.

mod caged;
mod engine;
mod imports;
mod memory;
mod module;
mod raw;
mod reuse;
mod running;
mod trap;

use touchstone_executor::Engine;

/// The engines of this crate.
#[must_use]
pub fn engines() -> Vec<Box<dyn Engine>> {
    vec![Box::new(engine::TinyWasm)]
}
