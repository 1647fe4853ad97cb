//! Memories of our own for Wasmtime, through its host memory interface.

use std::sync::Arc;
use touchstone_executor::memory::{Memory, Plan, Recycler};
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

/// Gives Wasmtime its linear memories.
///
/// A memory is given back when the instance that has it is dropped.
pub(crate) struct Memories(Arc<Recycler>);

impl Memories {
    pub(crate) fn new(plan: Option<Plan>, keep: usize) -> Self {
        Self(Arc::new(Recycler::new(plan, keep)))
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
        let memory = self
            .0
            .take(minimum, capacity + guard_size_in_bytes)
            .map_err(|error| error.to_string())?;
        let home = Arc::clone(&self.0);
        Ok(Box::new(Lent { memory: Some(memory), size: minimum, capacity, home }))
    }
}

/// What Wasmtime holds.
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
