//! Forks of the process: no other thread may hold a lock of this module meanwhile, because in the
//! child nobody would let go of it.

use super::calls::{All, Calls};
use super::{State, TICKER};
use std::cell::Cell;
use std::sync::{MutexGuard, Once};

thread_local! {
    /// The locks that this thread has taken for a fork.
    static HELD: Cell<Option<Held>> = const { Cell::new(None) };
}

struct Held {
    _state: MutexGuard<'static, State>,
    all: MutexGuard<'static, All>,
}

/// Has the system call this module around each fork from now on.
pub(super) fn watch() {
    static ONCE: Once = Once::new();
    // SAFETY: the functions stay, and do only what they do on any thread at any time. If there is
    // no memory for them, forks are as without.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child));
    });
}

unsafe extern "C" fn before() {
    // Nobody takes the second one and then the first. A thread that is ending cannot keep them.
    let _ = HELD.try_with(|held| {
        held.set(Some(Held { _state: TICKER.state(), all: Calls::all() }));
    });
}

unsafe extern "C" fn in_parent() {
    let _ = HELD.try_with(Cell::take);
}

unsafe extern "C" fn in_child() {
    let _ = HELD.try_with(|held| {
        if let Some(held) = held.take() {
            Calls::forked(&held.all);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Without [`watch`], a child waits for ever.
    #[test]
    fn a_child_finds_no_lock_taken() {
        watch();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    drop(Calls::all());
                    drop(TICKER.state());
                }
            });
            let waited = (0..50).map(|_| ended_child()).find(|status| *status != 0);
            over.store(true, Ordering::Relaxed);
            assert_eq!(waited, None, "a child waited for a lock");
        });
    }

    /// The status of a child that has taken both locks, or was ended because it waited too long.
    fn ended_child() -> i32 {
        // SAFETY: the child takes two locks and ends, without anything that other threads of its
        // parent could have in hand.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: both functions only end this process.
            unsafe {
                libc::alarm(120);
                drop((Calls::all(), TICKER.state()));
                libc::_exit(0);
            }
        }
        let mut status = -1;
        // SAFETY: the child is this test's own.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        status
    }
}
