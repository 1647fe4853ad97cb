//! Leases and pools against memories that nobody has used.

use super::super::{InitialContent, KEEP_RESIDENT, ResetMethod};
use super::*;
use proptest::prelude::*;

const PAGE: usize = 65_536;

/// A pool of memories with a content.
fn pool(content: InitialContent, reset: ResetMethod) -> Arc<MemoryPool> {
    Arc::new(MemoryPool::new(Some(MemoryTemplate::new(content, reset).unwrap()), 1))
}

#[test]
#[cfg_attr(miri, ignore = "needs mmap without access, mprotect or signals")]
fn a_memory_comes_back_clean_and_of_its_first_size() {
    let mut clean = vec![0; 65_536];
    clean[5] = 7;
    for reset in crate::tests::test_support::kinds(KEEP_RESIDENT) {
        let pool = pool(InitialContent::capture(&clean), reset);
        let mut base = None;
        for round in 0..30 {
            let mut memory = pool.take(65_536, 4 * 65_536).unwrap();
            assert_eq!(pool.idle.len(), 0);
            assert_eq!(*base.get_or_insert(memory.base()), memory.base());
            assert!(memory.bytes_mut() == clean, "{reset:?}, round {round}");
            // Growth, sometimes, over what an earlier round has written.
            if round % 8 < 2 {
                memory.grow((2 + round % 3) * 65_536).unwrap();
                assert!(memory.bytes_mut()[65_536..].iter().all(|byte| *byte == 0));
            }
            memory.bytes_mut().fill(1);
            pool.give_back(memory);
            assert_eq!(pool.idle.len(), 1);
        }
    }
}

