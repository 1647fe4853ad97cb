//! wasmi behind the executor contract.
//!
//! Two engines, which translate functions at different times: `wasmi` all of them before the
//! first call, `wasmi_lazy` each one at its first call. Both support a new instance per call, and
//! one instance that is reset in place on Touchstone's memory.

mod code;
mod engine;
mod home;
mod imports;
mod module;
mod raw;
mod record;
mod reuse;
mod running;
mod trap;

use touchstone_executor::adapter::MeasuredEngine;

/// The engines of this crate.
#[must_use]
pub fn engines() -> Vec<Box<dyn MeasuredEngine>> {
    vec![Box::new(engine::Wasmi { is_lazy: false }), Box::new(engine::Wasmi { is_lazy: true })]
}
