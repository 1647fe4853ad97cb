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

/// The calls of a thread. Only that thread writes the fields while it lives, without a locked
/// instruction, unless they say otherwise.
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
    clock: Mutex<Option<Box<Clock>>>,
    /// `true` if there is one.
    has_clock: AtomicBool,
    /// Changes when such a guest begins and ends.
    turn: AtomicU64,
    /// The turn that is to be stopped, and why, in the last two bits. Written by the thread that
    /// counts the time, too.
    order: AtomicU64,
    /// `true` while that guest waits for a host function, whose system calls no signal interrupts.
    in_host: AtomicBool,
    /// Why the last trap happened, if this module has brought it about.
    stopped: AtomicU8,
}

/// The calls of all threads.
pub(super) struct All {
    calls: Vec<&'static Padded<Calls>>,
    /// Those of threads that have ended.
    free: Vec<&'static Padded<Calls>>,
}

static ALL: Mutex<All> = Mutex::new(All { calls: Vec::new(), free: Vec::new() });

thread_local! {
    static OWN: Cell<Option<&'static Padded<Calls>>> = const { Cell::new(None) };
    static LEAVER: Leaver = const { Leaver };
}

/// Gives the calls of a thread back when the thread ends.
struct Leaver;

impl Drop for Leaver {
    fn drop(&mut self) {
        if let Some(own) = OWN.take() {
            Calls::all().free.push(own);
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state of the guest around another one, put back when that ends.
pub(crate) struct Outer {
    code: *mut Code,
    in_host: bool,
    due: u64,
    clock: Option<Box<Clock>>,
}

impl Calls {
    /// Those of this thread.
    #[inline]
    pub(super) fn own() -> &'static Self {
        OWN.get().unwrap_or_else(Self::new)
    }

    #[cold]
    fn new() -> &'static Padded<Self> {
        let mut all = Self::all();
        let own = all.free.pop().unwrap_or_else(|| {
            let new: &Padded<Self> = Box::leak(Box::default());
            all.calls.push(new);
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
    pub(super) fn begin(&self, code: &Code, due: u64, clock: Option<Box<Clock>>) -> Outer {
        let outer = Outer {
            code: self.code.load(Relaxed),
            in_host: self.in_host.load(Relaxed),
            due: self.due.load(Relaxed),
            clock: self.exchange(clock),
        };
        self.code.store(ptr::from_ref(code).cast_mut(), Relaxed);
        self.in_host.store(false, Relaxed);
        self.due.store(due, Relaxed);
        self.stopped.store(0, Relaxed);
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
        let why = is_due.or_else(|| clock.as_deref().and_then(Why::of));
        self.exchange(clock);
        self.code.store(outer.code, Relaxed);
        self.in_host.store(outer.in_host, Relaxed);
        self.due.store(outer.due, Relaxed);
        self.turn();
        // The guest's turn may be too short for the thread that counts the time.
        if let Some(why) = why {
            self.order.store(self.turn.load(Relaxed) << 2 | why as u64, Relaxed);
        }
    }

    /// Another guest runs from now on: earlier orders are not for it. The thread that counts the
    /// time sees all that belongs to a turn when it sees its number.
    #[inline]
    fn turn(&self) {
        self.turn.store(self.turn.load(Relaxed).wrapping_add(1), Release);
    }

    /// Why the guest that runs now is to be stopped.
    #[inline]
    fn ordered(&self) -> Option<Why> {
        let (order, turn) = (self.order.load(Acquire), self.turn.load(Relaxed));
        if order >> 2 == turn { Why::from_number((order & 3) as u8) } else { None }
    }

    #[inline]
    fn exchange(&self, clock: Option<Box<Clock>>) -> Option<Box<Clock>> {
        match clock.is_some() || self.has_clock.load(Relaxed) {
            true => self.exchange_shared(clock),
            false => None,
        }
    }

    #[cold]
    fn exchange_shared(&self, clock: Option<Box<Clock>>) -> Option<Box<Clock>> {
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
            false => lock(&self.clock).as_deref().and_then(Why::of),
        };
        let Some(why) = why else { return false };
        self.order.store(turn << 2 | why as u64, Release);
        if self.in_host.load(Relaxed) {
            return true;
        }
        signal::send(self.thread.load(Relaxed));
        true
    }

    /// In the handler of the signal: the place to go on at in the place of `address`, or the same
    /// place. `None` if there is nothing to be stopped.
    pub(super) fn obey(address: usize) -> Option<usize> {
        let own = OWN.get()?;
        let why = own.ordered()?;
        // SAFETY: the code outlives the call, which ends in this thread.
        let code = unsafe { own.code.load(Relaxed).as_ref() }?;
        let trap = code.trap_from(address);
        if trap.is_some() {
            own.stopped.store(why as u8, Relaxed);
        }
        Some(trap.unwrap_or(address))
    }

    /// Those of all threads.
    pub(super) fn all() -> MutexGuard<'static, All> {
        lock(&ALL)
    }

    /// In the child of a fork, whose only thread has another number than before. The guests of its
    /// parent's other threads do not run there.
    pub(super) fn forked(all: &All) {
        let own = OWN.get();
        for calls in &all.calls {
            if own.is_some_and(|own| ptr::eq(own, *calls)) {
                calls.thread.store(signal::this_thread(), Relaxed);
            } else {
                calls.code.store(ptr::null_mut(), Relaxed);
                calls.looking.store(0, Relaxed);
            }
        }
    }
}

/// `true` if a guest with a deadline runs on any thread.
pub(super) fn any_runs() -> bool {
    Calls::all().calls.iter().any(|calls| calls.runs())
}

/// Stops the guests whose time is over at this tick. Returns `true` if there are any.
pub(super) fn stop_due(now: u64) -> bool {
    // Under the lock no thread ends.
    Calls::all().calls.iter().filter(|calls| calls.stop_if_due(now)).count() > 0
}

/// For the host, when it is called by the guest: ends it, if its time is over.
///
/// # Errors
///
/// The guest's trap.
#[inline]
pub(crate) fn check() -> Result<(), Trap> {
    OWN.get().and_then(|own| own.ordered()).map_or(Ok(()), |why| Err(why.trap()))
}

/// A host function of a guest that a signal stops. The guest ends when it returns, if its time is
/// over by then.
///
/// # Errors
///
/// Those of the function, and the guest's trap.
#[inline]
pub(crate) fn in_host(function: impl FnOnce() -> Result<(), Trap>) -> Result<(), Trap> {
    let own = Calls::own();
    own.in_host.store(true, Relaxed);
    let ended = function();
    own.in_host.store(false, Relaxed);
    ended.and_then(|()| check())
}

/// The trap that a signal brought about, if it is the one with which a call has just ended.
#[cold]
pub(crate) fn trap_by_signal() -> Option<Trap> {
    let own = OWN.get()?;
    let why = own.stopped.load(Relaxed);
    own.stopped.store(0, Relaxed);
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
