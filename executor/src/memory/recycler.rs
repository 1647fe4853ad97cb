//! Memories that are used one after the other by different instances.

use super::{Memory, Plan, Reset, Restorer};
use crate::error::{Error, Result};
use crate::shelf::Shelf;
use parking_lot::Mutex;
use std::sync::Arc;

/// Sizes that memories of one module have grown to and that have a recycler each.
const SIZES: usize = 8;
/// Pages that are copied at most when a memory moves to one of those: beyond that,
/// opening pages is as quick.
const MOVED: usize = 32;
/// Resets of a lease without growth between two looks at sizes that nobody needs.
const LOOK: u32 = 1024;

/// Gives out memories of one module and takes them back.
///
/// With a plan, memories come with the plan's content, are reset when they are
/// given back, and are given out again. Without one they are plain zeroed
/// memories, each used once.
#[derive(Debug)]
pub struct Recycler {
    plan: Option<Plan>,
    /// Clean memories.
    idle: Shelf<Memory>,
    keep: usize,
    stays_open: bool,
    /// The same for memories that have grown.
    larger: Mutex<Larger>,
}

/// Memories of a module that have grown.
#[derive(Debug, Default)]
struct Larger {
    sizes: Vec<Size>,
    /// Looks at what is unused so far.
    looks: usize,
}

#[derive(Debug)]
struct Size {
    bytes: usize,
    memories: Arc<Recycler>,
    /// Looks there had been when a lease grew to this size last.
    used: usize,
}

impl Recycler {
    /// One that keeps at most `keep` idle memories, and one for each thread. Those that nobody has needed for
    /// long let go of their pages.
    #[must_use]
    pub fn new(plan: Option<Plan>, keep: usize) -> Self {
        Self { plan, idle: Shelf::new(keep), keep, stays_open: false, larger: Mutex::default() }
    }

    /// Makes memories that [stay open](Memory::staying_open), if that is asked for.
    #[must_use]
    pub fn staying_open(self, stays_open: bool) -> Self {
        Self { stays_open, ..self }
    }

    /// A clean memory: `size` accessible bytes in a reservation of `reserved`.
    /// The same two numbers on every call; with a plan, `size` is the plan's.
    ///
    /// # Errors
    ///
    /// When the system has no memory left.
    pub fn take(&self, size: usize, reserved: usize) -> Result<Memory> {
        // One that could not be trimmed while it was idle is not used.
        while let Some(memory) = self.idle.take() {
            if memory.is_usable() {
                return Ok(memory);
            }
        }
        let memory = Memory::new(self.plan.as_ref(), size, reserved)?;
        Ok(if self.stays_open { memory.staying_open() } else { memory })
    }

    /// Clean memories of the same content and a larger size, where memories can move
    /// to such a one: where it is known which pages were written.
    fn larger(&self, size: usize) -> Option<Arc<Self>> {
        let plan = self.plan.as_ref()?;
        if !matches!(plan.reset, Reset::Tracked { .. }) || plan.region.is_some() {
            return None;
        }
        let mut larger = self.larger.lock();
        let used = larger.looks;
        if let Some(known) = larger.sizes.iter_mut().find(|known| known.bytes == size) {
            known.used = used;
            return Some(Arc::clone(&known.memories));
        }
        if larger.sizes.len() == SIZES {
            return None;
        }
        let memories = Self::new(Some(plan.grown(size)), self.keep);
        let memories = Arc::new(memories.staying_open(self.stays_open));
        larger.sizes.push(Size { bytes: size, memories: Arc::clone(&memories), used });
        Some(memories)
    }

    /// Lets go of the memories of sizes to which nothing has grown for as many looks as
    /// `leases` may have had one each. Their pages and mappings would stay for ever:
    /// nothing is given back there that others could be found unused at.
    #[cold]
    fn forget_unused(&self, leases: usize) {
        let mut larger = self.larger.lock();
        larger.looks += 1;
        let now = larger.looks;
        let unused: Vec<Size> =
            larger.sizes.extract_if(.., |size| now - size.used > leases).collect();
        drop(larger);
        // Not under the lock: many memories may be unmapped.
        drop(unused);
    }

    /// Takes a memory back that [`take`](Self::take) gave. One that cannot be
    /// reset is unmapped: somebody will get a new one.
    pub fn give_back(&self, mut memory: Memory) {
        if !memory.reset().unwrap_or(false) {
            return;
        }
        // Of one that cannot shrink nobody knows what it is: `take` leaves it out.
        self.idle.put(memory, |unused| drop(unused.trim()));
    }
}

