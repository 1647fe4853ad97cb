//! A gate that threads pass before each of their calls, and wait at while
//! another side of a comparison has its turn.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What threads at the gate are to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Order {
    #[default]
    Pass,
    Wait,
    GoHome,
}

/// The gate. It begins open.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// Whether the order is another one than to pass: all that a thread reads
    /// of the gate while it is open.
    closed: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    order: Order,
    /// Threads that wait at the gate: they sleep and take no processor.
    waiting: usize,
    /// Threads that have ended and will not come to the gate again.
    ended: usize,
}

impl Gate {
    /// Passes, or waits until one may. `false` when one is to end.
    #[inline]
    pub(super) fn pass(&self) -> bool {
        // What the order is, is read under the lock; this only tells to look.
        !self.closed.load(Ordering::Relaxed) || self.wait()
    }

    #[cold]
    fn wait(&self) -> bool {
        let mut state = self.state();
        if state.order == Order::Wait {
            state.waiting += 1;
            self.changed.notify_all();
            state = self
                .changed
                .wait_while(state, |state| state.order == Order::Wait)
                .unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
        state.order == Order::Pass
    }

    /// Lets all pass.
    pub(super) fn open(&self) {
        self.give(Order::Pass);
    }

    /// Sends all home.
    pub(super) fn send_home(&self) {
        self.give(Order::GoHome);
    }

    /// Lets nobody pass, and comes back when each of so many threads waits or
    /// has ended: none is within a call any more. `false` when that took longer
    /// than `patience`.
    #[must_use]
    pub(super) fn close(&self, threads: usize, patience: Duration) -> bool {
        self.give(Order::Wait);
        let (state, timeout) = self
            .changed
            .wait_timeout_while(self.state(), patience, |s| s.waiting + s.ended < threads)
            .unwrap_or_else(PoisonError::into_inner);
        drop(state);
        !timeout.timed_out()
    }

    /// Whether a thread has ended.
    pub(super) fn somebody_ended(&self) -> bool {
        self.state().ended > 0
    }

    /// For a thread to hold: tells the gate when it ends, however it does.
    pub(super) fn presence(&self) -> Presence<'_> {
        Presence(self)
    }

    fn give(&self, order: Order) {
        self.state().order = order;
        self.closed.store(order != Order::Pass, Ordering::Relaxed);
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Gate::presence`].
pub(super) struct Presence<'a>(&'a Gate);

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        self.0.state().ended += 1;
        self.0.changed.notify_all();
    }
}
