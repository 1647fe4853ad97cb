//! How many mappings memories take. A process may have so many; what takes ever more of
//! them ends with everybody's `mmap`.

use super::*;
use std::io::Read;
use test_support::{keeping, kinds, mappings, passes};

const PAGE: usize = 4096;
const SIZE: usize = 65_536 * 4;

fn template(reset: ResetMethod) -> MemoryTemplate {
    let mut clean = vec![0; SIZE];
    clean[5000..9000].fill(3);
    MemoryTemplate::new(InitialContent::capture(&clean), reset).unwrap()
}

/// Mappings of what is open of a memory.
fn mappings_of(memory: &Memory) -> usize {
    let start = memory.base() as usize;
    mappings(start..start + memory.accessible()).count
}

#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn scattered_writes_do_not_split_a_memory_without_bound() {
    let kind = ResetMethod::Tracked { limit: KEEP_RESIDENT };
    if kind.refusal().is_some() {
        return;
    }
    let size = 2 * KEEP_RESIDENT;
    let template = MemoryTemplate::new(InitialContent::zeroed(size), kind).unwrap();
    let mut memory = Memory::new(Some(&template), size, 2 * size).unwrap();
    // Every second page, as many as may stay open.
    for round in 1..4 {
        for page in (0..size / PAGE).step_by(2).take(KEEP_RESIDENT / PAGE) {
            memory.bytes_mut()[page * PAGE] = round;
        }
        assert!(mappings_of(&memory) <= 600, "{} mappings", mappings_of(&memory));
        memory.reset().unwrap();
        assert!(memory.bytes_mut().iter().all(|byte| *byte == 0));
    }
    // Pages that are let go one by one, out of the middle of what is open.
    memory.trim().unwrap();
    memory.bytes_mut()[..KEEP_RESIDENT / 2].fill(1);
    for round in 0..40 {
        for page in (0..KEEP_RESIDENT / PAGE / 2).step_by(2) {
            memory.bytes_mut()[page * PAGE] = round;
        }
        memory.reset().unwrap();
        assert!(mappings_of(&memory) <= 600, "{} mappings", mappings_of(&memory));
    }
    assert!(memory.bytes_mut().iter().all(|byte| *byte == 0));
}

/// Every second page of what was written at first is written further.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn pages_that_are_let_go_of_between_others_do_not_split_a_memory_without_bound() {
    let kind = ResetMethod::Tracked { limit: KEEP_RESIDENT };
    if kind.refusal().is_some() {
        return;
    }
    for (runs, stays_watched) in [(200, true), (300, false)] {
        let template = MemoryTemplate::new(InitialContent::zeroed(KEEP_RESIDENT), kind).unwrap();
        let mut memory = Memory::new(Some(&template), KEEP_RESIDENT, KEEP_RESIDENT).unwrap();
        if memory.resetter().unwrap().asks_threads() {
            // Other tests watch as many memories as there may be.
            return;
        }
        for call in 0..12 {
            for page in (0..2 * runs).step_by(if call == 0 { 1 } else { 2 }) {
                memory.bytes_mut()[page * PAGE] = 1;
            }
            memory.reset().unwrap();
            assert!(mappings_of(&memory) <= 600, "{} mappings", mappings_of(&memory));
            assert!(memory.bytes_mut().iter().step_by(PAGE).all(|byte| *byte == 0));
        }
        assert_eq!(memory.resetter().unwrap().is_watched(), stays_watched);
    }
}

/// The memory lies alone: the kernel joins it with no neighbour that was written before.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn pages_that_are_let_go_give_their_mappings_back() {
    let kind = ResetMethod::Tracked { limit: KEEP_RESIDENT };
    if kind.refusal().is_some() {
        return;
    }
    let (size, written) = (8 * KEEP_RESIDENT, 100);
    let mut sparse = vec![0; size];
    for page in [50, 1000, 8191] {
        sparse[page * PAGE] = 1;
    }
    for (clean, most) in [(vec![0; size], 1), (sparse, 6)] {
        let template = MemoryTemplate::new(InitialContent::capture(&clean), kind).unwrap();
        let mut memory = Memory::new(Some(&template), size, 2 * size).unwrap();
        assert_eq!(mappings_of(&memory), most);
        for call in 0..40 {
            for page in 0..written {
                memory.bytes_mut()[(call * written + page) * 2 * PAGE] = 1;
            }
            memory.reset().unwrap();
            memory.trim().unwrap();
        }
        assert_eq!(mappings_of(&memory), most);
        assert!(memory.bytes_mut() == clean);
    }
}

