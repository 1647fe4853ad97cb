//! Resets of all kinds against a fresh memory, byte for byte.

use super::*;
use proptest::prelude::*;
use std::io::Read;

pub(super) const SIZE: usize = 65_536 * 4;

pub(super) fn content(size: usize) -> InitialContent {
    let mut clean = vec![0; size];
    for (index, byte) in clean.iter_mut().enumerate().take(3 * 4096 + 17).skip(5000) {
        *byte = (index % 251) as u8;
    }
    // Far enough apart to be another part of the image.
    clean[size - 9000..][..5000].fill(3);
    InitialContent::capture(&clean)
}

pub(super) fn fresh(size: usize) -> Vec<u8> {
    let mut fresh = vec![0; size];
    content(size).write(&mut fresh);
    fresh
}

fn kinds() -> Vec<ResetMethod> {
    let limits = [1 << 20, 3 * 4096, 0];
    test_support::unlimited().chain(limits.into_iter().flat_map(test_support::keeping)).collect()
}

#[test]
fn the_page_is_that_of_the_kernel() {
    assert_eq!(host_page(), rustix::param::page_size());
}

/// The steps of a guest in a call.
#[derive(Debug, Clone)]
enum Step {
    Write {
        offset: usize,
        value: u8,
        length: usize,
    },
    /// A byte in each page of so many, with gaps between them.
    Scatter {
        first: usize,
        step: usize,
        count: usize,
    },
    /// Pages of zeros that are only read are resident too.
    Read,
    /// The kernel writes for the host.
    Announced {
        offset: usize,
        length: usize,
    },
    Grow {
        pages: usize,
    },
    ResetMethod,
    Trim,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..2 * SIZE, any::<u8>(), 1_usize..9000)
            .prop_map(|(offset, value, length)| Step::Write { offset, value, length }),
        2 => (0..SIZE / 4096, 2_usize..5, 1_usize..60)
            .prop_map(|(first, step, count)| Step::Scatter { first, step, count }),
        1 => Just(Step::Read),
        1 => (0..SIZE, 1_usize..20_000)
            .prop_map(|(offset, length)| Step::Announced { offset, length }),
        1 => (1_usize..5).prop_map(|pages| Step::Grow { pages }),
        4 => Just(Step::ResetMethod),
        1 => Just(Step::Trim),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    /// After any writes, growth and resets, every byte is as in a fresh memory.
    #[test]
    #[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
    fn a_reset_memory_is_a_fresh_memory(steps in prop::collection::vec(step(), 0..80)) {
        let fresh = fresh(SIZE);
        for kind in kinds() {
            let template = MemoryTemplate::new(content(SIZE), kind).unwrap();
            let mut memory = Memory::new(Some(&template), SIZE, 2 * SIZE).unwrap();
            let mut expected = fresh.clone();
            for step in &steps {
                match *step {
                    Step::Write { offset, value, length } => {
                        let offset = offset.min(expected.len() - 1);
                        let end = (offset + length).min(expected.len());
                        memory.bytes_mut()[offset..end].fill(value);
                        expected[offset..end].fill(value);
                    }
                    Step::Scatter { first, step, count } => {
                        for page in (first..SIZE / 4096).step_by(step).take(count) {
                            memory.bytes_mut()[page * 4096 + page] = 201;
                            expected[page * 4096 + page] = 201;
                        }
                    }
                    Step::Read => {
                        let sum = |bytes: &[u8]| bytes.iter().map(|b| u32::from(*b)).sum::<u32>();
                        prop_assert_eq!(sum(memory.bytes_mut()), sum(&expected));
                    }
                    Step::Announced { offset, length } => {
                        let end = (offset + length).min(expected.len());
                        let mut zeros = std::fs::File::open("/dev/zero").unwrap();
                        zeros.read_exact(writable(&mut memory.bytes_mut()[offset..end])).unwrap();
                        expected[offset..end].fill(0);
                    }
                    Step::Grow { pages } => {
                        let size = (expected.len() + pages * 65_536).min(2 * SIZE);
                        memory.grow(size).unwrap();
                        expected.resize(size, 0);
                    }
                    Step::ResetMethod => {
                        memory.reset().unwrap();
                        expected = fresh.clone();
                    }
                    Step::Trim => {
                        memory.reset().unwrap();
                        memory.trim().unwrap();
                        expected = fresh.clone();
                    }
                }
                prop_assert!(memory.bytes_mut() == expected, "{kind:?} after {step:?}");
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn a_mapping_shrinks_and_grows_with_zeros() {
    let mut mapping = Mapping::new(65_536, 4 * 65_536).unwrap();
    mapping.resize(2 * 65_536).unwrap();
    mapping.bytes_mut().fill(7);
    mapping.resize(65_536).unwrap();
    mapping.resize(3 * 65_536).unwrap();
    let memory = mapping.bytes_mut();
    assert!(memory[..65_536].iter().all(|byte| *byte == 7));
    assert!(memory[65_536..].iter().all(|byte| *byte == 0));
    assert!(mapping.resize(5 * 65_536).is_err());
}

/// To shrink drops the pages that were open, and no others.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn a_mapping_that_shrinks_keeps_what_is_hidden_behind() {
    if !pagemap_scan_available() {
        return;
    }
    let mut mapping = Mapping::new(4 * 65_536, 4 * 65_536).unwrap();
    mapping.bytes_mut().fill(0);
    mapping.hide(65_536).unwrap();
    for size in [2, 1, 4] {
        mapping.resize(size * 65_536).unwrap();
    }
    let own =
        |page: usize| test_support::own_bytes(mapping.base() as usize + page * 65_536, 65_536);
    assert_eq!([0, 1, 2, 3].map(own), [65_536, 0, 65_536, 65_536]);
}

#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn a_mapping_gives_its_addresses_back() {
    // More than a process has, one after the other.
    for _ in 0..2200 {
        assert_eq!(Mapping::new(0, 1 << 36).unwrap().reserved(), 1 << 36);
    }
}

#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn what_is_hidden_is_no_part_of_the_memory() {
    let mut memory = Memory::new(None, 3 * 65_536, 4 * 65_536).unwrap();
    memory.hide(65_536).unwrap();
    assert_eq!((memory.accessible(), memory.bytes_mut().len()), (65_536, 65_536));
    let readable = test_support::mappings(memory.base() as usize..usize::MAX).readable;
    assert_eq!(readable, 65_536);
    memory.grow(4 * 65_536).unwrap();
    assert!(memory.bytes_mut().iter().all(|byte| *byte == 0));
}

