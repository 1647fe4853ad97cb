//! Which memory an address lies in, for signal handlers: a table that is read without a lock.

#[cfg(loom)]
mod loom_tests;

use super::sync::{AtomicPtr, AtomicU32, AtomicUsize, Mutex, Ordering, PoisonError, fence};

/// A table of at most `N` ranges of addresses, each with what it belongs to.
pub(super) struct Registry<T, const N: usize> {
    slots: [Slot<T>; N],
    /// Places that were used ever: none behind them needs to be looked at.
    used: AtomicUsize,
    /// Places among them that are free. The lock is that of whoever comes and
    /// goes; nobody who looks up takes it.
    free: Mutex<Vec<usize>>,
}

impl<T, const N: usize> Registry<T, N> {
    // Loom's atomics are made at run time, in its tests.
    #[cfg(not(loom))]
    pub(super) const fn new() -> Self {
        Self {
            slots: [const { Slot::new() }; N],
            used: AtomicUsize::new(0),
            free: Mutex::new(Vec::new()),
        }
    }

    /// `true` if anything was entered ever.
    pub(super) fn was_used(&self) -> bool {
        self.used.load(Ordering::Relaxed) > 0
    }

    /// A place that nobody else has; `None` when there is none left.
    pub(super) fn take(&self) -> Option<usize> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = free.pop() {
            return Some(slot);
        }
        let slot = self.used.load(Ordering::Relaxed);
        if slot == N {
            return None;
        }
        // Release: whoever sees the number has to see the place as it was before.
        self.used.store(slot + 1, Ordering::Release);
        Some(slot)
    }

    /// Enters a range at a place that was taken.
    pub(super) fn publish(&self, slot: usize, start: usize, length: usize, owner: *const T) {
        self.slots[slot].change(start, start + length, owner.cast_mut());
    }

    /// Gives a place back. What was entered there is not found any more.
    pub(super) fn give_back(&self, slot: usize) {
        self.slots[slot].change(0, 0, std::ptr::null_mut());
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(slot);
    }

    /// The owner of the range that an address lies in. To be found, it must have been entered
    /// before, in the order of this thread's memory accesses, and must not be taken out meanwhile;
    /// a place that another thread changes at this moment is passed over.
    ///
    /// Takes no lock and allocates nothing: it may be called in a handler.
    pub(super) fn find(&self, address: usize) -> Option<*const T> {
        let used = self.used.load(Ordering::Acquire);
        self.slots[..used].iter().find_map(|slot| slot.holds(address))
    }
}

/// A place: what was read counts only if the version was even and the same before and after.
struct Slot<T> {
    version: AtomicU32,
    start: AtomicUsize,
    end: AtomicUsize,
    owner: AtomicPtr<T>,
}

impl<T> Slot<T> {
    #[cfg(not(loom))]
    const fn new() -> Self {
        Self {
            version: AtomicU32::new(0),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            owner: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Only whoever has taken the place changes it, so there is one at a time.
    fn change(&self, start: usize, end: usize, owner: *mut T) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        self.start.store(start, Ordering::Relaxed);
        self.end.store(end, Ordering::Relaxed);
        self.owner.store(owner, Ordering::Relaxed);
        self.version.store(version.wrapping_add(2), Ordering::Release);
    }

    fn holds(&self, address: usize) -> Option<*const T> {
        let version = self.version.load(Ordering::Acquire);
        let (start, end) = (self.start.load(Ordering::Relaxed), self.end.load(Ordering::Relaxed));
        let owner = self.owner.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        let stable = version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version;
        (stable && (start..end).contains(&address)).then_some(owner.cast_const())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn places_are_given_out_once_and_again_when_they_are_free() {
        let registry = Registry::<u8, 2>::new();
        assert!(!registry.was_used());
        let (first, second) = (registry.take().unwrap(), registry.take().unwrap());
        assert_ne!(first, second);
        assert!(registry.was_used());
        assert_eq!(registry.take(), None);
        registry.publish(first, 100, 10, &raw const first as *const u8);
        registry.publish(second, 110, 10, &raw const second as *const u8);
        assert_eq!(registry.find(109), Some(&raw const first as *const u8));
        assert_eq!(registry.find(110), Some(&raw const second as *const u8));
        assert_eq!(registry.find(99), None);
        assert_eq!(registry.find(120), None);
        registry.give_back(first);
        assert_eq!(registry.find(105), None);
        assert_eq!(registry.take(), Some(first));
    }

    /// While others come and go at the same places and with the same addresses,
    /// each finds its own and nothing half-written. What is found is read, so that
    /// Miri sees when it is not there any more.
    #[test]
    fn each_thread_finds_its_own_while_the_places_change_hands() {
        const THREADS: usize = 3;
        let rounds = if cfg!(miri) { 12 } else { 20_000 };
        let registry = Registry::<[usize; 2], 4>::new();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let registry = &registry;
                scope.spawn(move || {
                    for round in 0..rounds {
                        // Ranges of its own, of changing size, next to the others'.
                        let start = 1000 * (thread + 1) - round % 7;
                        let length = 900 + round % 11;
                        let own = Box::into_raw(Box::new([thread, round]));
                        let slot = registry.take().unwrap();
                        registry.publish(slot, start, length, own);
                        for address in [start, start + length - 1] {
                            let found = registry.find(address).unwrap();
                            // SAFETY: it is this thread's own, which is what is tested;
                            // nobody frees it before the end of the round.
                            assert_eq!(unsafe { *found }, [thread, round]);
                        }
                        assert_eq!(registry.find(1000 * (THREADS + 2)), None);
                        registry.give_back(slot);
                        assert_eq!(registry.find(start + 10), None);
                        // SAFETY: made above and taken out of the registry.
                        drop(unsafe { Box::from_raw(own) });
                    }
                });
            }
        });
    }

    /// A memory may be made on one thread and used on another.
    #[test]
    fn what_was_entered_before_a_hand_over_is_found_after_it() {
        let registry = Registry::<usize, 8>::new();
        let rounds = if cfg!(miri) { 4 } else { 500 };
        std::thread::scope(|scope| {
            let (give, take) = std::sync::mpsc::sync_channel::<(usize, usize)>(1);
            let registry = &registry;
            scope.spawn(move || {
                while let Ok((slot, address)) = take.recv() {
                    let found = registry.find(address).unwrap();
                    assert_eq!(found as usize, address);
                    registry.give_back(slot);
                }
            });
            for round in 1..=rounds {
                let Some(slot) = registry.take() else {
                    std::thread::yield_now();
                    continue;
                };
                let address = round * 64;
                registry.publish(slot, address, 64, std::ptr::without_provenance(address));
                give.send((slot, address)).unwrap();
            }
        });
    }
}
