//! Memories whose first write to each page is noticed: they are mapped read-only,
//! the write faults, and the handler opens the page and notes it.
//!
//! A page stays open from call to call, so that a call which writes where the
//! last one wrote costs no fault and no system call.

use super::{host_page, signals};
use rustix::mm::{Advice, MprotectFlags};
use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
use std::sync::{Mutex, PoisonError};

/// Memories that can be tracked at the same time.
pub const TRACKED_AT_ONCE: usize = 1024;
/// Pages that one fault opens at most.
const WIDEST: u32 = 64;

/// One tracked memory: what the handler needs to know and to write.
///
/// The handler runs on the thread whose write faulted, which is the one that has
/// the memory; nobody else looks at this meanwhile. Atomics, because to the
/// compiler a handler is like another thread.
pub(super) struct Tracked {
    start: usize,
    pages: u32,
    /// The pages that are open, in the order in which they were first written.
    /// As many places as pages may stay open.
    list: Box<[AtomicU32]>,
    listed: AtomicUsize,
    /// A bit for each page: set when it is in the list.
    open: Box<[AtomicU64]>,
    /// Set when the list was full: then the whole memory is open.
    overflowed: AtomicBool,
    /// The page behind those that were opened last, and how many they were.
    next: AtomicU32,
    width: AtomicU32,
    /// The place in the registry.
    slot: usize,
}

impl Tracked {
    /// Starts to track `length` bytes from `start` on, of which at most `keep`
    /// pages stay open; `None` when too many memories are tracked already or the
    /// handler cannot be installed. The caller has made the range read-only.
    ///
    /// `start` and `length` must be multiples of the host's page, and the range
    /// must stay the caller's own until the result is dropped: the handler
    /// changes the protection of its pages.
    pub(super) fn new(start: *mut u8, length: usize, keep: usize) -> Option<Box<Self>> {
        signals::be_first().ok()?;
        let slot = take_slot()?;
        let pages = (length / host_page()) as u32;
        let tracked = Box::new(Self {
            start: start as usize,
            pages,
            list: (0..keep.min(pages as usize)).map(|_| AtomicU32::new(0)).collect(),
            listed: AtomicUsize::new(0),
            open: (0..pages.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
            overflowed: AtomicBool::new(false),
            next: AtomicU32::new(u32::MAX),
            width: AtomicU32::new(1),
            slot,
        });
        SLOTS[slot].publish(start as usize, length, &raw const *tracked);
        Some(tracked)
    }

    /// How many pages are open, if the list was long enough for them.
    #[inline]
    pub(super) fn listed(&self) -> usize {
        self.listed.load(Ordering::Relaxed)
    }

    /// How many pages may be open.
    pub(super) fn keeps(&self) -> usize {
        self.list.len()
    }

    /// The open page at a place of the list.
    #[inline]
    pub(super) fn page(&self, index: usize) -> usize {
        self.list[index].load(Ordering::Relaxed) as usize
    }

    /// Whether the whole memory was opened, because too many pages were written.
    #[inline]
    pub(super) fn overflowed(&self) -> bool {
        self.overflowed.load(Ordering::Relaxed)
    }

    /// Puts the list in the order of addresses from a place on: a reset then walks
    /// through memory as the processor expects it.
    pub(super) fn sort(&self) {
        let mut pages: Vec<u32> =
            self.list[..self.listed()].iter().map(|page| page.load(Ordering::Relaxed)).collect();
        if pages.is_sorted() {
            return;
        }
        pages.sort_unstable();
        for (place, page) in self.list.iter().zip(pages) {
            place.store(page, Ordering::Relaxed);
        }
    }

    /// Takes pages off the list; `keep` is asked for each one.
    pub(super) fn retain(&self, mut keep: impl FnMut(usize) -> bool) {
        let mut kept = 0;
        for index in 0..self.listed() {
            let page = self.list[index].load(Ordering::Relaxed);
            if keep(page as usize) {
                self.list[kept].store(page, Ordering::Relaxed);
                kept += 1;
            } else {
                self.open[page as usize / 64].fetch_and(!(1 << (page % 64)), Ordering::Relaxed);
            }
        }
        self.listed.store(kept, Ordering::Relaxed);
    }

    /// Forgets all that was noted. The caller has made the range read-only again.
    pub(super) fn start_over(&self) {
        self.retain(|_| false);
        self.overflowed.store(false, Ordering::Relaxed);
        self.next.store(u32::MAX, Ordering::Relaxed);
        self.width.store(1, Ordering::Relaxed);
    }

    /// Opens a page, and those behind it when the last faults were in order: a
    /// guest that fills a buffer then faults a few times and not for every page.
    ///
    /// Called by the handler.
    fn open(&self, page: u32) -> bool {
        if self.overflowed() || self.is_open(page) {
            // Not for lack of write access: somebody else's fault.
            return false;
        }
        let in_order = self.next.load(Ordering::Relaxed) == page;
        let wanted =
            if in_order { (self.width.load(Ordering::Relaxed) * 2).min(WIDEST) } else { 1 };
        let listed = self.listed();
        let room = (self.list.len() - listed) as u32;
        let mut width = 0;
        while width < wanted.min(room).min(self.pages - page) && !self.is_open(page + width) {
            width += 1;
        }
        if width == 0 || !self.protect(page, width) {
            // The list is full, or the kernel has no more mappings for single pages.
            self.overflowed.store(true, Ordering::Relaxed);
            return self.protect(0, self.pages);
        }
        if width > 1 {
            // All at once instead of a fault each. It is only a help: without it
            // they fault.
            // SAFETY: the range is the memory's own and writable by now; its
            // content stays the same.
            let _ = unsafe {
                rustix::mm::madvise(
                    self.address(page),
                    width as usize * host_page(),
                    Advice::LinuxPopulateWrite,
                )
            };
        }
        for index in 0..width {
            let page = page + index;
            self.list[listed + index as usize].store(page, Ordering::Relaxed);
            self.open[page as usize / 64].fetch_or(1 << (page % 64), Ordering::Relaxed);
        }
        self.listed.store(listed + width as usize, Ordering::Relaxed);
        self.next.store(page + width, Ordering::Relaxed);
        self.width.store(width, Ordering::Relaxed);
        true
    }

    /// Whether a page is in the list.
    pub(super) fn is_open(&self, page: u32) -> bool {
        self.open[page as usize / 64].load(Ordering::Relaxed) & (1 << (page % 64)) != 0
    }

    fn address(&self, page: u32) -> *mut std::ffi::c_void {
        std::ptr::with_exposed_provenance_mut(self.start + page as usize * host_page())
    }

    /// Makes pages writable. A bare system call: it may be made in a handler.
    fn protect(&self, page: u32, count: u32) -> bool {
        let flags = MprotectFlags::READ | MprotectFlags::WRITE;
        // SAFETY: `new`'s caller has the range for itself and expects its pages to
        // be opened; they lie inside it.
        unsafe {
            rustix::mm::mprotect(self.address(page), count as usize * host_page(), flags).is_ok()
        }
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        SLOTS[self.slot].clear();
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(self.slot);
    }
}

/// A place of the registry, read by handlers without a lock: what was read counts
/// only if the version was even and the same before and after.
struct Slot {
    version: AtomicU32,
    start: AtomicUsize,
    end: AtomicUsize,
    memory: AtomicPtr<Tracked>,
}

static SLOTS: [Slot; TRACKED_AT_ONCE] = [const {
    Slot {
        version: AtomicU32::new(0),
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        memory: AtomicPtr::new(std::ptr::null_mut()),
    }
}; TRACKED_AT_ONCE];

/// Places that were used ever: none behind them needs to be looked at.
static USED: AtomicUsize = AtomicUsize::new(0);
/// Places among them that are free.
static FREE: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn take_slot() -> Option<usize> {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(slot) = free.pop() {
        return Some(slot);
    }
    let slot = USED.load(Ordering::Relaxed);
    if slot == TRACKED_AT_ONCE {
        return None;
    }
    USED.store(slot + 1, Ordering::Release);
    Some(slot)
}

impl Slot {
    fn publish(&self, start: usize, length: usize, memory: *const Tracked) {
        self.change(|| {
            self.start.store(start, Ordering::Relaxed);
            self.end.store(start + length, Ordering::Relaxed);
            self.memory.store(memory.cast_mut(), Ordering::Relaxed);
        });
    }

