//! The record that wasmi keeps of a memory inside its store.
//!
//! wasmi zeroes what a memory begins with, and its memories only grow: the size lies in this
//! record, and no function sets it. Bounds checks, `memory.size`, `memory.grow` and the host's view
//! read it from there, and between calls nothing of the guest runs that could keep another one. A
//! memory therefore has the size that its record is given.
//!
//! The public interface shows neither the record nor the size in it. Both are found once per
//! process, by their effects: making the first memory of a store sets two words of it, the number
//! of memories and the pointer to them, and growth by a page changes one word of the record. A size
//! that is written there must be the one that the interface then shows. In a version of wasmi where
//! one of these does not hold, the strategies that need the record are unsupported.

use crate::home::StoreState;
use std::ptr::NonNull;
use std::sync::OnceLock;
use touchstone_executor::Config;
use touchstone_executor::adapter::{HostState, peek};
use touchstone_executor::guest::WASM_PAGE;
use wasmi::{Engine, Memory, MemoryType, Store};

/// Places that were found and verified, in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RecordLayout {
    /// The pointer to the first memory's record, in a store.
    pointer: usize,
    /// The size in bytes, in a record.
    size: usize,
}

/// The size of a memory, inside its store.
pub(crate) struct Record(NonNull<usize>);

// SAFETY: the pointer leads into the store that the record is used with, which is `Send`.
unsafe impl Send for Record {}

impl Record {
    /// The record of the store's first memory, which has been made; `None` if the layout is
    /// unknown.
    pub(crate) fn of_first(store: &mut Store<StoreState>) -> Option<Self> {
        Self::at(store, layout().ok()?)
    }

    fn at(store: &mut Store<StoreState>, layout: RecordLayout) -> Option<Self> {
        let store = std::ptr::from_mut(store).cast::<*mut usize>();
        // SAFETY: a word of a store of this type, which holds the pointer to its memories.
        let place = NonNull::new(unsafe { store.add(layout.pointer).read() })?;
        // SAFETY: the word lies in the first record.
        Some(Self(unsafe { place.add(layout.size) }))
    }

    /// Makes the memory this many bytes large.
    ///
    /// # Safety
    ///
    /// The store must be alive, nobody else may use it meanwhile, and no slice of the memory
    /// may be alive. The buffer must have so many bytes, all readable, writable and initialised.
    pub(crate) unsafe fn set_size(&mut self, bytes: usize) {
        // SAFETY: by the caller's promise the record is there, and nobody reads it meanwhile.
        unsafe { self.0.write(bytes) };
    }
}

/// The reason why no record can be used, if there is one.
pub(crate) fn refusal() -> Option<String> {
    layout().err().map(|what| format!("wasmi's record of a memory is not as known: {what}"))
}

fn layout() -> Result<RecordLayout, &'static str> {
    static LAYOUT: OnceLock<Result<RecordLayout, &'static str>> = OnceLock::new();
    *LAYOUT.get_or_init(find)
}

/// Finds the places, and verifies that a size that is written there is the memory's.
fn find() -> Result<RecordLayout, &'static str> {
    const REFUSED: &str = "a memory cannot be made or grown";
    let state = StoreState::new(HostState::new(None, &Config::default()));
    let mut store = Box::new(Store::new(&Engine::default(), state));
    let address = (&raw mut *store).expose_provenance();
    let of_store = || words(address, size_of::<Store<StoreState>>());
    let buffer = Box::leak(vec![0; 3 * WASM_PAGE].into_boxed_slice());
    let before = of_store()?;
    let memory = Memory::new_static(&mut *store, MemoryType::new(0, Some(3)), buffer)
        .map_err(|_| REFUSED)?;
    let (pointer, place) = pointer_to_first(&before, &of_store()?)?;
    let mut grown = || {
        memory.grow(&mut *store, 1).map_err(|_| REFUSED)?;
        words(place, size_of::<wasmi_core::Memory>())
    };
    let size = place_of_size(&grown()?, &grown()?)?;
    let layout = RecordLayout { pointer, size };
    let mut record = Record::at(&mut store, layout).ok_or("the pointer is null")?;
    // SAFETY: the store is alive, nobody else has it, no slice of the memory is alive, and the
    // buffer is larger. The word held the size of the memory, and was the only one that followed
    // it.
    unsafe { record.set_size(WASM_PAGE) };
    let shown = (memory.size(&*store), memory.data(&*store).len());
    if shown != (1, WASM_PAGE) || memory.grow(&mut *store, 2).ok() != Some(1) {
        return Err("a size that is written there is not the memory's");
    }
    Ok(layout)
}

