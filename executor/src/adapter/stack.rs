//! The stack of the calling thread.

use std::cell::Cell;

thread_local! {
    /// The lowest address, once it was asked for; 0 where the system does not tell.
    static END: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Lowest address of the calling thread's stack; 0 where the system does not tell.
#[inline]
pub fn stack_end() -> usize {
    END.get().unwrap_or_else(|| {
        let end = ask().unwrap_or(0);
        END.set(Some(end));
        end
    })
}

#[cfg(target_os = "linux")]
fn ask() -> Option<usize> {
    // SAFETY: the first call initialises the attributes, or fails without effect; the second one
    // reads them, and the third destroys them.
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
fn ask() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::stack_end;

    #[test]
    fn every_thread_has_a_stack_of_its_own() {
        let look = || {
            let here = 0_u8;
            let (here, end) = ((&raw const here) as usize, stack_end());
            assert!(end < here && here - end <= 64 << 20, "{here:x} {end:x}");
            end
        };
        let thread = std::thread::Builder::new().stack_size(1 << 20);
        assert_ne!(thread.spawn(look).unwrap().join().unwrap(), look());
    }
}
