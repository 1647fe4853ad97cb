//! Which pages memories of each kind take for written, and their treatment.

use super::reset_tests::{SIZE, content, fresh, resident};
use super::*;

/// New memories of the kinds that go by the faults of a thread, where this machine can do them.
fn memories_by_faults() -> impl Iterator<Item = (ResetMethod, Memory)> {
    let limit = 1 << 20;
    let kinds = [ResetMethod::Gated { limit }].into_iter();
    kinds.filter(|kind| kind.refusal().is_none()).map(|kind| {
        let template = MemoryTemplate::new(content(SIZE), kind).unwrap();
        (kind, Memory::new(Some(&template), SIZE, SIZE).unwrap())
    })
}

/// Tries something with the log of page faults, and as if the kernel kept none.
fn with_and_without_logs(mut test: impl FnMut()) {
    for logs in [true, false] {
        fault_log::tests::turn_off(!logs);
        test();
    }
    fault_log::tests::turn_off(false);
}

/// Writes a byte to pages of a memory as a guest does.
pub(super) fn write(memory: &mut Memory, pages: impl IntoIterator<Item = usize>) {
    for page in pages {
        let at = page * host_page() + 9;
        assert!(at < memory.accessible());
        // SAFETY: a byte of the memory, which is borrowed mutably.
        unsafe { memory.base().add(at).write_volatile(201) };
    }
}

/// A memory that goes by the log of page faults, beside others that drop all pages and stop it.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files and getrusage")]
fn a_memory_beside_those_that_drop_all_pages_is_restored() {
    let size = 512 * host_page();
    let fresh = fresh(size);
    with_and_without_logs(|| {
        for kind in test_support::keeping(size) {
            let template = MemoryTemplate::new(content(size), kind).unwrap();
            let new = || Memory::new(Some(&template), size, size).unwrap();
            let (mut memory, mut dropping) = (new(), new());
            for call in 0..200 {
                // Calls that write other pages each time, several between two of the other memory.
                for turn in 0..call % 40 {
                    let first = (call + turn) * 7 % 450;
                    write(&mut dropping, first..first + 30);
                    dropping.reset().unwrap();
                }
                write(&mut memory, [1, 2, call, call + 100]);
                memory.reset().unwrap();
                for memory in [&memory, &dropping] {
                    // SAFETY: so many bytes of the memory, which nobody writes meanwhile.
                    let bytes = unsafe { std::slice::from_raw_parts(memory.base(), size) };
                    assert!(bytes == fresh, "{kind}: call {call}");
                }
            }
        }
    });
}

/// Pages of a call that are swapped out before the reset, between calls or within one.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files and swap space")]
fn swapped_pages_are_restored() {
    use super::test_support::{kinds, swap_out};
    let size = 512 * host_page();
    let fresh = fresh(size);
    let mut swapped = 0;
    with_and_without_logs(|| {
        for limit in [8 * host_page(), size] {
            for kind in kinds(limit) {
                let template = MemoryTemplate::new(content(size), kind).unwrap();
                let mut memory = Memory::new(Some(&template), size, size).unwrap();
                for call in 0..24 {
                    // More runs than a scan returns at once, some of them in the image.
                    let first = if call % 3 == 0 { call } else { 0 };
                    write(&mut memory, (first..first + 200).step_by(2));
                    swapped += swap_out(memory.base(), size);
                    write(&mut memory, [1, 3, call]);
                    if call % 2 == 0 {
                        swap_out(memory.base(), size);
                    }
                    memory.reset().unwrap();
                    if call % 5 == 0 {
                        swap_out(memory.base(), size);
                    }
                    // SAFETY: so many bytes of the memory, which is borrowed mutably.
                    let bytes = unsafe { std::slice::from_raw_parts(memory.base(), size) };
                    assert!(bytes == fresh, "{kind}, limit {limit}: call {call}");
                }
            }
        }
    });
    if swapped == 0 {
        eprintln!("not tested: this machine has no swap space");
    }
}

