//! Written pages of memories that have grown.

use super::kind_tests::write;
use super::reset_tests::{SIZE, content, fresh};
use super::*;

/// Where the owner notes threads, the kernel is not asked what was written behind the first size.
#[test]
#[cfg_attr(miri, ignore = "needs perf_event_open")]
fn what_a_memory_grows_by_is_known_from_faults() {
    let limit = 1 << 20;
    for kind in test_support::keeping(limit).filter(|_| pagemap_scan_available()) {
        let template = MemoryTemplate::new(content(SIZE), kind).unwrap();
        let mut memory = Memory::new(Some(&template), SIZE, 3 * SIZE).unwrap();
        memory.resetter().unwrap().note_threads();
        let first = SIZE / host_page();
        let scans = |memory: &mut Memory| memory.resetter().unwrap().scans_behind();
        let grow_and_write = |memory: &mut Memory, size: usize, pages: std::ops::Range<usize>| {
            memory.grow(SIZE + size * host_page()).unwrap();
            // SAFETY: so much is open, and the memory is borrowed mutably.
            let bytes = unsafe { std::slice::from_raw_parts(memory.base(), memory.accessible()) };
            assert!(bytes[SIZE..].iter().all(|byte| *byte == 0), "{kind}: grown to {size}");
            write(memory, pages.map(|page| first + page));
            memory.reset().unwrap();
        };
        // Read as a whole, so that faults of reading do not count later on.
        grow_and_write(&mut memory, 40, 0..40);
        grow_and_write(&mut memory, 40, 0..40);
        let before = scans(&mut memory);
        for call in 0..50 {
            // Also smaller than the call before, and not grown at all.
            let size = 10 + call % 30;
            grow_and_write(&mut memory, size, size - 4..size);
            memory.reset().unwrap();
        }
        let asked = scans(&mut memory) - before;
        // Where pages that were let go are only read, the kernel is asked once more.
        let most = if faults_are_logged() { 25 } else { 50 };
        assert!(asked <= most, "{kind}: {asked} of 50 resets asked the kernel");
        assert!(memory.bytes_mut() == fresh(SIZE), "{kind}");
    }
}

/// Writes of each call, as pages behind the first size that the memory grows by, and pages with the
/// value that is written there. None of them is seen by a later call, however large the memory is.
fn calls_that_grow(calls: &[(usize, &[(usize, u8)])], lent: usize) {
    let limit = 1 << 20;
    let first = SIZE / host_page();
    for kind in test_support::keeping(limit).filter(|_| pagemap_scan_available()) {
        let template = MemoryTemplate::new(content(SIZE), kind).unwrap();
        let mut memory = Memory::new(Some(&template), SIZE, 3 * SIZE).unwrap().staying_open();
        memory.resetter().unwrap().note_threads();
        for (call, (pages, writes)) in calls.iter().enumerate() {
            memory.grow(SIZE + pages * host_page()).unwrap();
            if call == lent {
                memory.bytes_mut();
            }
            for (page, value) in *writes {
                let at = (first + page) * host_page() + 9;
                assert!(at < memory.accessible());
                // SAFETY: a byte of the memory, which is borrowed mutably.
                unsafe { memory.base().add(at).write_volatile(*value) };
            }
            memory.reset().unwrap();
        }
        memory.grow(SIZE + 40 * host_page()).unwrap();
        let seen = memory.own_bytes_mut()[SIZE..].iter().position(|byte| *byte != 0);
        assert_eq!(seen, None, "{kind}: {calls:?}");
    }
}

/// A page that was written without a change may not be on the list, and no scan that ends before
/// it tells.
#[test]
#[cfg_attr(miri, ignore = "needs PAGEMAP_SCAN")]
fn a_page_behind_a_smaller_growth_is_not_missed() {
    let far = |value| [(30, value)];
    for zero in [&far(0)[..], &[(30, 0), (31, 1)], &[]] {
        for again in [&far(7)[..], &[(3, 1), (30, 7)]] {
            calls_that_grow(&[(40, &[]), (40, zero), (10, &[]), (40, again)], usize::MAX);
            calls_that_grow(&[(40, zero), (40, zero), (10, &[(3, 1)]), (40, again)], 2);
        }
    }
    // A scan after lending finds the pages in another order.
    let (far, both): (&[_], &[_]) = (&[(36, 7)], &[(6, 7), (36, 7)]);
    calls_that_grow(&[(40, both), (40, far), (10, &[(2, 7)]), (40, far)], 1);
}

