//! The guests' own code, compiled into the host by its compiler: what remains
//! of a call's time when the runtime costs nothing.
//!
//! A call is what it is everywhere: the host's allocator places the input in a
//! linear memory of the guest's size, the export's function runs, the output is
//! fetched from that memory, and the memory is made clean as the strategy says,
//! by the same [`Plan`](touchstone_executor::memory::Plan). Two things differ,
//! and [`Module::effective`](touchstone_executor::Module::effective) says so:
//! what the guest's code allocates while it runs comes from the process's own
//! allocator, and its constants lie in the host's binary (the memory holds the
//! module's data segments all the same, so that making it clean costs the same).
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
