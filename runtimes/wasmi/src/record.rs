//! The record that wasmi keeps of a memory inside its store.
//!
//! wasmi makes zero what a memory begins with, and its memories only grow: the size lies in
//! this record, and no function sets it. Bounds checks, `memory.size`, `memory.grow` and the
//! host's view read it from there alone, and between calls nothing of the guest runs that could
//! remember another one. So a memory whose record is given a size has that size.
//!
//! The record is a [`wasmi_core::Memory`], the type that wasmi itself stores; the manifest
//! pins both crates. For a static buffer it owns nothing, and it never moves: wasmi's instances
//! point to it. Two places are not given out. The record's own is found by what changes in a new
//! store when its first memory is made: the number of memories, and the pointer to where they
//! lie. That of the size in it is found by what changes in a record whose memory grows.

use std::ptr::NonNull;
use std::sync::LazyLock;
use wasmi::Store;
use wasmi_core::{Memory, MemoryTypeBuilder, ResourceLimiterRef};

/// See the module's documentation.
pub(crate) struct Record {
    place: NonNull<Memory>,
    size: NonNull<usize>,
}

// SAFETY: the pointers lead into the store that the record is used with, which is `Send`.
unsafe impl Send for Record {}

impl Record {
    /// Makes the first memory of a new store and finds its record; `None` when that does
    /// not lie where it does in the version that is known.
    ///
    /// `make` makes one memory of no pages over a static buffer that starts at `base`, and
    /// changes nothing else in the store.
    pub(crate) fn of_first<T, M, E>(
        store: &mut Store<T>,
        base: *mut u8,
        make: impl FnOnce(&mut Store<T>) -> Result<M, E>,
    ) -> Result<(M, Option<Self>), E> {
        let before = words(store);
        let made = make(store)?;
        let pointer = match changed(&before, &words(store))[..] {
            [(count, 1), (pointer, address)] | [(pointer, address), (count, 1)]
                if before[count] == 0 && before[pointer] == 0 && address % 8 == 0 =>
            {
                pointer
            }
            _ => return Ok((made, None)),
        };
        // SAFETY: a word inside the store, which is initialised: it was just written.
        let place = unsafe { std::ptr::from_mut(store).cast::<*mut Memory>().add(pointer).read() };
        let (Some(place), Some(offset)) = (NonNull::new(place), *SIZE) else {
            return Ok((made, None));
        };
        // SAFETY: making a memory allocates the place of memories and nothing else, so this
        // pointer, the only word beside the count that was set, leads to it, and the new
        // memory is the first there. The check that follows holds it against what was made.
        let found = unsafe { place.as_ref() };
        if found.data_ptr() != base || found.data_size() != 0 {
            return Ok((made, None));
        }
        // SAFETY: the word lies in the record, see `offset_of_size`.
        let size = unsafe { place.cast::<usize>().add(offset) };
        Ok((made, Some(Self { place, size })))
    }

    /// Makes the memory this many bytes large.
    ///
    /// # Safety
    ///
    /// The store must be alive, nobody else may use it meanwhile, and no slice of the memory
    /// may be alive. The buffer must have so many bytes, all readable, writable and initialised.
    pub(crate) unsafe fn set_size(&mut self, bytes: usize) {
        // SAFETY: by the caller's promise the record is there, and nobody reads it meanwhile.
        // The word is the length of the memory, and the buffer is large enough for it.
        unsafe { self.size.write(bytes) };
        // SAFETY: as above.
        debug_assert_eq!(unsafe { self.place.as_ref() }.data_size(), bytes);
    }
}

/// Which word of a record is the memory's size in bytes; `None` when that cannot be told.
static SIZE: LazyLock<Option<usize>> = LazyLock::new(offset_of_size);

/// Makes a memory of one byte, lets it grow by one, and looks at what changes.
fn offset_of_size() -> Option<usize> {
    let mut ty = MemoryTypeBuilder::default();
    ty.page_size_log2(0).min(1).max(Some(2));
    let buffer = Box::leak(Box::new([0; 2]));
    let limiter = &mut ResourceLimiterRef::default();
    let mut memory = Memory::new_static(ty.build().ok()?, limiter, buffer).ok()?;
    let before = words(&memory);
    memory.grow(1, None, limiter).ok()?;
    match changed(&before, &words(&memory))[..] {
        [(size, 2)] if before[size] == 1 && memory.data_size() == 2 => Some(size),
        _ => None,
    }
}

/// The words that a value consists of, without what it points to.
fn words<T>(value: &T) -> Vec<usize> {
    const { assert!(align_of::<T>() >= align_of::<usize>()) };
    let start = std::ptr::from_ref(value).cast::<usize>();
    (0..size_of::<T>() / size_of::<usize>())
        // SAFETY: the word lies in the value, which is aligned as words are. Volatile, because
        // some of it is padding, whose content the compiler may otherwise take for anything.
        .map(|index| unsafe { start.add(index).read_volatile() })
        .collect()
}

/// Index and new content of each word that is another one.
fn changed(before: &[usize], now: &[usize]) -> Vec<(usize, usize)> {
    let words = before.iter().zip(now).enumerate();
    words.filter(|(_, (old, new))| old != new).map(|(index, (_, new))| (index, *new)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasmi::{Engine, MemoryType};

    #[test]
    fn a_memory_has_the_size_that_its_record_is_given() {
        // What it holds is not the record's business: wasmi makes zero what it opens.
        let buffer: &'static mut [u8] = Box::leak(vec![9; 5 << 16].into_boxed_slice());
        let base = buffer.as_mut_ptr();
        let mut store = Store::new(&Engine::default(), ());
        let ty = MemoryType::new(0, Some(5));
        let made = Record::of_first(&mut store, base, |store| {
            wasmi::Memory::new_static(store, ty, buffer)
        });
        let (memory, Some(mut record)) = made.unwrap() else { panic!("not found") };
        assert_eq!(memory.size(&store), 0);
        for first in [2, 2, 4] {
            // SAFETY: the store is alive, nobody else uses it, and the buffer is larger.
            unsafe { record.set_size(first << 16) };
            assert_eq!(memory.size(&store), first as u64);
            assert_eq!(memory.data_ptr(&store), base);
            assert_eq!(memory.data(&store).len(), first << 16);
            assert_eq!(memory.data(&store)[0], 9);
            assert!(memory.write(&mut store, first << 16, &[7]).is_err());
            assert_eq!(memory.grow(&mut store, 1).unwrap(), first as u64);
            assert_eq!(memory.data(&store)[first << 16], 0);
            memory.write(&mut store, first << 16, &[7]).unwrap();
            memory.grow(&mut store, 4 - first as u64).unwrap();
            assert!(memory.grow(&mut store, 1).is_err());
        }
    }
}
