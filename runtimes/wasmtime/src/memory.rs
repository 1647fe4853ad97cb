//! Memories of our own for Wasmtime, through its host memory interface.

use crate::shrinking::{Place, Shrinking};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use touchstone_executor::memory::{Memory, Plan, Recycler};
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

/// Gives Wasmtime its linear memories.
pub(crate) struct Memories(Kind);

enum Kind {
    /// Used by one instance after the other: a memory is given back when the
    /// instance that has it is dropped.
    Recycled(Arc<Recycler>),
    /// Used by one instance each, which can shrink it. Those that Wasmtime holds.
    Shrinking(Mutex<Vec<Weak<Place>>>),
}

impl Memories {
    pub(crate) fn recycled(plan: Option<Plan>, keep: usize) -> Self {
        Self(Kind::Recycled(Arc::new(Recycler::new(plan, keep))))
    }

    pub(crate) fn shrinking() -> Self {
        Self(Kind::Shrinking(Mutex::default()))
    }

    /// The memory at an address, where it is one that can be shrunk.
    pub(crate) fn at(&self, base: *const u8) -> Option<Arc<Place>> {
        let Kind::Shrinking(lent) = &self.0 else { return None };
        let mut lent = lent.lock().unwrap_or_else(PoisonError::into_inner);
        lent.retain(|place| place.strong_count() > 0);
        lent.iter().filter_map(Weak::upgrade).find(|place| place.base().cast_const() == base)
    }
}

// SAFETY: `new_memory` returns memories of `minimum` accessible bytes inside a
// reservation of `reserved + guard` bytes that never moves. The rest of the
// reservation is inaccessible, so that what the compiler leaves to the guard
// pages faults. With a plan the memory is not zero at the start but holds what
// the module's (removed) data segments would have written.
unsafe impl MemoryCreator for Memories {
    fn new_memory(
        &self,
        _ty: MemoryType,
        minimum: usize,
        maximum: Option<usize>,
        reserved_size_in_bytes: Option<usize>,
        guard_size_in_bytes: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let capacity = reserved_size_in_bytes.or(maximum).unwrap_or(minimum).max(minimum);
        let reserved = capacity + guard_size_in_bytes;
        match &self.0 {
            Kind::Recycled(home) => {
                let memory = home.take(minimum, reserved).map_err(|error| error.to_string())?;
                let home = Arc::clone(home);
                Ok(Box::new(Lent { memory: Some(memory), size: minimum, capacity, home }))
            }
            Kind::Shrinking(lent) => {
                let memory = Memory::new(None, minimum, reserved).map_err(|e| e.to_string())?;
                let memory = Shrinking::new(memory, minimum, capacity);
                let place = Arc::downgrade(memory.place());
                lent.lock().unwrap_or_else(PoisonError::into_inner).push(place);
                Ok(Box::new(memory))
            }
        }
    }
}

/// What Wasmtime holds of a recycled memory.
struct Lent {
    /// `None` only while it is being dropped.
    memory: Option<Memory>,
    /// Size of the memory as the guest sees it, bytes.
    size: usize,
    /// Bytes that the memory may grow to.
    capacity: usize,
    home: Arc<Recycler>,
}

// SAFETY: the pointer is that of a mapping owned by this value, which does not
// move and of which `size` bytes are accessible.
unsafe impl LinearMemory for Lent {
    fn byte_size(&self) -> usize {
        self.size
    }

    fn byte_capacity(&self) -> usize {
        self.capacity
    }

    fn grow_to(&mut self, new_size: usize) -> wasmtime::Result<()> {
        if new_size > self.capacity {
            wasmtime::bail!("a memory cannot grow beyond its reservation");
        }
        if let Some(memory) = &mut self.memory {
            memory.grow(new_size)?;
        }
        self.size = new_size;
        Ok(())
    }

    fn as_ptr(&self) -> *mut u8 {
        self.memory.as_ref().map_or(std::ptr::null_mut(), Memory::base)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            self.home.give_back(memory);
        }
    }
}