    fn clear(&self) {
        self.change(|| {
            self.start.store(0, Ordering::Relaxed);
            self.end.store(0, Ordering::Relaxed);
            self.memory.store(std::ptr::null_mut(), Ordering::Relaxed);
        });
    }

    /// Only whoever has taken the slot changes it, so there is one at a time.
    fn change(&self, write: impl FnOnce()) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        write();
        self.version.store(version.wrapping_add(2), Ordering::Release);
    }

    /// The memory that an address lies in.
    fn holds(&self, address: usize) -> Option<*const Tracked> {
        let version = self.version.load(Ordering::Acquire);
        let (start, end) = (self.start.load(Ordering::Relaxed), self.end.load(Ordering::Relaxed));
        let memory = self.memory.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        let stable = version % 2 == 0 && self.version.load(Ordering::Relaxed) == version;
        (stable && (start..end).contains(&address)).then_some(memory.cast_const())
    }
}

/// Opens the page of a tracked memory that lies at an address to which a write
/// was refused; `false` when there is no such memory.
///
/// Called by the handler. A slot that another thread changes at this moment is
/// passed over, rightly: it is not that of a memory which this thread runs on.
pub(super) fn open_page_at(address: usize) -> bool {
    let used = USED.load(Ordering::Acquire);
    let Some(memory) = SLOTS[..used].iter().find_map(|slot| slot.holds(address)) else {
        return false;
    };
    // SAFETY: the slot was published with a `Tracked` that clears it when it is
    // dropped. That does not happen now: this thread is in the middle of a write to
    // the memory, so whoever has it, and its `Tracked`, waits for this write.
    let tracked = unsafe { &*memory };
    tracked.open(((address - tracked.start) / host_page()) as u32)
}

/// Whether memories can be tracked in this process.
#[must_use]
pub fn is_available() -> bool {
    signals::be_first().is_ok()
}