/// The pages that calls write again and again are known without asking the kernel, and the
/// thread that does something else in between has it asked once more.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files and getrusage")]
fn a_gated_memory_is_scanned_after_faults_alone() {
    with_and_without_logs(|| {
        for (_, memory) in memories_by_faults() {
            scanned_after_faults_alone(memory);
        }
    });
}

/// Pages that a call writes for the first time are known from the log.
#[test]
#[cfg_attr(miri, ignore = "needs perf_event_open")]
fn a_gated_memory_is_not_scanned_where_faults_are_logged() {
    if !faults_are_logged() || !pagemap_scan_available() {
        eprintln!("not tested: this kernel logs no page faults for this process");
        return;
    }
    let limit = 48 * host_page();
    for kind in [ResetMethod::Gated { limit }] {
        let template = MemoryTemplate::new(content(SIZE), kind).unwrap();
        let mut memory = Memory::new(Some(&template), SIZE, SIZE).unwrap();
        assert!(!memory.resetter().unwrap().is_watched());
        let fresh = fresh(SIZE);
        write(&mut memory, 0..3);
        memory.reset().unwrap();
        let scans = |memory: &mut Memory| memory.resetter().unwrap().scans();
        let before = scans(&mut memory);
        for call in 0..30 {
            // Most of them known, one read and written after that, one new.
            let place = (call + 4) * host_page();
            // SAFETY: a byte of the memory, which is borrowed mutably.
            let seen = unsafe { memory.base().add(place).read_volatile() };
            assert_eq!(seen, fresh[place]);
            write(&mut memory, [0, 1, 2, call + 4, call + 5]);
            memory.reset().unwrap();
            // SAFETY: as above, for so many bytes.
            let bytes = unsafe { std::slice::from_raw_parts(memory.base(), SIZE) };
            assert!(bytes == fresh, "{kind}: call {call}");
            // This was the only reading of some pages, and the kernel is asked which.
            write(&mut memory, 0..3);
            memory.reset().unwrap();
        }
        assert!(scans(&mut memory) - before <= 32, "{kind}");
        // What was compared above had been read.
        memory.reset().unwrap();
        let before = scans(&mut memory);
        for call in 0..30 {
            write(&mut memory, [0, 1, 2, call + 4]);
            memory.reset().unwrap();
        }
        assert_eq!(scans(&mut memory), before, "{kind}");
        // More than may stay.
        let before = scans(&mut memory);
        write(&mut memory, 0..SIZE / host_page());
        memory.reset().unwrap();
        assert_eq!(scans(&mut memory) - before, 1, "{kind}");
        assert!(resident(&memory) <= limit, "{kind}");
        assert!(memory.bytes_mut() == fresh, "{kind}");
    }
}

/// A page that a call only read, or to which it wrote what was there, is not mistaken for one
/// that stays clean.
#[test]
#[cfg_attr(miri, ignore = "needs perf_event_open")]
fn pages_that_were_read_before_they_are_written_are_not_missed() {
    with_and_without_logs(read_before_they_are_written);
}

fn read_before_they_are_written() {
    let fresh = fresh(SIZE);
    for (kind, mut memory) in memories_by_faults() {
        memory.reset().unwrap();
        for round in 0..20 {
            for page in 0..SIZE / host_page() {
                let at = page * host_page() + 9;
                // SAFETY: a byte of the memory, which is borrowed mutably.
                unsafe {
                    let place = memory.base().add(at);
                    match (page + round) % 3 {
                        0 => assert_eq!(place.read_volatile(), fresh[at]),
                        1 => place.write_volatile(fresh[at]),
                        _ => place.write_volatile(201),
                    }
                }
            }
            memory.reset().unwrap();
            // SAFETY: as above, for so many bytes.
            let bytes = unsafe { std::slice::from_raw_parts(memory.base(), SIZE) };
            assert!(bytes == fresh, "{kind}: round {round}");
        }
    }
}

