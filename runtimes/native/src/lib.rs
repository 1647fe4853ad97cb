//! The guests' own code, compiled for the host by its compiler: what remains
//! of a call's time when the runtime costs nothing.
//!
//! A call is what it is everywhere: the host's allocator places the input in a
//! linear memory of the guest's size, the export's function runs, the output is
//! fetched from that memory, and the memory is made clean as the strategy says,
//! by the same [`Plan`](touchstone_executor::memory::Plan). What the guest's code
//! allocates lies in that memory and comes from the module's allocator. One thing
//! differs, and [`Module::effective`](touchstone_executor::Module::effective) says
//! so: the guest's constants lie in its library (the memory holds the module's data
//! segments all the same, so that making it clean costs the same).
//!
//! The guests are a library of their own (`test-runtime/native/library`), because
//! cargo gives link-time optimisation to whole programs only, and a program has one
//! allocator. `build.rs` builds it in the guests' workspace; this crate contains the
//! file and loads it.
//!
//! No engine to choose: nothing keeps this code inside its memory but that it
//! was compiled from safe Rust together with the host.

mod engine;
mod guests;
mod module;
mod running;

use touchstone_executor::Engine;

/// The one engine of this crate.
#[must_use]
pub fn engines() -> Vec<Box<dyn Engine>> {
    vec![Box::new(engine::Native)]
}
