//! Wasm3 behind the executor contract.
//!
//! Two engines, which compile functions to Wasm3's code at different times: `wasm3` at the first
//! call, as Wasm3 does by default, `wasm3_eager` when an instance is made. Both support a new
//! instance per call, in Wasm3's own memory or in one of Touchstone's, and one instance that is
//! reset in place on Touchstone's memory.
//!
//! The raw reference uses the bindings `wasm3x`. The adapter uses their raw layer: it gives
//! Wasm3 a memory, restores tables and bounds the machine's stack, which Wasm3's interface does
//! not support.

mod blocks;
mod engine;
mod machine;
mod module;
mod raw;
mod reuse;
mod rewrite;

use touchstone_executor::adapter::MeasuredEngine;

/// The engines of this crate.
#[must_use]
pub fn engines() -> Vec<Box<dyn MeasuredEngine>> {
    use engine::Wasm3;
    vec![Box::new(Wasm3::new(false)), Box::new(Wasm3::new(true))]
}