/// No log has what the kernel writes to pages that it pins. The host that had the bytes may
/// have asked for it.
#[test]
#[cfg_attr(miri, ignore = "needs process_vm_writev")]
fn what_the_kernel_writes_to_pinned_pages_is_not_missed() {
    let fresh = fresh(SIZE);
    for (kind, mut memory) in memories_by_faults() {
        let (mut written, mut dropping) = (0, 0);
        for round in 0..60 {
            // The calls of the middle all write other pages, so that they are dropped.
            match round {
                20..40 => write(&mut memory, [round, round + 20]),
                _ => write(&mut memory, 0..2),
            }
            memory.reset().unwrap();
            dropping += usize::from(memory.resetter().unwrap().drops_all());
            let at = if (20..40).contains(&round) { round - 18 } else { round % 40 + 20 };
            let at = at * host_page();
            written += usize::from(test_support::write_pinned(&mut memory.bytes_mut()[at..at + 9]));
            // The host looks once more, and sees nothing else.
            std::hint::black_box(memory.bytes_mut());
            memory.reset().unwrap();
            assert!(memory.bytes_mut() == fresh, "{kind}: round {round}");
            memory.reset().unwrap();
        }
        // A sandbox may refuse it; a memory that is watched does.
        assert!(written > 30 || written == 0, "{kind}: {written}");
        assert!(dropping > 0, "{kind}");
    }
}

/// One fault must not make more than a page writable, also where the owner asks for huge pages.
#[test]
#[cfg_attr(miri, ignore = "needs mmap and perf_event_open")]
fn what_is_written_to_huge_pages_is_not_missed() {
    let (first, size) = (4 << 20, 16 << 20);
    let slightly = first + 16 * host_page();
    for kind in test_support::keeping(size) {
        let template = MemoryTemplate::new(InitialContent::zeroed(first), kind).unwrap();
        let mut mapping = Mapping::new(size, size).unwrap();
        let base = mapping.base();
        // SAFETY: a range of this test's own; its content stays the same. The kernel may refuse.
        unsafe { libc::madvise(base.cast(), size, libc::MADV_HUGEPAGE) };
        // SAFETY: the mapping is larger than the template, and outlives the resetter.
        let mut resetter = unsafe { template.install(base) }.unwrap();
        ResetterMut::from(&mut resetter).note_threads();
        for (round, open) in [0, first, slightly, size, size].into_iter().enumerate() {
            for at in (0..open).step_by(host_page()) {
                // SAFETY: a byte of the mapping, to which there is no reference.
                unsafe { base.add(at).write_volatile(201) };
            }
            // SAFETY: nobody has a reference into the mapping, all of which is open.
            unsafe { resetter.reset(open.max(first)) }.unwrap();
            assert!(mapping.bytes_mut().iter().all(|byte| *byte == 0), "{kind}: round {round}");
        }
    }
}

fn scanned_after_faults_alone(mut memory: Memory) {
    let fresh = fresh(SIZE);
    for round in 0..3 {
        write(&mut memory, 2..5 + round);
        memory.reset().unwrap();
        let before = memory.resetter().unwrap().scans();
        for _ in 0..40 {
            write(&mut memory, 2..5 + round);
            memory.reset().unwrap();
        }
        // A few faults may be those of other code on this thread.
        let scans = memory.resetter().unwrap().scans() - before;
        assert!(scans <= 8, "round {round}: {scans} of 40 resets asked the kernel");
        assert!(memory.bytes_mut() == fresh);
        // Used on another thread, and reset here.
        let mut used_on = UsedOn::default();
        used_on.begin();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                used_on.go_on();
                write(&mut memory, 20..30);
            });
        });
        used_on.end();
        memory.reset().unwrap();
        assert!(memory.bytes_mut() == fresh, "round {round}: written by another thread");
        // Used and reset on another thread, and used here again.
        std::thread::scope(|scope| {
            scope.spawn(|| {
                write(&mut memory, 40..50);
                memory.reset().unwrap();
            });
        });
        assert!(memory.bytes_mut() == fresh);
        write(&mut memory, 40..50);
        memory.reset().unwrap();
        assert!(memory.bytes_mut() == fresh, "round {round}: reset by another thread");
    }
}