/// A memory of a [`Recycler`], given back when it is dropped.
///
/// It grows by moving, where it may: into a clean memory of the new size, with the few
/// pages that were written so far copied. To open pages and to close them after the
/// call are two system calls, which change the process's mappings and shoot down
/// addresses; together they took longer than all else of a call that parses a small
/// JSON text.
#[derive(Debug)]
pub struct Lease {
    /// `None` between [`release`](Self::release) and [`renew`](Self::renew).
    memory: Option<Memory>,
    /// Where it goes back to, if it has moved.
    moved: Option<Arc<Recycler>>,
    /// Where memories of the first size come from, and that size.
    first: Arc<Recycler>,
    size: usize,
    reserved: usize,
    moves: bool,
    /// Resets so far; the number wraps.
    resets: u32,
}

impl Lease {
    /// A clean memory, as [`Recycler::take`] gives it. With `moves`, growing it may
    /// change its address.
    ///
    /// # Errors
    ///
    /// Those of [`Recycler::take`].
    pub fn new(home: &Arc<Recycler>, size: usize, reserved: usize, moves: bool) -> Result<Self> {
        let memory = Some(home.take(size, reserved)?);
        Ok(Self { memory, moved: None, first: Arc::clone(home), size, reserved, moves, resets: 0 })
    }

    /// Whether its memories come from there.
    #[must_use]
    pub fn is_from(&self, home: &Arc<Recycler>) -> bool {
        Arc::ptr_eq(&self.first, home)
    }

    /// Gives the memory back, as dropping the lease does.
    pub fn release(&mut self) {
        let home = self.moved.take();
        if let Some(memory) = self.memory.take() {
            home.as_ref().unwrap_or(&self.first).give_back(memory);
        }
    }

    /// Takes a clean memory again, where the last one was given back.
    ///
    /// # Errors
    ///
    /// Those of [`Recycler::take`].
    pub fn renew(&mut self) -> Result<()> {
        if self.memory.is_none() {
            self.memory = Some(self.first.take(self.size, self.reserved)?);
        }
        Ok(())
    }

    /// Start of the memory; null where it has none.
    #[must_use]
    pub fn base(&self) -> *mut u8 {
        self.memory.as_ref().map_or(std::ptr::null_mut(), Memory::base)
    }

    /// Makes the memory larger; what is new is zero.
    ///
    /// # Errors
    ///
    /// When it is larger than the reservation, or the kernel refuses.
    pub fn grow(&mut self, size: usize) -> Result<()> {
        let Some(memory) = &mut self.memory else { return Ok(()) };
        if size <= memory.accessible() {
            return Ok(());
        }
        if self.moves
            && size <= self.reserved
            && let Some(larger) = self.first.larger(size)
        {
            let mut next = larger.take(size, self.reserved)?;
            if memory.copy_written(&mut next, MOVED) {
                let before = std::mem::replace(memory, next);
                let home = self.moved.replace(larger);
                home.as_ref().unwrap_or(&self.first).give_back(before);
                return Ok(());
            }
            larger.give_back(next);
        }
        memory.grow(size)
    }
}

impl Lease {
    /// Makes the memory clean and of its first size, as a new lease would be. Whether
    /// its size or address is another one than before.
    ///
    /// # Errors
    ///
    /// When the kernel refuses, or the recycler has no plan to do it by; the memory
    /// must then not be used.
    #[inline]
    pub fn reset(&mut self) -> Result<bool> {
        self.resets = self.resets.wrapping_add(1);
        if self.resets.is_multiple_of(LOOK) && self.moves {
            self.first.forget_unused(Arc::strong_count(&self.first));
        }
        if self.moved.is_some() {
            let next = self.first.take(self.size, self.reserved)?;
            if let (Some(home), Some(before)) = (self.moved.take(), self.memory.replace(next)) {
                home.give_back(before);
            }
            return Ok(true);
        }
        let Some(memory) = &mut self.memory else { return Ok(false) };
        let before = memory.accessible();
        if !memory.reset()? {
            return Err(Error::Misuse("a memory without a plan cannot be made clean"));
        }
        Ok(memory.accessible() != before)
    }

    /// What looks after the memory, where there is a plan.
    pub fn restorer(&mut self) -> Option<&mut Restorer> {
        self.memory.as_mut()?.restorer()
    }

