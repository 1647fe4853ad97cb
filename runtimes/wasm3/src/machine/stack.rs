//! Where the machine's stack ends for a guest.
//!
//! Wasm3's functions call each other on the machine's stack. Its own guess is
//! that 8 MiB minus 128 KiB are left on it, which is more than most threads
//! have.

use std::cell::Cell;
use std::ffi::c_void;

/// Bytes that a guest may use at most: the same on every thread that has them.
pub(crate) const BUDGET: usize = 1 << 20;
/// Bytes that stay free below: a function is compiled where it is first called,
/// and that took 300 KiB for one of 1405 nested blocks; 4096 are accepted.
pub(super) const MARGIN: usize = 704 << 10;

thread_local! {
    static LOWEST: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The address below which Wasm3 has to stop a guest that is called from here.
pub(super) fn limit() -> *mut c_void {
    let here = 0_u8;
    let here = (&raw const here) as usize;
    here.saturating_sub(BUDGET).max(lowest()) as *mut c_void
}

/// Whether a function can be compiled from here.
pub(super) fn holds_a_compilation() -> bool {
    let here = 0_u8;
    (&raw const here) as usize >= lowest()
}

/// The lowest address that a guest may reach on this thread.
fn lowest() -> usize {
    LOWEST.get().unwrap_or_else(|| {
        // Where the system does not say, the budget alone decides.
        let lowest = end_of_stack().map_or(0, |end| end + MARGIN);
        LOWEST.set(Some(lowest));
        lowest
    })
}

/// Lowest address of this thread's stack.
#[cfg(target_os = "linux")]
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

#[cfg(not(target_os = "linux"))]
fn end_of_stack() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_lies_on_this_threads_stack_and_leaves_the_margin() {
        let holds = || {
            let here = 0_u8;
            let (here, limit) = ((&raw const here) as usize, limit() as usize);
            assert!(limit < here && here - limit <= BUDGET + 4096, "{}", here - limit);
            assert!(limit >= end_of_stack().unwrap() + MARGIN);
        };
        // At least so large: the system may give a larger one that it has left.
        let small = std::thread::Builder::new().stack_size(1 << 20);
        small.spawn(holds).unwrap().join().unwrap();
        holds();
    }
}