/// Nobody has told these memories that they are used on several threads, which those that go by
/// faults have to be told.
#[test]
#[cfg_attr(miri, ignore = "needs mmap without access, mprotect or signals")]
fn what_another_thread_writes_behind_the_first_size_is_found() {
    for reset in crate::tests::test_support::kinds(KEEP_RESIDENT) {
        if matches!(reset, ResetMethod::Gated { .. }) {
            continue;
        }
        let template = MemoryTemplate::new(InitialContent::zeroed(PAGE), reset).unwrap();
        let mut memory = Memory::new(Some(&template), PAGE, 4 * PAGE).unwrap();
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
    let new = || pool(InitialContent::zeroed(PAGE), ResetMethod::Drop);
    let (home, other) = (new(), new());
    let mut lease = PooledMemory::new(&home, PAGE, 4 * PAGE, true).unwrap();
    assert!(lease.is_from(&home) && !lease.is_from(&other));
    assert!(lease.resetter().is_some());
    // Nobody knows what was written, so it grows where it is.
    lease.grow(2 * PAGE).unwrap();
    assert_eq!(home.larger.lock().sizes.len(), 0);
    lease.release();
    assert_eq!((home.idle.len(), lease.base().is_null()), (1, true));
    assert!(lease.resetter().is_none());
    lease.renew().unwrap();
    assert_eq!((home.idle.len(), lease.base().is_null()), (0, false));
    drop(lease);
    assert_eq!(home.idle.len(), 1);
}

#[test]
#[cfg_attr(miri, ignore = "needs mmap without access, mprotect or signals")]
fn memories_stay_open_where_that_is_asked_for() {
    for (stays_open, open) in [(false, PAGE), (true, 2 * PAGE)] {
        let template =
            MemoryTemplate::new(InitialContent::zeroed(PAGE), ResetMethod::Drop).unwrap();
        let home = Arc::new(MemoryPool::new(Some(template), 1).staying_open(stays_open));
        let mut lease = PooledMemory::new(&home, PAGE, 4 * PAGE, false).unwrap();
        lease.grow(2 * PAGE).unwrap();
        lease.reset().unwrap();
        let start = lease.base() as usize;
        let mappings = crate::tests::test_support::mappings(start..start + 2 * PAGE);
        assert_eq!(mappings.readable, open);
    }
}

#[test]
#[cfg_attr(miri, ignore = "needs mmap without access, mprotect or signals")]
fn a_lease_is_trimmed() {
    for reset in crate::tests::test_support::keeping(KEEP_RESIDENT) {
        let home = pool(InitialContent::zeroed(PAGE), reset);
        let mut lease = PooledMemory::new(&home, PAGE, PAGE, false).unwrap();
        // SAFETY: a byte of the memory, to which nobody has a reference.
        unsafe { lease.base().write(1) };
        lease.reset().unwrap();
        if !super::super::pagemap_scan_available() {
            return;
        }
        let own = || crate::tests::test_support::own_bytes(lease.base() as usize, PAGE);
        assert!(own() > 0, "{reset:?}");
        lease.trim().unwrap();
        let own = crate::tests::test_support::own_bytes(lease.base() as usize, PAGE);
        assert_eq!(own, 0, "{reset:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "needs mmap without access, mprotect or signals")]
fn a_size_stays_for_as_many_looks_as_there_are_leases() {
    let reset = ResetMethod::Tracked { limit: KEEP_RESIDENT };
    if reset.refusal().is_some() {
        return;
    }
    let home = pool(InitialContent::zeroed(PAGE), reset);
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
    let mut clean = vec![0; PAGE];
    clean[5] = 7;
    let reset = ResetMethod::Tracked { limit: KEEP_RESIDENT };
    let pool = pool(InitialContent::capture(&clean), reset);
    for round in 0..40_usize {
        let mut lease = PooledMemory::new(&pool, PAGE, 64 * PAGE, true).unwrap();
        let bytes = |lease: &PooledMemory, size: usize| {
            // SAFETY: so many bytes are open, and the slice is gone before the memory moves.
            unsafe { std::slice::from_raw_parts_mut(lease.base(), size) }
        };
        assert!(bytes(&lease, PAGE) == clean, "round {round}");
        let mut wanted = clean.clone();
        // Few pages, which are exchanged, or all, for which the memory is opened.
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
        drop(lease);
        assert_eq!(pool.idle.len(), 1, "round {round}");
    }
}

/// Not all pages that were written are listed: the memory grows where it is.
#[test]
#[cfg_attr(miri, ignore = "needs mmap without access, mprotect or signals")]
fn a_memory_that_was_opened_as_a_whole_does_not_move() {
    let reset = ResetMethod::Tracked { limit: 4 * 4096 };
    if reset.refusal().is_some() {
        return;
    }
    let home = pool(InitialContent::zeroed(PAGE), reset);
    let mut lease = PooledMemory::new(&home, PAGE, 4 * PAGE, true).unwrap();
    for pages in [3, 4, 5, 9] {
        for page in 0..pages {
            // SAFETY: a byte of the memory, to which nobody has a reference.
            unsafe { lease.base().add(page * 4096).write(1) };
        }
        let base = lease.base();
        lease.grow(2 * PAGE).unwrap();
        if pages > 4 {
            assert_eq!(lease.base(), base);
        }
        let sum = |size| {
            // SAFETY: so many bytes are open, and nobody else uses them.
            let bytes = unsafe { std::slice::from_raw_parts(lease.base(), size) };
            bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>()
        };
        assert_eq!(sum(2 * PAGE), pages);
        lease.reset().unwrap();
        // SAFETY: as above.
        let bytes = unsafe { std::slice::from_raw_parts(lease.base(), PAGE) };
        assert!(bytes.iter().all(|byte| *byte == 0), "{pages}");
    }
}

/// A guest grew for a while and does so no more, or to another size.
#[test]
#[cfg_attr(miri, ignore = "needs mmap without access, mprotect or signals")]
fn memories_of_sizes_that_nobody_needs_are_let_go_of() {
    let reset = ResetMethod::Tracked { limit: KEEP_RESIDENT };
    if reset.refusal().is_some() {
        return;
    }
    let pool = pool(InitialContent::zeroed(PAGE), reset);
    let mut lease = PooledMemory::new(&pool, PAGE, 64 * PAGE, true).unwrap();
    let sizes = || pool.larger.lock().sizes.len();
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
    let pool = MemoryPool::new(None, 1);
    let mut memory = pool.take(65_536, 65_536).unwrap();
    memory.bytes_mut().fill(1);
    pool.give_back(memory);
    assert!(pool.idle.len() == 0);
}

/// The steps of a guest in a use.
#[derive(Debug, Clone)]
enum Step {
    /// Writes so many bytes of a value, from a share of the memory on.
    Write { place: f64, length: usize, value: u8 },
    /// Grows by so many pages.
    Grow { pages: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let write = (0.0..1.0, 1..40_000_usize, any::<u8>());
    let write = write.prop_map(|(place, length, value)| Step::Write { place, length, value });
    let grow = (0..3_usize).prop_map(|pages| Step::Grow { pages });
    prop::collection::vec(prop_oneof![3 => write, 1 => grow], 0..8)
}

proptest! {
    /// Uses one after the other, each followed by a reset, the end of the lease or neither.
    #[test]
    #[cfg_attr(miri, ignore = "needs mmap without access, mprotect or signals")]
    fn a_memory_that_moves_is_as_one_that_does_not(
        uses in prop::collection::vec((steps(), 0..4_u8), 1..12),
    ) {
            let mut clean = vec![0; 2 * PAGE];
        clean[7..9_000].fill(9);
        let reset = ResetMethod::Tracked { limit: KEEP_RESIDENT };
        let home = pool(InitialContent::capture(&clean), reset);
        let new = || PooledMemory::new(&home, clean.len(), 512 * PAGE, true).unwrap();
        let (mut lease, mut wanted) = (new(), clean.clone());
        for (steps, end) in uses {
            for step in steps {
                match step {
                    Step::Grow { pages } => {
                        wanted.resize(wanted.len() + pages * PAGE, 0);
                        lease.grow(wanted.len()).unwrap();
                    }
                    Step::Write { place, length, value } => {
                        let at = (place * wanted.len() as f64) as usize;
                        let end = wanted.len().min(at + length);
                        wanted[at..end].fill(value);
                        // SAFETY: so many bytes are open, and nobody else uses them.
                        unsafe { lease.base().add(at).write_bytes(value, end - at) };
                    }
                }
                // SAFETY: as above.
                let bytes = unsafe { std::slice::from_raw_parts(lease.base(), wanted.len()) };
                prop_assert!(bytes == wanted);
            }
            match end {
                0 | 1 => assert!(lease.reset().is_ok()),
                2 => lease = new(),
                _ => continue,
            }
            wanted.clone_from(&clean);
        }
    }
}

/// The next owner of a memory has not said that it notes on which threads it uses it.
#[test]
#[cfg_attr(miri, ignore = "needs mmap without access, mprotect or signals")]
fn what_one_owner_says_about_threads_is_not_said_for_the_next() {
    for reset in crate::tests::test_support::kinds(KEEP_RESIDENT) {
        if matches!(reset, ResetMethod::Gated { .. }) {
            continue;
        }
        let pool = pool(InitialContent::zeroed(PAGE), reset);
        let mut memory = pool.take(PAGE, 4 * PAGE).unwrap();
        memory.resetter().unwrap().note_threads();
        for _ in 0..3 {
            memory.grow(2 * PAGE).unwrap();
            memory.own_bytes_mut()[PAGE] = 1;
            memory.reset().unwrap();
        }
        pool.give_back(memory);
        let mut memory = pool.take(PAGE, 4 * PAGE).unwrap();
        memory.grow(2 * PAGE).unwrap();
        let place = memory.base() as usize + PAGE + 5 * 4096;
        let write = || {
            let byte = std::ptr::with_exposed_provenance_mut::<u8>(place);
            // SAFETY: a byte that is open, and that nobody else uses meanwhile.
            unsafe { byte.write(1) };
        };
        std::thread::scope(|scope| scope.spawn(write).join().unwrap());
        pool.give_back(memory);
        let mut memory = pool.take(PAGE, 4 * PAGE).unwrap();
        memory.grow(2 * PAGE).unwrap();
        assert_eq!(memory.own_bytes_mut()[PAGE + 5 * 4096], 0, "{reset:?}");
    }
}