/// Where calls write as many pages as may stay, and some others in each, those that the last
/// call has not written are let go first.
#[test]
#[cfg_attr(miri, ignore = "needs getrusage")]
fn pages_that_the_last_call_wrote_stay_before_others() {
    with_and_without_logs(last_written_pages_stay_before_others);
}

fn last_written_pages_stay_before_others() {
    let (limit, step) = (64, 4);
    for kind in super::test_support::keeping(limit * host_page()) {
        if !pagemap_scan_available() {
            continue;
        }
        let size = 512 * host_page();
        let template = MemoryTemplate::new(InitialContent::zeroed(size), kind).unwrap();
        let mut memory = Memory::new(Some(&template), size, size).unwrap();
        let mut faults = Vec::new();
        for call in 0..60 {
            let before = crate::faults::said().unwrap();
            for page in step * call..step * call + limit {
                memory.bytes_mut()[page * host_page()] = 1;
            }
            faults.push(crate::faults::said().unwrap() - before);
            memory.reset().unwrap();
            let kept = resident(&memory);
            assert!(kept <= limit * host_page(), "{kind}: {kept} bytes stay");
        }
        // Some calls may have further faults: where a kind changes its way, or of other code.
        let few = faults[20..].iter().filter(|faults| **faults <= 2 * step as u64).count();
        assert!(few >= 30, "{kind}: {faults:?}");
    }
}

/// The kinds that drop all pages while calls write others, where this machine can do them.
fn dropping(limit: usize) -> impl Iterator<Item = ResetMethod> {
    [ResetMethod::Gated { limit }, ResetMethod::Tracked { limit }]
        .into_iter()
        .filter(|kind| kind.refusal().is_none() && pagemap_scan_available())
}

/// The same calls lead to the same decisions.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files and getrusage")]
fn a_memory_drops_its_pages_while_each_call_writes_others() {
    for (kind, notes) in dropping(1 << 20).flat_map(|kind| [(kind, true), (kind, false)]) {
        with_and_without_logs(|| drops_while_each_call_writes_others(kind, notes));
    }
}

fn drops_while_each_call_writes_others(kind: ResetMethod, notes: bool) {
    let size = 64 * SIZE;
    let template = MemoryTemplate::new(content(size), kind).unwrap();
    let mut memory = Memory::new(Some(&template), size, size).unwrap();
    if notes {
        memory.resetter().unwrap().note_threads();
    }
    let fresh = fresh(size);
    let mut next = 0;
    let mut call = |memory: &mut Memory, others: bool| {
        for page in 0..10 {
            let first = if others { next } else { 0 };
            memory.bytes_mut()[(first + page) * 7 * host_page() % size] = 201;
        }
        next += 10;
        memory.reset().unwrap();
        resident(memory)
    };
    let pages = |pages: usize| pages * host_page();
    for _ in 0..100 {
        assert_eq!(call(&mut memory, false), pages(10));
    }
    // Watched for eight calls with new pages at most, and not for eight more.
    let mut kept = 0;
    while !memory.resetter().unwrap().drops_all() {
        call(&mut memory, true);
        kept += 1;
    }
    assert!((8..=16).contains(&kept), "{kept} calls");
    for index in 0..256 {
        assert_eq!(call(&mut memory, index % 2 == 0), 0, "call {index}");
    }
    assert!(memory.bytes_mut() == fresh);
    let scans = memory.resetter().unwrap().scans();
    // It is tried again. A memory that is watched again begins without pages.
    let kept = (0..100).filter(|_| call(&mut memory, false) == pages(10)).count();
    assert!(kept >= 99, "{kept} calls");
    assert!(memory.resetter().unwrap().scans() > scans);
    assert!(memory.bytes_mut() == fresh);
    // Written by another thread while all is dropped.
    let last = (0..20).map(|_| call(&mut memory, true)).last();
    assert_eq!(last, Some(0));
    let mut used_on = memory.resetter().map(UsedOn::of).unwrap();
    used_on.begin();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            used_on.go_on();
            memory.bytes_mut()[5] = 1;
        });
    });
    used_on.end();
    memory.reset().unwrap();
    assert!(memory.bytes_mut() == fresh);
}

