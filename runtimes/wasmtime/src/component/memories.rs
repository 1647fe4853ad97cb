//! Memories of our own inside components.

use crate::engine::Compiler;
use crate::memory::{Memories, Use};
use std::sync::atomic::{AtomicUsize, Ordering};
use touchstone_executor::Result;
use touchstone_executor::guest::{ComponentMemory, GuestModule};
use touchstone_executor::memory::{MemoryTemplate, ResetMethod};
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

/// Gives Wasmtime the memories of a component's core modules, each from those of its
/// module. They are told apart by their largest size.
pub(crate) struct ComponentMemories {
    modules: Vec<Of>,
    /// For all others, where they are found to be clean by who has the instance.
    others: Option<Memories>,
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
    /// For new instances of a component, as [`GuestModule::without_data`] makes it, or for those
    /// that are reset in place, as [`GuestModule::resettable`] does. `keep` is how many idle
    /// memories of each module are kept.
    pub(crate) fn new(
        guest: &GuestModule,
        use_by: Use,
        reset: ResetMethod,
        keep: usize,
        compiler: Compiler,
    ) -> Result<Self> {
        let make = |template| Memories::new(template, keep, (compiler, guest.info()), use_by);
        let (known, others) = match use_by {
            Use::Many => (guest.component_memories()?, None),
            Use::One => (guest.resettable_memories()?, Some(make(None))),
        };
        let of = |memory: ComponentMemory| {
            let (size, data) = (memory.content.size(), memory.content.first_data_byte());
            let memories = make(Some(MemoryTemplate::new(memory.content, reset)?));
            Ok(Of { largest: memory.largest.into(), size, data, memories })
        };
        let modules = known.into_iter().map(of).collect::<Result<_>>()?;
        Ok(Self { modules, others, last: AtomicUsize::new(0) })
    }

    /// Notes where the data starts in a memory.
    pub(crate) fn note(&self, data: usize) {
        self.last.store(data, Ordering::Relaxed);
    }

    /// Where the data starts in the memory that was given last of those with data: for a look at
    /// how it is mapped.
    pub(crate) fn last(&self) -> Option<usize> {
        Some(self.last.load(Ordering::Relaxed)).filter(|address| *address != 0)
    }
}

// SAFETY: what is returned comes from `Memories`, which keeps these promises. Memory
// that is not zero holds what the data segments of the module write, or would have
// written, that the limits belong to: no other module of the component has the same.
unsafe impl MemoryCreator for ComponentMemories {
    fn new_memory(
        &self,
        ty: MemoryType,
        minimum: usize,
        maximum: Option<usize>,
        reserved: Option<usize>,
        guard: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let mut modules = self.modules.iter();
        let of = modules.find(|of| Some(of.largest) == ty.maximum() && of.size == minimum);
        let (memories, data) = match (of, &self.others) {
            (Some(of), _) => (&of.memories, of.data),
            (None, Some(others)) => (others, None),
            (None, None) => {
                return Err(format!("no module of the component has a memory like {ty:?}"));
            }
        };
        let memory = memories.new_memory(ty, minimum, maximum, reserved, guard)?;
        if let Some(data) = data {
            self.note(memory.as_ptr() as usize + data);
        }
        Ok(memory)
    }
}