    /// Lets go of all pages that a clean memory keeps resident.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::trim`].
    pub fn trim(&mut self) -> Result<()> {
        self.memory.as_mut().map_or(Ok(()), Memory::trim)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{InitialMemory, KEEP_RESIDENT, Mapping, Reset};
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "needs mmap without access, mprotect or signals")]
    fn a_memory_comes_back_clean_and_of_its_first_size() {
        let mut clean = vec![0; 65_536];
        clean[5] = 7;
        for reset in super::super::test_support::kinds(KEEP_RESIDENT) {
            let plan = Plan::new(InitialMemory::capture(&clean), reset).unwrap();
            let recycler = Recycler::new(Some(plan), 1);
            let (mut base, made) = (None, Mapping::made());
            for round in 0..30 {
                let mut memory = recycler.take(65_536, 4 * 65_536).unwrap();
                assert_eq!((recycler.idle.len(), Mapping::made() - made), (0, 1));
                assert_eq!(*base.get_or_insert(memory.base()), memory.base());
                assert!(memory.bytes_mut() == clean, "{reset:?}, round {round}");
                // Growth, sometimes, over what an earlier round has written.
                if round % 8 < 2 {
                    memory.grow((2 + round % 3) * 65_536).unwrap();
                    assert!(memory.bytes_mut()[65_536..].iter().all(|byte| *byte == 0));
                }
                memory.bytes_mut().fill(1);
                recycler.give_back(memory);
                assert_eq!(recycler.idle.len(), 1);
            }
        }
    }

    /// Nobody has told these memories that they are used on several threads, which those that go by
    /// faults have to be told.
    #[test]
    #[cfg_attr(miri, ignore = "needs mmap without access, mprotect or signals")]
    fn what_another_thread_writes_behind_the_first_size_is_found() {
        const PAGE: usize = 65_536;
        for reset in super::super::test_support::kinds(KEEP_RESIDENT) {
            if matches!(reset, Reset::Gated { .. } | Reset::Auto { .. }) {
                continue;
            }
            let plan = Plan::new(InitialMemory::zeroed(PAGE), reset).unwrap();
            let mut memory = Memory::new(Some(&plan), PAGE, 4 * PAGE).unwrap();
            // Pages that are open in the end, also to the other thread; then one that is not.
            for (round, at) in [0, 0, 0, 0, 0, 1, 1, 2].into_iter().enumerate() {
                memory.grow(2 * PAGE).unwrap();
                let place = memory.base() as usize + PAGE + at * 4096 + 7;
                let write = || {
                    let byte = std::ptr::with_exposed_provenance_mut::<u8>(place);
                    // SAFETY: a byte that is open, and that nobody else uses meanwhile.
                    unsafe { assert_eq!(byte.replace(1), 0, "{reset:?}, round {round}") };
                };
                if round < 4 {
                    write();
                } else {
                    std::thread::scope(|scope| scope.spawn(write).join().unwrap());
                }
                assert!(memory.reset().unwrap());
            }
            memory.grow(2 * PAGE).unwrap();
            assert!(memory.bytes_mut().iter().all(|byte| *byte == 0), "{reset:?}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs mmap without access, mprotect or signals")]
    fn a_lease_gives_its_memory_back_once() {
        const PAGE: usize = 65_536;
        let new = || {
            let plan = Plan::new(InitialMemory::zeroed(PAGE), Reset::Drop).unwrap();
            Arc::new(Recycler::new(Some(plan), 1))
        };
        let (home, other) = (new(), new());
        let mut lease = Lease::new(&home, PAGE, 4 * PAGE, true).unwrap();
        assert!(lease.is_from(&home) && !lease.is_from(&other));
        assert!(lease.restorer().is_some());
        // Nobody knows what was written, so it grows where it is.
        lease.grow(2 * PAGE).unwrap();
        assert_eq!(home.larger.lock().sizes.len(), 0);
        lease.release();
        assert_eq!((home.idle.len(), lease.base().is_null()), (1, true));
        assert!(lease.restorer().is_none());
        lease.renew().unwrap();
        assert_eq!((home.idle.len(), lease.base().is_null()), (0, false));
        drop(lease);
        assert_eq!(home.idle.len(), 1);
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs mmap without access, mprotect or signals")]
    fn a_lease_is_trimmed() {
        const PAGE: usize = 65_536;
        for reset in super::super::test_support::keeping(KEEP_RESIDENT) {
            let plan = Plan::new(InitialMemory::zeroed(PAGE), reset).unwrap();
            let mut lease =
                Lease::new(&Arc::new(Recycler::new(Some(plan), 1)), PAGE, PAGE, false).unwrap();
            // SAFETY: a byte of the memory, to which nobody has a reference.
            unsafe { lease.base().write(1) };
            lease.reset().unwrap();
            if !super::super::pagemap_scan_available() {
                return;
            }
            let own = || super::super::test_support::own_bytes(lease.base() as usize, PAGE);
            assert!(own() > 0, "{reset:?}");
            lease.trim().unwrap();
            let own = super::super::test_support::own_bytes(lease.base() as usize, PAGE);
            assert_eq!(own, 0, "{reset:?}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs mmap without access, mprotect or signals")]
    fn a_size_stays_for_as_many_looks_as_there_are_leases() {
        const PAGE: usize = 65_536;
        let reset = Reset::Tracked { limit: KEEP_RESIDENT };
        if reset.refusal().is_some() {
            return;
        }
        let plan = Plan::new(InitialMemory::zeroed(PAGE), reset).unwrap();
        let home = Recycler::new(Some(plan), 1);
        let sizes = |looks| {
            (0..looks).for_each(|_| home.forget_unused(2));
            home.larger.lock().sizes.len()
        };
        assert_eq!(sizes(3), 0);
        home.larger(2 * PAGE).unwrap();
        assert_eq!([sizes(1), sizes(1), sizes(1)], [1, 1, 0]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs mmap without access, mprotect or signals")]
    fn a_memory_that_moves_keeps_what_was_written_and_comes_back_clean() {
        const PAGE: usize = 65_536;
        let mut clean = vec![0; PAGE];
        clean[5] = 7;
        let reset = Reset::Tracked { limit: KEEP_RESIDENT };
        let plan = Plan::new(InitialMemory::capture(&clean), reset).unwrap();
        let recycler = Arc::new(Recycler::new(Some(plan), 1));
        for round in 0..40_usize {
            let mut lease = Lease::new(&recycler, PAGE, 64 * PAGE, true).unwrap();
            let bytes = |lease: &Lease, size: usize| {
                // SAFETY: so many bytes are open, and the slice is gone before the
                // memory moves.
                unsafe { std::slice::from_raw_parts_mut(lease.base(), size) }
            };
            assert!(bytes(&lease, PAGE) == clean, "round {round}");
            let mut wanted = clean.clone();
            // Few pages, which are copied, or all, for which the memory is opened.
            let written = if round % 5 == 4 { PAGE } else { 9_000 };
            bytes(&lease, PAGE)[1..written].fill(round as u8);
            wanted[1..written].fill(round as u8);
            for step in 0..3 {
                let size = (2 + step + round % 12) * PAGE;
                lease.grow(size).unwrap();
                wanted.resize(size, 0);
                let at = size - 100;
                assert!(bytes(&lease, size) == wanted, "round {round}, step {step}");
                bytes(&lease, size)[at] = 1;
                wanted[at] = 1;
            }
            assert!(lease.grow(65 * PAGE).is_err());
            if round % 2 == 1 {
                assert!(lease.reset().unwrap());
                assert!(bytes(&lease, PAGE) == clean, "round {round}");
                assert!(!lease.reset().unwrap());
            }
        }
    }

    /// A guest grew for a while and does so no more, or to another size.
    #[test]
    #[cfg_attr(miri, ignore = "needs mmap without access, mprotect or signals")]
    fn memories_of_sizes_that_nobody_needs_are_let_go_of() {
        const PAGE: usize = 65_536;
        let reset = Reset::Tracked { limit: KEEP_RESIDENT };
        if reset.refusal().is_some() {
            return;
        }
        let plan = Plan::new(InitialMemory::zeroed(PAGE), reset).unwrap();
        let recycler = Arc::new(Recycler::new(Some(plan), 1));
        let mut lease = Lease::new(&recycler, PAGE, 64 * PAGE, true).unwrap();
        let sizes = || recycler.larger.lock().sizes.len();
        for pages in 2..20 {
            lease.grow(pages * PAGE).unwrap();
            lease.reset().unwrap();
        }
        assert_eq!(sizes(), SIZES);
        for _ in 0..4 * LOOK {
            lease.grow(3 * PAGE).unwrap();
            lease.reset().unwrap();
        }
        assert_eq!(sizes(), 1);
        for _ in 0..4 * LOOK {
            lease.reset().unwrap();
        }
        assert_eq!(sizes(), 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs mmap without access, mprotect or signals")]
    fn without_a_plan_every_memory_is_new() {
        let recycler = Recycler::new(None, 1);
        let mut memory = recycler.take(65_536, 65_536).unwrap();
        memory.bytes_mut().fill(1);
        recycler.give_back(memory);
        assert!(recycler.idle.len() == 0);
    }
}
