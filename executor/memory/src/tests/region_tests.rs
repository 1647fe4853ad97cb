//! Regions at the end of memories.

use super::test_support::kinds;
use super::{InitialContent, Memory, MemoryTemplate, Region, ResetMethod, host_page};
use std::sync::Arc;

const REGION: usize = 64 << 10;
const SIZE: usize = 4 * REGION;

fn template(reset: ResetMethod, region: &Arc<Region>) -> MemoryTemplate {
    let mut clean = vec![0; SIZE];
    clean[7] = 1;
    let template = MemoryTemplate::new(InitialContent::capture(&clean), reset).unwrap();
    template.sharing(Some(Arc::clone(region))).unwrap()
}

/// The bytes that a guest reads.
fn read(memory: &Memory, offset: usize) -> u8 {
    assert!(offset < memory.accessible());
    // SAFETY: the byte is accessible, and no test writes it meanwhile.
    unsafe { memory.base().add(offset).read_volatile() }
}

#[test]
#[cfg_attr(miri, ignore = "needs mappings of files")]
fn all_memories_read_what_the_host_writes_and_keep_it_over_resets() {
    for reset in kinds(1 << 20) {
        let region = Arc::new(Region::new(1).unwrap());
        assert_eq!(region.length(), REGION);
        let template = template(reset, &region);
        let size = template.size();
        assert_eq!(size, SIZE - REGION);
        let mut memories: Vec<Memory> =
            (0..3).map(|_| Memory::new(Some(&template), SIZE, 2 * SIZE).unwrap()).collect();
        for round in 1..=20_u8 {
            region.write(&[round, round + 1]);
            for memory in &mut memories {
                assert_eq!(memory.accessible(), SIZE);
                assert_eq!((read(memory, size), read(memory, size + 1)), (round, round + 1));
                assert_eq!(read(memory, SIZE - 1), 0);
                let bytes = memory.bytes_mut();
                assert_eq!((bytes.len(), bytes[7], bytes[size - 1]), (size, 1, 0), "{reset:?}");
                bytes[7] = round;
                bytes[size - 1] = round;
                assert!(memory.reset().unwrap());
            }
        }
        // What is written is cut off at the end, and outlives no memory.
        region.write(&vec![9; 2 * REGION]);
        let last = memories.pop().unwrap();
        drop(memories);
        assert_eq!(read(&last, SIZE - 1), 9);
    }
}

#[test]
#[cfg_attr(miri, ignore = "needs mappings of files")]
fn a_memory_with_a_region_does_not_grow() {
    let region = Arc::new(Region::new(1).unwrap());
    let mut memory =
        Memory::new(Some(&template(ResetMethod::Drop, &region)), SIZE, 2 * SIZE).unwrap();
    memory.grow(SIZE).unwrap();
    assert!(memory.grow(SIZE + host_page()).is_err());
    assert_eq!(memory.accessible(), SIZE);
}

#[test]
#[cfg_attr(miri, ignore = "needs mappings of files")]
fn a_region_needs_room_that_is_empty() {
    let sharing = |content: InitialContent, length| {
        let template = MemoryTemplate::new(content, ResetMethod::Drop).unwrap();
        template.sharing(Some(Arc::new(Region::new(length).unwrap())))
    };
    assert!(sharing(InitialContent::zeroed(SIZE), SIZE).is_err());
    assert!(sharing(InitialContent::zeroed(SIZE), SIZE - REGION).is_ok());
    let mut full = vec![0; SIZE];
    full[SIZE - 1] = 1;
    assert!(sharing(InitialContent::capture(&full), 1).is_err());
}

/// Nobody else can make a mapping that can be written.
#[test]
#[cfg_attr(miri, ignore = "needs mappings of files")]
fn a_mapped_region_cannot_be_opened_for_writing() {
    let region = Arc::new(Region::new(1).unwrap());
    let template = template(ResetMethod::Drop, &region);
    let memory = Memory::new(Some(&template), SIZE, SIZE).unwrap();
    // SAFETY: the pages are the memory's own; they stay as they are, because this is refused.
    let opened = unsafe {
        let start = memory.base().add(template.size()).cast();
        let flags = rustix::mm::MprotectFlags::READ | rustix::mm::MprotectFlags::WRITE;
        rustix::mm::mprotect(start, 64 << 10, flags)
    };
    assert!(opened.is_err());
}

#[test]
#[cfg_attr(miri, ignore = "needs mappings of files and processes")]
fn a_region_that_nobody_has_is_unmapped() {
    if super::test_support::passes("tests::region_tests::a_region_that_nobody_has_is_unmapped") {
        return;
    }
    let mapped = || {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.lines().filter(|line| line.contains("touchstone-region")).count()
    };
    let region = Arc::new(Region::new(1).unwrap());
    let memory = Memory::new(Some(&template(ResetMethod::Drop, &region)), SIZE, SIZE).unwrap();
    assert_eq!(mapped(), 2);
    drop(region);
    drop(memory);
    assert_eq!(mapped(), 0);
}