/// Locking makes pages writable without a fault that the kernel logs, and so does growth of what
/// is locked.
#[test]
#[cfg_attr(miri, ignore = "needs mlock")]
fn what_is_locked_is_reset() {
    for kind in test_support::keeping(1 << 20).filter(|_| pagemap_scan_available()) {
        let template = MemoryTemplate::new(content(SIZE), kind).unwrap();
        let mut memory = Memory::new(Some(&template), SIZE, 3 * SIZE).unwrap();
        memory.resetter().unwrap().note_threads();
        let first = SIZE / host_page();
        for call in 0..12 {
            memory.grow(SIZE + 40 * host_page()).unwrap();
            let base = memory.base();
            // SAFETY: so much is open, and the memory is borrowed mutably.
            let bytes = unsafe { std::slice::from_raw_parts(base, memory.accessible()) };
            assert!(bytes[SIZE..].iter().all(|byte| *byte == 0), "{kind}: call {call}");
            assert!(bytes[..SIZE] == fresh(SIZE), "{kind}: call {call}");
            if call == 4 {
                // SAFETY: as above.
                if unsafe { libc::mlock(base.cast(), memory.accessible()) } != 0 {
                    eprintln!("not tested: this process may not lock so much memory");
                    return;
                }
                // As hosts are told to do.
                note_foreign_writes();
            }
            write(&mut memory, [1, 3 + call, first + 1, first + 3 + call]);
            memory.reset().unwrap();
        }
    }
}

/// Where the memory is locked between two calls, its first size and what is closed behind it, pages
/// are made writable there and then, and the others when the memory grows.
#[test]
#[cfg_attr(miri, ignore = "needs mlock")]
fn what_is_locked_between_calls_is_reset() {
    let page = host_page();
    let calls = [40, 40, 40, 10, 40, 40, 0, 0, 0, 0, 0, 0, 0, 10, 40, 40, 30, 40];
    for (limit, locked_at) in [(1 << 20, 2), (8 * page, 0), (8 * page, 2), (1 << 20, 9)] {
        for kind in test_support::keeping(limit).filter(|_| pagemap_scan_available()) {
            let template = MemoryTemplate::new(content(SIZE), kind).unwrap();
            let mut memory = Memory::new(Some(&template), SIZE, 3 * SIZE).unwrap();
            memory.resetter().unwrap().note_threads();
            let base = memory.base();
            for (call, grown) in calls.into_iter().enumerate() {
                if call == locked_at {
                    // SAFETY: the reservation of a memory of this test's own, whose content stays
                    // the same. The kernel refuses to fill what is closed, and locks it.
                    let is_locked = unsafe {
                        let all = exclusive::Exclusive::new(base, SIZE, 3 * SIZE);
                        let first = libc::mlock(base.cast(), SIZE) == 0;
                        assert_eq!(all.is_locked(&(0..SIZE)), first);
                        libc::mlock(base.cast(), 3 * SIZE);
                        first && all.is_locked(&(SIZE..2 * SIZE))
                    };
                    if !is_locked {
                        eprintln!("not tested: this process may not lock so much memory");
                        return;
                    }
                    note_foreign_writes();
                }
                // SAFETY: nobody has written the memory since its last reset.
                unsafe { memory.resetter().unwrap().begin_use() };
                memory.grow(SIZE + grown * page).unwrap();
                // SAFETY: so much is open, and the memory is borrowed mutably.
                let bytes = unsafe { std::slice::from_raw_parts(base, memory.accessible()) };
                let seen = bytes[SIZE..].iter().position(|byte| *byte != 0);
                assert_eq!(seen, None, "{kind}, {limit}, {locked_at}: call {call}");
                assert!(bytes[..SIZE] == fresh(SIZE), "{kind}, {limit}, {locked_at}: call {call}");
                let (first, behind) = (SIZE / page, grown.saturating_sub(1 + call));
                write(
                    &mut memory,
                    [1, 3 + call].into_iter().chain((grown > 0).then_some(first + behind)),
                );
                memory.reset().unwrap();
            }
        }
    }
}
