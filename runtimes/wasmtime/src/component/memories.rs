//! Memories of our own inside components.

use crate::memory::Memories;
use std::sync::atomic::{AtomicUsize, Ordering};
use touchstone_executor::Result;
use touchstone_executor::guest::GuestModule;
use touchstone_executor::memory::{Plan, Reset};
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

/// Gives Wasmtime the memories of a component's core modules, each from those of its
/// module. They are told apart by their largest size.
pub(crate) struct ComponentMemories {
    modules: Vec<Of>,
    /// Where the data starts in the memory with data that was given last.
    last: AtomicUsize,
}

/// The memories of one core module.
struct Of {
    /// Pages that its memory may grow to: which module it is.
    largest: u64,
    /// First size, bytes.
    size: usize,
    /// Where its first byte lies that is not zero.
    data: Option<usize>,
    memories: Memories,
}

impl ComponentMemories {
    /// For instances of a component, as [`GuestModule::without_data`] makes it.
    /// `keep` is how many idle memories of each are kept.
    ///
    /// # Errors
    ///
    /// When the initial memories are not known from the bytes.
    pub(crate) fn new(guest: &GuestModule, reset: Reset, keep: usize) -> Result<Self> {
        let modules = guest
            .component_memories()?
            .into_iter()
            .map(|memory| {
                let (size, data) = (memory.content.size(), memory.content.first_data_byte());
                let memories = Memories::for_many(Some(Plan::new(memory.content, reset)?), keep);
                Ok(Of { largest: memory.largest.into(), size, data, memories })
            })
            .collect::<Result<_>>()?;
        Ok(Self { modules, last: AtomicUsize::new(0) })
    }

    /// Where the data starts in the memory that was given last of those with data: for a look at
    /// how it is mapped.
    pub(crate) fn last(&self) -> Option<usize> {
        Some(self.last.load(Ordering::Relaxed)).filter(|address| *address != 0)
    }
}

// SAFETY: what is returned comes from `Memories`, which keeps these promises. Memory
// that is not zero holds what the removed data segments of the module would have
// written that the limits belong to: no other module of the component has the same.
unsafe impl MemoryCreator for ComponentMemories {
    fn new_memory(
        &self,
        ty: MemoryType,
        minimum: usize,
        maximum: Option<usize>,
        reserved: Option<usize>,
        guard: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let of = self
            .modules
            .iter()
            .find(|of| Some(of.largest) == ty.maximum() && of.size == minimum)
            .ok_or_else(|| format!("no module of the component has a memory like {ty:?}"))?;
        let memory = of.memories.new_memory(ty, minimum, maximum, reserved, guard)?;
        if let Some(data) = of.data {
            self.last.store(memory.as_ptr() as usize + data, Ordering::Relaxed);
        }
        Ok(memory)
    }
}