/// Each call grows its memory further than the last one, also where the host has locked it.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn growing_further_each_time_takes_no_more_mappings() {
    for (kind, locked) in kinds(KEEP_RESIDENT).flat_map(|kind| [(kind, false), (kind, true)]) {
        let mut memory = Memory::new(Some(&template(kind)), SIZE, 3 * SIZE).unwrap();
        let base = memory.base();
        for pages in 1..60 {
            memory.grow(SIZE + pages * PAGE).unwrap();
            if locked && pages == 5 {
                // SAFETY: a memory of this test's own. The kernel locks what it does not fill.
                unsafe { libc::mlock(base.cast(), 3 * SIZE) };
                note_foreign_writes();
            }
            memory.bytes_mut()[SIZE..].fill(1);
            memory.reset().unwrap();
            // The image and what is around it, what had grown, and the rest.
            let taken = mappings(base as usize..base as usize + 3 * SIZE).count;
            assert!(taken <= 5, "{kind:?}: {taken} mappings, grown by {pages} pages, {locked}");
        }
    }
}

/// Where users check bounds, growing again changes no protection, and what is behind the end is
/// zero again.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn a_memory_that_stays_open_is_as_clean() {
    for kind in kinds(KEEP_RESIDENT) {
        let template = template(kind);
        let memory = Memory::new(Some(&template), SIZE, 3 * SIZE).unwrap();
        let mut memory = memory.staying_open();
        let behind = memory.base() as usize + SIZE + 5 * PAGE;
        for call in 0..300 {
            // After a while without growth, what lies behind is dropped.
            if !(20..280).contains(&call) {
                let grown = SIZE + (10 + call % 7) * PAGE;
                memory.grow(grown).unwrap();
                assert_eq!(memory.accessible(), grown);
                assert!(memory.bytes_mut()[SIZE..].iter().all(|byte| *byte == 0), "{kind:?}");
                memory.bytes_mut()[SIZE..].fill(1);
            }
            memory.reset().unwrap();
            assert_eq!(memory.bytes_mut().len(), SIZE);
            assert_eq!(mappings(behind..behind + 1).readable, 1, "{kind:?}");
        }
        assert!(memory.bytes_mut()[5000..9000].iter().all(|byte| *byte == 3));
    }
}

/// A page behind the first size that is let go of stays writable, also to the kernel.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn what_lies_behind_the_first_size_is_never_watched() {
    for kind in kinds(KEEP_RESIDENT) {
        let memory = Memory::new(Some(&template(kind)), SIZE, 3 * SIZE).unwrap();
        let mut memory = memory.staying_open();
        let mut zeros = std::fs::File::open("/dev/zero").unwrap();
        for call in 0..60 {
            memory.grow(SIZE + 4 * PAGE).unwrap();
            // The first page now and then, the others in each call.
            for page in usize::from(call % 20 > 0)..4 {
                let page = &mut memory.bytes_mut()[SIZE + page * PAGE..][..9];
                zeros.read_exact(page).unwrap_or_else(|error| panic!("{kind:?}, {call}: {error}"));
                page.fill(1);
            }
            memory.reset().unwrap();
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "needs processes and signals")]
fn many_memories_leave_mappings_to_others() {
    if passes("tests::mapping_tests::many_memories_leave_mappings_to_others") {
        return;
    }
    let allowed = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    let allowed: usize = allowed.trim().parse().unwrap();
    let (pages, kind) = (200, ResetMethod::Tracked { limit: KEEP_RESIDENT });
    let memories = allowed * 3 / 4 / (2 * pages);
    if kind.refusal().is_some() || memories > TRACKED_AT_ONCE {
        return;
    }
    let size = KEEP_RESIDENT;
    let template = MemoryTemplate::new(InitialContent::zeroed(size), kind).unwrap();
    let mut memories: Vec<_> =
        (0..memories).map(|_| Memory::new(Some(&template), size, 2 * size).unwrap()).collect();
    let before = mappings(0..usize::MAX).count;
    let call = |memory: &mut Memory| {
        for page in 0..pages {
            memory.bytes_mut()[page * 3 * PAGE] = 1;
        }
        memory.reset().unwrap();
        assert!(memory.bytes_mut().iter().step_by(PAGE).all(|byte| *byte == 0));
    };
    for memory in &mut memories {
        call(memory);
        let taken = mappings(0..usize::MAX).count - before;
        assert!(taken <= allowed / 2 + 1000, "{taken} of {allowed} mappings");
    }
    // Those that are used give back what is above a quarter.
    for memory in &mut memories {
        call(memory);
    }
    let taken = mappings(0..usize::MAX).count - before;
    assert!(taken <= allowed / 4 + 1000, "{taken} of {allowed} mappings");
}

/// A memory in few runs keeps them; another one is opened as a whole until mappings are few.
#[test]
#[cfg_attr(miri, ignore = "needs processes and signals")]
fn mappings_are_given_back_while_they_are_many() {
    let kind = ResetMethod::Tracked { limit: KEEP_RESIDENT };
    let name = "tests::mapping_tests::mappings_are_given_back_while_they_are_many";
    if passes(name) || kind.refusal().is_some() {
        return;
    }
    let template = MemoryTemplate::new(InitialContent::zeroed(KEEP_RESIDENT), kind).unwrap();
    let new = || Memory::new(Some(&template), KEEP_RESIDENT, KEEP_RESIDENT).unwrap();
    // Writes so many pages in each of so many places. Whether the memory is watched then.
    let call = |memory: &mut Memory, places: usize, pages: usize| {
        for place in 0..places {
            (0..pages).for_each(|page| memory.bytes_mut()[(8 * place + page) * PAGE] = 1);
        }
        memory.reset().unwrap();
        assert!(memory.bytes_mut().iter().step_by(PAGE).all(|byte| *byte == 0));
        memory.resetter().unwrap().is_watched()
    };
    let (mut many, mut few) = (new(), new());
    assert!(call(&mut many, 20, 1) && call(&mut few, mappings::FEW_RUNS, 2));
    let others = mappings::tests::Others::new(1);
    assert!((0..5).all(|_| call(&mut few, mappings::FEW_RUNS, 2)));
    assert!((0..20).all(|_| !call(&mut many, 20, 1)));
    drop(others);
    assert_eq!((0..300).take_while(|_| !call(&mut many, 20, 1)).count(), 3);
}