#[test]
fn a_memory_without_content_needs_no_image() {
    let template =
        MemoryTemplate::new(InitialContent::capture(&[0; 65_536]), ResetMethod::Drop).unwrap();
    assert!(template.image().is_none());
}

/// Modules may have a memory that begins empty.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn a_memory_of_no_bytes_is_as_clean() {
    for kind in kinds() {
        let template = MemoryTemplate::new(InitialContent::zeroed(0), kind).unwrap();
        let mut memory = Memory::new(Some(&template), 0, SIZE).unwrap();
        for _ in 0..20 {
            assert_eq!(memory.accessible(), 0);
            memory.grow(65_536).unwrap();
            assert!(memory.bytes_mut().iter().all(|byte| *byte == 0), "{kind:?}");
            memory.bytes_mut().fill(9);
            memory.reset().unwrap();
            memory.reset().unwrap();
            memory.trim().unwrap();
        }
    }
}

pub(super) fn resident(memory: &Memory) -> usize {
    test_support::own_bytes(memory.base() as usize, memory.accessible())
}

/// Kinds that keep pages, where the kernel can be asked what they keep.
fn keeping(limit: usize) -> Vec<ResetMethod> {
    test_support::keeping(limit).filter(|_| pagemap_scan_available()).collect()
}

#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn a_heavy_call_is_forgotten_by_the_tenth_light_one() {
    for kind in keeping(1 << 20) {
        let template = MemoryTemplate::new(content(SIZE), kind).unwrap();
        let mut memory = Memory::new(Some(&template), SIZE, SIZE).unwrap();
        memory.bytes_mut().fill(9);
        memory.reset().unwrap();
        assert_eq!(resident(&memory), SIZE, "{kind:?}");
        for light in 0..300 {
            memory.bytes_mut()[77] = 1;
            if light > 9 {
                // Only the page that was written is compared now.
                assert_eq!(memory.resetter().unwrap().kept(), 1, "{kind:?}, call {light}");
            }
            memory.reset().unwrap();
        }
        assert_eq!(resident(&memory), host_page(), "{kind:?}");
        assert!(memory.bytes_mut() == fresh(SIZE));
    }
}

