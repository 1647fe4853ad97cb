//! Wasm3 behind the executor contract.
//!
//! Two engines that differ in when functions are compiled to Wasm3's code:
//! `wasm3` compiles each one when it is first called, as Wasm3 does by default,
//! `wasm3_eager` all of them when an instance is made. Both offer a new instance
//! each call, in Wasm3's own memory or in one of ours, and one instance reset in
//! place whose memory is ours.
//!
//! The bindings `wasm3x` serve as the raw reference. The adapter itself stands
//! on their raw layer: it gives Wasm3 a memory, restores tables and bounds the
//! machine's stack, and Wasm3's interface has none of these.

mod blocks;
mod engine;
mod fresh;
mod machine;
mod module;
mod raw;
mod recipe;
mod reuse;
mod rewrite;

use touchstone_executor::Engine;

/// The engines of this crate.
#[must_use]
pub fn engines() -> Vec<Box<dyn Engine>> {
    use engine::Wasm3;
    vec![Box::new(Wasm3::new(false)), Box::new(Wasm3::new(true))]
}
