//! wasmi behind the executor contract.
//!
//! Two engines that differ in when functions are translated: `wasmi` translates
//! all of them before the first call, `wasmi_lazy` each one when it is first
//! called. Both offer a new instance each call, and one instance reset in place
//! whose memory is ours.

mod code;
mod engine;
mod fresh;
mod home;
mod imports;
mod module;
mod raw;
mod record;
mod reuse;
mod running;
mod snapshot;
mod trap;

use touchstone_executor::Engine;

/// The engines of this crate.
#[must_use]
pub fn engines() -> Vec<Box<dyn Engine>> {
    use engine::{Translation, Wasmi};
    vec![Box::new(Wasmi::new(Translation::Eager)), Box::new(Wasmi::new(Translation::Lazy))]
}