#[test]
#[cfg_attr(miri, ignore = "needs mmap without access")]
fn sizes_beyond_all_addresses_are_refused() {
    assert!(Mapping::new(usize::MAX, 0).is_err());
    assert!(Mapping::new(1, usize::MAX).is_err());
    let mut memory = Memory::new(None, SIZE, 2 * SIZE).unwrap();
    assert!(memory.grow(usize::MAX).is_err());
    assert_eq!(memory.accessible(), SIZE);
    memory.bytes_mut().fill(1);
}

/// A resetter needs all of the memory that its template is for.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn a_memory_stays_as_large_as_its_plan() {
    for kind in kinds(KEEP_RESIDENT) {
        let mut memory = Memory::new(Some(&template(kind)), SIZE, 2 * SIZE).unwrap();
        memory.bytes_mut()[0] = 0;
        for size in [0, SIZE - 1] {
            assert!(memory.hide(size).is_err(), "{kind:?}");
        }
        memory.hide(SIZE).unwrap();
        memory.reset().unwrap();
        assert_eq!(memory.accessible(), SIZE, "{kind:?}");
    }
}

/// A part that could not be closed does not belong to the memory.
#[test]
#[cfg_attr(miri, ignore = "needs mmap without access")]
fn nobody_gets_what_could_not_be_closed() {
    for hides in [true, false] {
        let mut memory = Mapping::new(2 * SIZE, 2 * SIZE).unwrap();
        // SAFETY: nobody uses this part of the memory, which is this test's own.
        let unmapped = unsafe { libc::munmap(memory.base().add(SIZE + PAGE).cast(), PAGE) };
        assert_eq!(unmapped, 0);
        let closed = if hides { memory.hide(SIZE) } else { memory.resize(SIZE) };
        assert!(closed.is_err());
        assert!(memory.is_broken());
        assert_eq!(memory.bytes_mut().len(), SIZE);
    }
}

/// No memory takes more mappings than it is counted for.
#[test]
#[cfg_attr(miri, ignore = "needs processes")]
fn mappings_that_memories_take_are_counted() {
    if passes("tests::mapping_tests::mappings_that_memories_take_are_counted") {
        return;
    }
    for kind in kinds(KEEP_RESIDENT) {
        let (before, held) = (mappings(0..usize::MAX).count as isize, mappings::tests::held());
        let memories: Vec<_> = (0..100)
            .map(|_| {
                let mut memory = Memory::new(Some(&template(kind)), SIZE, 3 * SIZE).unwrap();
                for _ in 0..3 {
                    memory.grow(2 * SIZE).unwrap();
                    memory.bytes_mut()[SIZE] = 1;
                    memory.reset().unwrap();
                }
                memory
            })
            .collect();
        let taken = mappings(0..usize::MAX).count as isize - before;
        // The program has a few more of its own.
        assert!(taken <= mappings::tests::held() - held + 10, "{kind:?}: {taken}");
        drop(memories);
        assert_eq!(mappings::tests::held(), held, "{kind:?}");
    }
}

/// The data of most programs lies behind a stack of 1 MiB. Memories that drop their pages have one
/// mapping more.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn an_idle_memory_takes_three_mappings() {
    const STACK: usize = 1 << 20;
    for (start, kept, dropped) in [(0, 3, 3), (5000, 3, 4), (STACK, 3, 4), (STACK + PAGE, 4, 4)] {
        for kind in keeping(KEEP_RESIDENT).chain([ResetMethod::Drop]) {
            let expected = if kind == ResetMethod::Drop { dropped } else { kept };
            let content = InitialContent::from_segments(2 * STACK, [(start, &[3; 9000][..])]);
            let template = MemoryTemplate::new(content.unwrap(), kind).unwrap();
            let mut memory = Memory::new(Some(&template), 0, 8 * STACK).unwrap();
            let range = memory.base() as usize..memory.base() as usize + 8 * STACK;
            assert_eq!(mappings(range.clone()).count, expected, "{kind} of data at {start}");
            memory.bytes_mut()[STACK - 1] = 1;
            assert!(memory.reset().unwrap() && memory.bytes_mut()[STACK - 1] == 0);
            memory.trim().unwrap();
            assert_eq!(mappings(range).count, expected, "{kind} of data at {start}, after a use");
        }
    }
}
