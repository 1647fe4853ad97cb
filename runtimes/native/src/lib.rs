//! The guests' own code, compiled for the host: the baseline, a call without a runtime.
//!
//! A call has the same steps as on other engines. The host's allocator places the input in a linear
//! memory of the guest's size, the export's function runs, the output is fetched from that memory,
//! and the memory is cleaned by the strategy's
//! [`MemoryTemplate`](touchstone_executor::memory::MemoryTemplate). The guest's code allocates in
//! that memory, from the module's allocator.
//! [`Module::effective`](touchstone_executor::Module::effective) lists one difference: the guest's
//! constants are in its library. The memory still holds the module's data segments, so cleaning
//! costs the same.
//!
//! The guests are a separate library (`test-runtime/native/library`), because cargo applies
//! link-time optimisation and an allocator only to whole programs. `build.rs` builds the library
//! in the guests' workspace; this crate contains the file and loads it.
//!
//! The baseline isolates nothing: only the safety of Rust keeps this code inside its memory.

mod engine;
mod guests;
mod module;
mod running;

use touchstone_executor::adapter::MeasuredEngine;

/// The one engine of this crate.
#[must_use]
pub fn engines() -> Vec<Box<dyn MeasuredEngine>> {
    vec![Box::new(engine::Native)]
}