/// A call may write what is there already; that must not cost a fault each time.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn pages_written_with_their_clean_content_come_back_less_and_less() {
    for kind in keeping(1 << 20) {
        let template = MemoryTemplate::new(content(SIZE), kind).unwrap();
        let mut memory = Memory::new(Some(&template), SIZE, SIZE).unwrap();
        let mut call = || {
            for page in memory.bytes_mut()[SIZE / 2..].chunks_mut(host_page()) {
                // SAFETY: the page is borrowed. Volatile, so that the compiler does not leave
                // it out as writing what is there.
                unsafe { page.as_mut_ptr().write_volatile(0) };
            }
            memory.reset().unwrap();
        };
        (0..6000).for_each(|_| call());
        let before = crate::faults::said().unwrap();
        (0..2000).for_each(|_| call());
        let faults = crate::faults::said().unwrap() - before;
        assert!(faults <= 2 * (SIZE / 2 / host_page()) as u64, "{kind:?}: {faults}");
    }
}

/// Faults in order open pages ahead. Where the guest writes what is there, the pages behind
/// the last one that it writes look like those before it.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn pages_that_were_opened_ahead_are_watched_again_unless_they_are_written() {
    let kind = ResetMethod::Tracked { limit: 1 << 20 };
    if kind.refusal().is_some() {
        return;
    }
    let template = MemoryTemplate::new(InitialContent::zeroed(4 * SIZE), kind).unwrap();
    for value in [0, 1] {
        for pages in [1, 2, 13, 64, 65, 100, 200] {
            let mut memory = Memory::new(Some(&template), 4 * SIZE, 4 * SIZE).unwrap();
            let mut kept = Vec::new();
            for _ in 0..400 {
                for page in memory.bytes_mut().chunks_mut(host_page()).take(pages) {
                    // SAFETY: the page is borrowed. Volatile, so that the compiler does not
                    // leave it out as writing what is there.
                    unsafe { page.as_mut_ptr().write_volatile(value) };
                }
                memory.reset().unwrap();
                kept.push(memory.resetter().unwrap().kept());
            }
            // Pages that are let go come back now and then, with others behind them.
            kept.sort_unstable();
            assert_eq!(kept[kept.len() / 2], pages, "value {value}");
            assert!(memory.bytes_mut().iter().all(|byte| *byte == 0));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn what_stays_resident_has_a_bound() {
    let limit = 16 * host_page();
    for kind in keeping(limit) {
        let template = MemoryTemplate::new(content(SIZE), kind).unwrap();
        let mut memory = Memory::new(Some(&template), SIZE, 2 * SIZE).unwrap();
        for _ in 0..3 {
            memory.grow(2 * SIZE).unwrap();
            memory.bytes_mut().fill(9);
            memory.reset().unwrap();
            // What is closed cannot be asked about: opened once more for that.
            memory.grow(2 * SIZE).unwrap();
            assert!(resident(&memory) <= 2 * limit, "{kind:?}: {} bytes", resident(&memory));
            memory.reset().unwrap();
        }
    }
}

/// Each call writes three pages that none has written before, and lets go of as many.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn what_was_let_go_of_has_a_bound() {
    let (limit, size) = (64 * host_page(), 512 * host_page());
    for kind in keeping(limit) {
        let template = MemoryTemplate::new(InitialContent::zeroed(size), kind).unwrap();
        let mut memory = Memory::new(Some(&template), size, size).unwrap();
        // Backwards, so that nothing is opened ahead.
        for pages in (0..510).rev().collect::<Vec<_>>().chunks(3) {
            for page in pages {
                memory.bytes_mut()[page * host_page()] = 1;
            }
            memory.reset().unwrap();
            assert!(resident(&memory) <= 2 * limit, "{kind:?}: {} bytes", resident(&memory));
        }
        assert!(memory.bytes_mut().iter().all(|byte| *byte == 0));
    }
}

/// For runtimes that make zero themselves what a memory grows by.
#[test]
#[cfg_attr(miri, ignore = "needs mmap without access, mprotect or signals")]
fn what_lies_behind_a_shrunk_memory_has_a_bound_and_goes_when_it_is_not_needed() {
    const LIMIT: usize = 1 << 20;
    let page = host_page();
    for kind in keeping(LIMIT) {
        let template = MemoryTemplate::new(content(SIZE), kind).unwrap();
        let mut mapping = Mapping::new(16 * SIZE, 16 * SIZE).unwrap();
        let base = mapping.base();
        // SAFETY: the mapping is larger than the template, and outlives the resetter.
        let mut resetter = unsafe { template.install(base) }.unwrap();
        let mut used = |grown: usize| {
            mapping.bytes_mut()[..SIZE + grown].fill(7);
            // SAFETY: nobody has a reference into the mapping, all of which is open.
            unsafe { resetter.reset_shrunk(SIZE + grown) }.unwrap();
            assert!(mapping.bytes_mut()[..SIZE] == fresh(SIZE), "{kind:?}");
            test_support::own_bytes(base as usize + SIZE, 15 * SIZE)
        };
        assert!((1..=LIMIT).contains(&used(LIMIT / 2)), "{kind:?}");
        assert!((1..=LIMIT).contains(&used(12 * SIZE)), "{kind:?}");
        // Kept while calls grow, however little.
        assert!((1..=LIMIT).contains(&used(page)), "{kind:?}");
        let calls = (0..10_000).take_while(|_| used(0) > 0).count();
        assert!((1..10_000).contains(&calls), "{kind:?}: {calls}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn a_memory_that_was_written_all_over_is_watched_again_later() {
    let limit = 4 * host_page();
    if (ResetMethod::Tracked { limit }).refusal().is_some() {
        return;
    }
    let template = MemoryTemplate::new(content(SIZE), ResetMethod::Tracked { limit }).unwrap();
    let mut memory = Memory::new(Some(&template), SIZE, SIZE).unwrap();
    for round in 0..4 {
        memory.bytes_mut().fill(round);
        memory.reset().unwrap();
        for light in 0..40 {
            memory.bytes_mut()[light * 4096] = 1;
            memory.reset().unwrap();
            assert!(memory.bytes_mut() == fresh(SIZE), "round {round}, light call {light}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn many_memories_are_tracked_and_the_rest_is_reset_otherwise() {
    let kind = ResetMethod::Tracked { limit: 1 << 20 };
    if kind.refusal().is_some() {
        return;
    }
    let template = MemoryTemplate::new(content(SIZE), kind).unwrap();
    let mut memories: Vec<_> = (0..TRACKED_AT_ONCE + 8)
        .map(|_| Memory::new(Some(&template), SIZE, SIZE).unwrap())
        .collect();
    let fresh = fresh(SIZE);
    for memory in memories.iter_mut().rev() {
        memory.bytes_mut()[4096..3 * 4096].fill(7);
        memory.bytes_mut()[SIZE - 1] = 7;
        memory.reset().unwrap();
        assert!(memory.bytes_mut() == fresh);
    }
    let is_further = |memory: &mut Memory| memory.resetter().unwrap().asks_threads();
    let further: Vec<_> = memories.iter_mut().filter_map(|m| is_further(m).then_some(m)).collect();
    assert!(further.len() >= 8);
    further_memories_ask_after_faults_of_their_own_use_alone(further, &fresh);
}

fn further_memories_ask_after_faults_of_their_own_use_alone(
    mut memories: Vec<&mut Memory>,
    fresh: &[u8],
) {
    let mut scans = Vec::new();
    for round in 0..30 {
        for (index, memory) in memories.iter_mut().enumerate() {
            // The first one faults in each round: the next ones do not ask because of that.
            let first = if index == 0 { 10 + round } else { 4 };
            // Without notes, the kernel is asked; of a host that writes on another thread, too.
            if round % 10 == 9 {
                memory.resetter.as_mut().unwrap().forget_owner();
            } else {
                let mut resetter = memory.resetter().unwrap();
                resetter.note_threads();
                // SAFETY: nobody has written it since its reset, and only this thread will,
                // or it says so.
                unsafe { resetter.begin_use() };
            }
            let bytes = &mut memory.bytes_mut()[first * host_page()..(first + 2) * host_page()];
            if round % 10 == 5 {
                std::thread::scope(|scope| scope.spawn(|| bytes.fill(7)).join().unwrap());
                note_foreign_writes();
            } else {
                bytes.fill(7);
            }
            memory.reset().unwrap();
            assert!(memory.bytes_mut() == fresh, "round {round}, memory {index}");
        }
        let all = memories.iter_mut().map(|memory| memory.resetter().unwrap().scans());
        scans.push(all.skip(1).sum::<usize>());
    }
    // Other code on this thread may fault as well.
    let asked: Vec<_> = scans.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let others = memories.len() - 1;
    assert!(asked[..4].iter().sum::<usize>() <= 2 * others, "{asked:?}");
    assert_eq!((asked[4], asked[8]), (others, others), "{asked:?}");
    assert!(asked[20..24].iter().sum::<usize>() <= others, "{asked:?}");
}

#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn threads_track_their_own_memories() {
    let kind = ResetMethod::Tracked { limit: 1 << 20 };
    if kind.refusal().is_some() {
        return;
    }
    let template = MemoryTemplate::new(content(SIZE), kind).unwrap();
    let fresh = fresh(SIZE);
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            let (template, fresh) = (&template, &fresh);
            scope.spawn(move || {
                for round in 0..50 {
                    // A new one each round: the registry changes under the others.
                    let mut memory = Memory::new(Some(template), SIZE, SIZE).unwrap();
                    for call in 0..10 {
                        let at = (thread * 7919 + round * 104_729 + call * 4099) % (SIZE - 9000);
                        memory.bytes_mut()[at..at + 9000].fill(1);
                        memory.reset().unwrap();
                        assert!(memory.bytes_mut() == *fresh);
                    }
                }
            });
        }
    });
}

#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn an_idle_memory_shrinks_and_stays_clean() {
    for kind in keeping(1 << 20) {
        let template = MemoryTemplate::new(content(SIZE), kind).unwrap();
        let mut memory = Memory::new(Some(&template), SIZE, 2 * SIZE).unwrap();
        for _ in 0..3 {
            memory.grow(2 * SIZE).unwrap();
            memory.bytes_mut().fill(9);
            memory.reset().unwrap();
            assert!(resident(&memory) > 0);
            memory.trim().unwrap();
            assert_eq!(resident(&memory), 0, "{kind:?}");
            // Nor is anything left of what it had grown by.
            memory.grow(2 * SIZE).unwrap();
            assert_eq!(resident(&memory), 0, "{kind:?}");
            memory.reset().unwrap();
            assert!(memory.bytes_mut() == fresh(SIZE));
            memory.bytes_mut().fill(8);
            memory.reset().unwrap();
            assert!(memory.bytes_mut() == fresh(SIZE));
        }
    }
}

#[test]
fn a_size_that_is_not_made_of_pages_is_refused() {
    let uneven = InitialContent::zeroed(host_page() + 100);
    let refused = MemoryTemplate::new(uneven, ResetMethod::Tracked { limit: usize::MAX });
    assert!(matches!(refused, Err(Error::Unsuitable { .. })));
}
