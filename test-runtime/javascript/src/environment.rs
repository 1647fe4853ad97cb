//! The environment of the engine, the same in every instance.

use boa_engine::context::HostHooks;
use boa_engine::context::time::FixedClock;
use boa_engine::{Context, JsResult};
use getrandom::Error;
use std::rc::Rc;

/// A context with all built-in objects, at the first moment of 1970, in the time zone of
/// Greenwich.
pub(crate) fn context() -> JsResult<Context> {
    Context::builder().clock(Rc::new(FixedClock::default())).host_hooks(Rc::new(Hooks)).build()
}

struct Hooks;

impl HostHooks for Hooks {
    fn local_timezone_offset_seconds(&self, _: i64) -> i32 {
        0
    }
}

/// The seed of random numbers: there is none, so that each instance computes the same.
///
/// # Safety
///
/// `start` must be valid for writes of `length` bytes.
// SAFETY: no other symbol of the module has this name, or the linker would refuse the module;
// the signature is the one that getrandom's custom backend declares.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(start: *mut u8, length: usize) -> Result<(), Error> {
    // SAFETY: promised by the caller.
    unsafe { start.write_bytes(0x5a, length) };
    Ok(())
}