/// Page faults take the place of signals while calls keep writing new pages.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn a_tracked_memory_is_watched_while_calls_write_the_same_pages() {
    for notes in [true, false] {
        with_and_without_logs(|| watched_while_calls_write_the_same_pages(notes));
    }
}

fn watched_while_calls_write_the_same_pages(notes: bool) {
    let kind = ResetMethod::Tracked { limit: 1 << 20 };
    if kind.refusal().is_some() || !pagemap_scan_available() {
        return;
    }
    let size = 16 * SIZE;
    let template = MemoryTemplate::new(content(size), kind).unwrap();
    let mut memory = Memory::new(Some(&template), size, size).unwrap();
    if !memory.resetter().unwrap().is_watched() {
        // Other tests watch as many as there may be.
        return;
    }
    if notes {
        memory.resetter().unwrap().note_threads();
    }
    let fresh = fresh(size);
    let call = |memory: &mut Memory, new: usize| {
        for page in (0..20).chain(new..new + 2) {
            memory.bytes_mut()[page * 2 * host_page() + 9] = 201;
        }
        memory.reset().unwrap();
        memory.resetter().unwrap().is_watched()
    };
    assert!((0..300).all(|_| call(&mut memory, 0)));
    // The eighth call with new pages is one too many.
    let mut new = (10..).map(|call| 2 * call);
    assert_eq!(new.position(|new| !call(&mut memory, new)), Some(7));
    assert!(memory.bytes_mut() == fresh);
    assert!(!memory.resetter().unwrap().lacks_notes());
    for _ in 0..40 {
        assert!(!call(&mut memory, new.next().unwrap()));
        assert_eq!(memory.resetter().unwrap().lacks_notes(), !notes);
    }
    assert!(memory.bytes_mut() == fresh);
    let until_watched = (0..100).find(|_| call(&mut memory, 0));
    assert_eq!(until_watched, Some(3));
    assert!((0..300).all(|_| call(&mut memory, 0)));
    assert!(memory.bytes_mut() == fresh);
    memory.trim().unwrap();
    assert!(call(&mut memory, 0) && memory.bytes_mut() == fresh);
}

/// Pages that are kept for nothing take the room of those that are written. These count as new.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files and getrusage")]
fn a_memory_drops_its_pages_where_the_limit_hides_new_ones() {
    for kind in dropping(256 * host_page()) {
        with_and_without_logs(|| drops_where_the_limit_hides_new_pages(kind));
    }
}

fn drops_where_the_limit_hides_new_pages(kind: ResetMethod) {
    let size = 128 * SIZE;
    let template = MemoryTemplate::new(content(size), kind).unwrap();
    let mut memory = Memory::new(Some(&template), size, size).unwrap();
    let pages = size / host_page();
    let call = |memory: &mut Memory, first: usize| {
        for page in first..first + 100 {
            memory.bytes_mut()[page % pages * host_page() + 9] = 201;
        }
        memory.reset().unwrap();
        memory.resetter().unwrap().drops_all()
    };
    assert!((0..60).any(|index| call(&mut memory, index * 100)));
}