fn words(address: usize, bytes: usize) -> Result<Vec<usize>, &'static str> {
    peek(address, bytes / size_of::<usize>()).ok_or("it cannot be read")
}

/// Finds the pointer in a store before and after its first memory was made, and where it leads.
fn pointer_to_first(before: &[usize], after: &[usize]) -> Result<(usize, usize), &'static str> {
    match changed(before, after)[..] {
        [(count, 0, 1), (pointer, 0, address)] | [(pointer, 0, address), (count, 0, 1)]
            if address % size_of::<usize>() == 0 && count != pointer =>
        {
            Ok((pointer, address))
        }
        _ => Err("a new memory sets other parts of its store"),
    }
}

/// Finds the size in a record of one page that then has two.
fn place_of_size(one: &[usize], two: &[usize]) -> Result<usize, &'static str> {
    match changed(one, two)[..] {
        [(size, old, new)] if (old, new) == (WASM_PAGE, 2 * WASM_PAGE) => Ok(size),
        _ => Err("growth does not change its size alone"),
    }
}

/// Index, old and new content of each word that differs.
fn changed(before: &[usize], now: &[usize]) -> Vec<(usize, usize, usize)> {
    let words = before.iter().zip(now).enumerate();
    let all = words.map(|(index, (old, new))| (index, *old, *new));
    all.filter(|(_, old, new)| old != new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_has_the_size_that_its_record_is_given() {
        assert_eq!(refusal(), None);
        // What it holds is not the record's business: wasmi makes zero what it opens.
        let buffer: &'static mut [u8] = Box::leak(vec![9; 5 << 16].into_boxed_slice());
        let base = buffer.as_mut_ptr();
        let state = StoreState::new(HostState::new(None, &Config::default()));
        let mut store = Store::new(&Engine::default(), state);
        let memory = Memory::new_static(&mut store, MemoryType::new(0, Some(5)), buffer).unwrap();
        let mut record = Record::of_first(&mut store).unwrap();
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

    #[test]
    fn other_layouts_of_a_store_are_refused() {
        let found = |after: &[usize]| pointer_to_first(&[5, 0, 0, 0], after);
        assert_eq!(found(&[5, 0x1000, 0, 1]), Ok((1, 0x1000)));
        assert_eq!(found(&[5, 1, 0, 0x1000]), Ok((3, 0x1000)));
        // A capacity as well, a pointer that moves, none at all, and one that is no address.
        for after in [[5, 0x1000, 4, 1], [6, 0x1000, 0, 1], [5, 0, 0, 1], [5, 0x1001, 0, 1]] {
            assert!(found(&after).is_err(), "{after:x?}");
        }
    }

    #[test]
    fn other_layouts_of_a_record_are_refused() {
        let found = |two: &[usize]| place_of_size(&[7, WASM_PAGE, 1], two);
        assert_eq!(found(&[7, 2 * WASM_PAGE, 1]), Ok(1));
        // The number of pages as well, none, and another one.
        for two in [[7, 2 * WASM_PAGE, 2], [7, WASM_PAGE, 1], [8, WASM_PAGE, 1]] {
            assert!(found(&two).is_err(), "{two:?}");
        }
    }
}
