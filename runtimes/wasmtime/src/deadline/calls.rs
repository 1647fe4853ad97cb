//! The guests that run on each thread, as far as they have a deadline.

use super::code::Code;
use super::signal;
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize};
use std::sync::{Mutex, MutexGuard, PoisonError};
use touchstone_executor::adapter::Clock;
use touchstone_executor::memory::Padded;
use touchstone_executor::{Trap, TrapKind};

/// Why a guest is stopped. As a number, 0 is for one that is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    Deadline = 1,
    Interrupt = 2,
}

impl Why {
    fn from_number(number: u8) -> Option<Self> {
        [Self::Deadline, Self::Interrupt].into_iter().find(|why| *why as u8 == number)
    }

    /// Why the guest with this clock is to be stopped.
    pub(super) fn of(clock: &Clock) -> Option<Self> {
        match clock.check().err()?.kind {
            TrapKind::Interrupted => Some(Self::Interrupt),
            _ => Some(Self::Deadline),
        }
    }

    pub(super) fn trap(self) -> Trap {
        match self {
            Self::Deadline => TrapKind::DeadlineExceeded.into(),
            Self::Interrupt => TrapKind::Interrupted.into(),
        }
    }
}

/// The calls of a thread. Only that thread writes the fields, without a locked instruction, unless
/// they say otherwise.
#[derive(Default)]
pub(crate) struct Calls {
    /// The kernel's number of the thread.
    thread: AtomicI32,
    /// How many guests run whose code looks at the deadline itself.
    looking: AtomicUsize,
    /// The code of the innermost guest that a signal stops; null without one.
    code: AtomicPtr<Code>,
    /// The tick from which on that guest is stopped.
    due: AtomicU64,
    /// Its clock, if somebody may interrupt it: also for the thread that counts the time.
    clock: Mutex<Option<Clock>>,
    /// `true` if there is one.
    has_clock: AtomicBool,
    /// Changes when such a guest begins and ends.
    turn: AtomicU64,
    /// The turn that is to be stopped, and why, in the last two bits. Written by the thread that
    /// counts the time.
    order: AtomicU64,
    /// Why the host is to stop the guest, which could not be stopped where it was.
    overdue: AtomicU8,
    /// Why the last trap happened, if this module has brought it about.
    stopped: AtomicU8,
}

/// The calls of all threads, and those of threads that have ended.
static ALL: Mutex<(Vec<&Padded<Calls>>, Vec<&Padded<Calls>>)> =
    Mutex::new((Vec::new(), Vec::new()));

thread_local! {
    static OWN: Cell<Option<&'static Padded<Calls>>> = const { Cell::new(None) };
    static LEAVER: Leaver = const { Leaver };
}

/// Gives the calls of a thread back when the thread ends.
struct Leaver;

