//! Memories whose first write to each page is noticed: they are mapped read-only, the write faults,
//! and the handler opens the page and notes it. A page stays open from call to call.

use super::open_pages::{OpenPages, Protection};
use super::registry::Registry;
use super::{host_page, mappings, signals};
use rustix::mm::{Advice, MprotectFlags};
use std::sync::Arc;

/// Memories that can be tracked at the same time.
pub const TRACKED_AT_ONCE: usize = 1024;

static REGISTRY: Registry<Tracked, TRACKED_AT_ONCE> = Registry::new();

/// One tracked memory: what the handler needs to know and to write.
pub(super) struct Tracked {
    start: usize,
    /// The pages that are open.
    pub(super) pages: OpenPages,
    slot: usize,
}

impl Tracked {
    /// Starts to track `length` bytes from `start` on, of which at most `keep`
    /// pages stay open; `None` when too many memories are tracked already or the
    /// handler cannot be installed. The caller has made the range read-only.
    ///
    /// `start` and `length` must be multiples of the host's page, and the range must stay the
    /// caller's own until the result is dropped: the handler changes the protection of its pages.
    ///
    /// Not in a `Box`: whoever moves one says that no other pointer to its content
    /// is used any more, and the registry has one.
    pub(super) fn new(start: *mut u8, length: usize, keep: usize) -> Option<Arc<Self>> {
        signals::reinstall_signal_handler().ok()?;
        mappings::prepare();
        Self::enter(start, length, keep)
    }

    /// The same without the handler.
    fn enter(start: *mut u8, length: usize, keep: usize) -> Option<Arc<Self>> {
        let slot = REGISTRY.take()?;
        let pages = OpenPages::new((length / host_page()) as u32, keep);
        let tracked = Arc::new(Self { start: start.expose_provenance(), pages, slot });
        REGISTRY.publish(slot, tracked.start, length, Arc::as_ptr(&tracked));
        Some(tracked)
    }

    fn address(&self, page: u32) -> *mut std::ffi::c_void {
        std::ptr::with_exposed_provenance_mut(self.start + page as usize * host_page())
    }
}

/// Bare system calls: they may be made in a handler.
impl Protection for Tracked {
    fn open(&self, page: u32, count: u32) -> bool {
        let flags = MprotectFlags::READ | MprotectFlags::WRITE;
        #[cfg(test)]
        crate::tests::way_back_tests::work(|work| work.calls += 1);
        // SAFETY: `new`'s caller has the range for itself and expects its pages to
        // be opened; they lie inside it.
        unsafe {
            rustix::mm::mprotect(self.address(page), count as usize * host_page(), flags).is_ok()
        }
    }

    fn populate(&self, page: u32, count: u32) {
        let length = count as usize * host_page();
        // SAFETY: the range is the memory's own and writable by now; its content stays the same.
        let _ =
            unsafe { rustix::mm::madvise(self.address(page), length, Advice::LinuxPopulateWrite) };
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        REGISTRY.give_back(self.slot);
    }
}

/// Opens the page of a tracked memory that lies at an address to which a write was refused. Whether
/// the kernel did it, so that the access, made again, succeeds; `None` if it is in no tracked
/// memory.
///
/// Called by the handler, for writes alone: in a tracked memory nothing else is refused that
/// opening the page allows. A place of the registry that another thread changes at this moment is
/// passed over, rightly: it is not that of a memory which this thread writes.
pub(super) fn open_page_at(address: usize) -> Option<bool> {
    let memory = REGISTRY.find(address)?;
    #[cfg(test)]
    crate::tests::way_back_tests::work(|work| work.signals += 1);
    // SAFETY: what is in the registry takes itself out when it is dropped. That does
    // not happen now: this thread is in the middle of a write to the memory, so
    // whoever has it, and its `Tracked`, waits for this write. All that changes in
    // a `Tracked` is atomic: other threads may be here for other writes.
    let tracked = unsafe { &*memory };
    let page = ((address - tracked.start) / host_page()) as u32;
    Some(tracked.pages.open(page, tracked))
}

/// `true` if a memory was tracked in this process so far.
pub fn tracks_any() -> bool {
    REGISTRY.was_used()
}

/// `true` if memories can be tracked in this process.
pub fn is_available() -> bool {
    signals::reinstall_signal_handler().is_ok()
}

#[cfg(test)]
mod tests {
    use super::super::open_pages::Wanted;
    use super::*;

    /// The owner sees what the handler writes, wherever the owner went.
    #[test]
    fn what_is_found_stays_where_it_is_while_its_owner_moves() {
        // Only an address: nothing is accessed there.
        const START: usize = 1 << 60;
        let length = 8 * host_page();
        let found = || REGISTRY.find(START + 3 * host_page());
        // Another test takes all places there are, for a while.
        let tracked = loop {
            match Tracked::enter(std::ptr::without_provenance_mut(START), length, 4) {
                Some(tracked) => break tracked,
                None => std::thread::yield_now(),
            }
        };
        let mut owners = vec![tracked];
        for round in 0..3 {
            // SAFETY: its owner is there.
            let as_handler = unsafe { &*found().unwrap() };
            assert_eq!(as_handler.pages.wanted(round), Wanted::Pages(1));
            assert!(as_handler.pages.note(round, 1));
            let tracked = owners.pop().unwrap();
            assert_eq!(tracked.pages.listed(), 1);
            tracked.pages.start_over();
            owners.push(tracked);
            owners.reserve(100);
        }
        drop(owners);
        assert!(found().is_none());
    }
}
