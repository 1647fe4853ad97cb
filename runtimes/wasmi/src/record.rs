//! The record that wasmi keeps of a memory inside its store.
//!
//! wasmi's memories only grow: the size lies in this record, and no function lowers it.
//! Bounds checks, `memory.size`, `memory.grow` and the host's view read it from there alone,
//! and between calls nothing of the guest runs that could remember another one. So a memory
//! whose record is put back to what it was is, in size, the memory that it was.
//!
//! The record is a [`wasmi_core::Memory`], the type that wasmi itself stores; the manifest
//! pins both crates. For a static buffer it is two numbers, a pointer and a type, owns
//! nothing, and never moves: wasmi's instances point to it. Only its address is not given
//! out. It is found by what changes in a new store when its first memory is made: the
//! number of memories, and the pointer to where they lie.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use wasmi::Store;
use wasmi_core::Memory;

/// See the module's documentation.
pub(crate) struct Record {
    place: NonNull<Memory>,
    /// What [`put_back`](Self::put_back) writes there. It owns nothing, so that there may be
    /// two of it.
    first: ManuallyDrop<Memory>,
}

// SAFETY: the pointer leads into the store that the record is used with, which is `Send`.
unsafe impl Send for Record {}

impl Record {
    /// Makes the first memory of a new store and finds its record; `None` when that does
    /// not lie where it does in the version that is known.
    ///
    /// `make` makes one memory over a static buffer that starts at `base`, and changes
    /// nothing else in the store.
    pub(crate) fn of_first<T, M, E>(
        store: &mut Store<T>,
        base: *mut u8,
        make: impl FnOnce(&mut Store<T>) -> Result<M, E>,
    ) -> Result<(M, Option<Self>), E> {
        let before = words(store);
        let made = make(store)?;
        let changed: Vec<_> = words(store)
            .into_iter()
            .enumerate()
            .filter(|(index, word)| before[*index] != *word)
            .collect();
        let pointer = match changed[..] {
            [(count, 1), (pointer, address)] | [(pointer, address), (count, 1)]
                if before[count] == 0 && before[pointer] == 0 && address % 8 == 0 =>
            {
                pointer
            }
            _ => return Ok((made, None)),
        };
        // SAFETY: a word inside the store, which is initialised: it was just written.
        let place = unsafe { std::ptr::from_mut(store).cast::<*mut Memory>().add(pointer).read() };
        let Some(place) = NonNull::new(place) else { return Ok((made, None)) };
        // SAFETY: making a memory allocates the place of memories and nothing else, so this
        // pointer, the only word beside the count that was set, leads to it, and the new
        // memory is the first there. The check that follows holds it against what was made.
        let found = unsafe { place.as_ref() };
        if found.data_ptr() != base {
            return Ok((made, None));
        }
        // SAFETY: as above. The copy is never dropped, and could be: over a static buffer it
        // owns nothing.
        let first = ManuallyDrop::new(unsafe { place.read() });
        Ok((made, Some(Self { place, first })))
    }

    /// Takes the memory's size now for the one that it is put back to.
    ///
    /// # Safety
    ///
    /// The store must be alive, and nobody else may use it meanwhile.
    pub(crate) unsafe fn keep(&mut self) {
        // SAFETY: by the caller's promise the record is there and nobody writes it.
        self.first = ManuallyDrop::new(unsafe { self.place.read() });
    }

    /// Puts the memory's size back to that of the last [`keep`](Self::keep).
    ///
    /// # Safety
    ///
    /// As for [`keep`](Self::keep), and no slice of the memory may be alive.
    pub(crate) unsafe fn put_back(&mut self) {
        // SAFETY: by the caller's promise the record is valid and nobody reads it meanwhile. The
        // old value owns nothing and need not be dropped. The buffer is large enough for the
        // size that is written, which the memory had before.
        unsafe { std::ptr::copy_nonoverlapping(&raw const *self.first, self.place.as_ptr(), 1) };
    }
}

/// The words that a store consists of, without what it points to.
fn words<T>(store: &Store<T>) -> Vec<usize> {
    let start = std::ptr::from_ref(store).cast::<usize>();
    (0..size_of::<Store<T>>() / size_of::<usize>())
        // SAFETY: the word lies in the store, which is aligned as words are. Volatile, because
        // some of it is padding, whose content the compiler may otherwise take for anything.
        .map(|index| unsafe { start.add(index).read_volatile() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasmi::{Engine, MemoryType};

    #[test]
    fn a_memory_that_grew_has_its_first_size_again() {
        let buffer: &'static mut [u8] = Box::leak(vec![0; 5 << 16].into_boxed_slice());
        let base = buffer.as_mut_ptr();
        let mut store = Store::new(&Engine::default(), ());
        let ty = MemoryType::new(2, Some(5));
        let made = Record::of_first(&mut store, base, |store| {
            wasmi::Memory::new_static(store, ty, buffer)
        });
        let (memory, Some(mut record)) = made.unwrap() else { panic!("not found") };
        for _ in 0..3 {
            assert_eq!(memory.size(&store), 2);
            assert_eq!(memory.grow(&mut store, 3).unwrap(), 2);
            assert!(memory.grow(&mut store, 1).is_err());
            assert_eq!(memory.data(&store).len(), 5 << 16);
            memory.write(&mut store, 4 << 16, &[7]).unwrap();
            // SAFETY: the store is alive, and nobody else uses it.
            unsafe { record.put_back() };
            assert_eq!(memory.data(&store).len(), 2 << 16);
            assert!(memory.write(&mut store, 2 << 16, &[7]).is_err());
        }
        memory.grow(&mut store, 2).unwrap();
        // SAFETY: as above.
        unsafe { record.keep() };
        memory.grow(&mut store, 1).unwrap();
        // What it holds is not the record's business: wasmi makes zero what it opens.
        assert_eq!(memory.data(&store)[4 << 16], 0);
        // SAFETY: as above.
        unsafe { record.put_back() };
        assert_eq!(memory.size(&store), 4);
    }
}