impl Drop for Leaver {
    fn drop(&mut self) {
        if let Some(own) = OWN.take() {
            lock(&ALL).1.push(own);
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is put back when a guest ends: that of the guest around it.
pub(crate) struct Outer {
    code: *mut Code,
    due: u64,
    clock: Option<Clock>,
}

impl Calls {
    /// Those of this thread.
    #[inline]
    pub(super) fn own() -> &'static Self {
        OWN.get().unwrap_or_else(Self::new)
    }

    #[cold]
    fn new() -> &'static Padded<Self> {
        let mut all = lock(&ALL);
        let own = all.1.pop().unwrap_or_else(|| {
            let new: &Padded<Self> = Box::leak(Box::default());
            all.0.push(new);
            new
        });
        own.thread.store(signal::this_thread(), Relaxed);
        OWN.set(Some(own));
        // A thread that is ending keeps them for good.
        let _ = LEAVER.try_with(|_| ());
        own
    }

    /// A guest begins whose code looks at the deadline.
    #[inline]
    pub(super) fn begin_looking(&self) {
        self.looking.store(self.looking.load(Relaxed) + 1, Release);
    }

    #[inline]
    pub(super) fn end_looking(&self) {
        self.looking.store(self.looking.load(Relaxed) - 1, Release);
    }

    /// A guest begins whose code, which outlives the call, a signal stops.
    #[inline]
    pub(super) fn begin(&self, code: &Code, due: u64, clock: Option<Clock>) -> Outer {
        let (outer, due_outside) = (self.code.load(Relaxed), self.due.load(Relaxed));
        let outer = Outer { code: outer, due: due_outside, clock: self.exchange(clock) };
        self.code.store(ptr::from_ref(code).cast_mut(), Relaxed);
        self.due.store(due, Relaxed);
        self.turn();
        outer
    }

    /// That guest ends at this tick.
    #[inline]
    pub(super) fn end(&self, outer: &mut Outer, now: u64) {
        if !outer.code.is_null() {
            return self.end_inside(outer, now);
        }
        self.exchange(None);
        self.code.store(ptr::null_mut(), Relaxed);
        self.turn();
    }

    /// The same inside a call of a host function.
    #[cold]
    fn end_inside(&self, outer: &mut Outer, now: u64) {
        let clock = outer.clock.take();
        let is_due = (outer.due <= now).then_some(Why::Deadline);
        let overdue = is_due.or_else(|| clock.as_ref().and_then(Why::of));
        self.exchange(clock);
        self.code.store(outer.code, Relaxed);
        self.due.store(outer.due, Relaxed);
        self.turn();
        // Its turn may be so short that no signal ever comes in it.
        self.overdue.store(overdue.map_or(0, |why| why as u8), Relaxed);
    }

    /// What was ordered before is not for the guest that runs now.
    #[inline]
    fn turn(&self) {
        self.overdue.store(0, Relaxed);
        // The thread that counts the time sees what belongs to a turn when it sees its number.
        self.turn.store(self.turn.load(Relaxed).wrapping_add(1), Release);
    }

    #[inline]
    fn exchange(&self, clock: Option<Clock>) -> Option<Clock> {
        if clock.is_none() && !self.has_clock.load(Relaxed) {
            return None;
        }
        self.has_clock.store(clock.is_some(), Relaxed);
        std::mem::replace(&mut *lock(&self.clock), clock)
    }

    fn runs(&self) -> bool {
        self.looking.load(Acquire) > 0 || !self.code.load(Acquire).is_null()
    }

    /// On the thread that counts the time: stops the guest, if it is time. Returns `true` if that
    /// was tried.
    fn stop_if_due(&self, now: u64) -> bool {
        // What is read after the turn may be of a later one: the thread then ignores the order.
        let turn = self.turn.load(Acquire);
        if self.code.load(Relaxed).is_null() {
            return false;
        }
        let why = match self.due.load(Relaxed) <= now {
            true => Some(Why::Deadline),
            false => lock(&self.clock).as_ref().and_then(Why::of),
        };
        let Some(why) = why else { return false };
        self.order.store(turn << 2 | why as u64, Release);
        if !signal::send(self.thread.load(Relaxed)) {
            // The thread is one of the parent's, which this process has been forked from.
            self.code.store(ptr::null_mut(), Relaxed);
        }
        true
    }

    /// In the handler of the signal: the place to go on at in the place of `address`, or the same
    /// place. `None` if there is nothing to be stopped.
    pub(super) fn obey(address: usize) -> Option<usize> {
        let own = OWN.get()?;
        let (order, turn) = (own.order.load(Acquire), own.turn.load(Relaxed));
        // SAFETY: the code outlives the call, which ends in this thread.
        let code = unsafe { own.code.load(Relaxed).as_ref() }?;
        if order >> 2 != turn {
            return None;
        }
        let why = (order & 3) as u8;
        let trap = code.trap_from(address);
        let noted = if trap.is_some() { &own.stopped } else { &own.overdue };
        noted.store(why, Relaxed);
        Some(trap.unwrap_or(address))
    }

    /// In the child of a fork, whose only thread has another number than before.
    pub(super) fn forked() {
        if let Some(own) = OWN.get() {
            own.thread.store(signal::this_thread(), Relaxed);
        }
    }
}

/// `true` if a guest with a deadline runs on any thread.
pub(super) fn any_runs() -> bool {
    lock(&ALL).0.iter().any(|calls| calls.runs())
}

/// Stops the guests whose time is over at this tick. Returns `true` if there are any.
pub(super) fn stop_due(now: u64) -> bool {
    // Under the lock no thread ends.
    lock(&ALL).0.iter().filter(|calls| calls.stop_if_due(now)).count() > 0
}

/// For the host, when it returns to the guest: ends it, if a signal came meanwhile.
///
/// # Errors
///
/// The guest's trap.
#[inline]
pub(crate) fn check() -> Result<(), Trap> {
    let why = OWN.get().map_or(0, |own| own.overdue.load(Relaxed));
    Why::from_number(why).map_or(Ok(()), |why| Err(why.trap()))
}

/// The trap that a signal brought about, if it is the one with which a call has just ended.
#[cold]
pub(crate) fn stopped() -> Option<Trap> {
    let why = OWN.get()?.stopped.load(Relaxed);
    OWN.get()?.stopped.store(0, Relaxed);
    Why::from_number(why).map(Why::trap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_end_leave_their_calls_to_others() {
        let of_a_thread = || {
            let own = || ptr::from_ref(Calls::own()) as usize;
            std::thread::spawn(own).join().unwrap()
        };
        assert_eq!(of_a_thread(), of_a_thread());
    }
}
