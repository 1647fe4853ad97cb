//! How much of the machine's stack a thread has left.

use std::cell::Cell;
use touchstone_executor::{Error, Result};

/// Compiled frames may be larger than `calls.rs` reckons, by spilled vectors and
/// inlined functions: twice as much has to be there. Functions with larger frames
/// weigh more (`frames.rs`).
pub(crate) const FACTOR: u64 = 2;
/// Where some are at most so many times as large, so much has to be there: to compile the guest again
/// takes as long as the first time, up to minutes.
pub(crate) const MOST_FACTOR: u64 = 3;
/// So much has to be there for the runtime and the host functions.
const MARGIN: u64 = 192 << 10;

thread_local! {
    /// The lowest address of this thread's stack, 0 where the system does not say.
    static LOWEST: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Refuses a call that needs so many bytes of this thread's stack, and the runtime's, where there
/// may be less.
pub(crate) fn check(engine: &'static str, needed: u64) -> Result<()> {
    let lowest = LOWEST.get().unwrap_or_else(|| {
        let lowest = end_of_stack().unwrap_or(0);
        LOWEST.set(Some(lowest));
        lowest
    });
    let here = 0_u8;
    let left = ((&raw const here) as usize - lowest) as u64;
    let wanted = needed + MARGIN;
    if left >= wanted {
        return Ok(());
    }
    Err(too_small(engine, left, wanted))
}

#[cold]
fn too_small(engine: &'static str, left: u64, wanted: u64) -> Error {
    Error::runtime(engine, "call the guest")(format!(
        "this thread has {} KiB of stack left and the guest may take {} KiB; call it on a thread \
         with a larger stack",
        left >> 10,
        wanted >> 10
    ))
}

/// Lowest address of this thread's stack.
fn end_of_stack() -> Option<usize> {
    // SAFETY: the attributes are initialised by the first call, read by the
    // second, and destroyed by the third; the first one fails without effect.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return None;
        }
        let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
        let failed =
            libc::pthread_attr_getstack(&raw const attributes, &raw mut lowest, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        (failed == 0).then_some(lowest as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_stack_is_refused_by_name_and_not_overrun() {
        let on = |size| {
            let thread = std::thread::Builder::new().stack_size(size);
            thread.spawn(|| check("engine", 1 << 20)).unwrap().join().unwrap()
        };
        assert!(on(256 << 10).unwrap_err().to_string().contains("larger stack"));
        on(2 << 20).unwrap();
    }
}
