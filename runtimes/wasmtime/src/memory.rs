//! Memories of our own for Wasmtime, through its host memory interface.

use crate::engine::Compiler;
use crate::loan::Lent;
use crate::settings;
use crate::shrinking::Shrinking;
use std::sync::Arc;
use touchstone_executor::Result;
use touchstone_executor::memory::{Memory, MemoryPool, MemoryTemplate, PooledMemory};
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

/// Bytes that 32 bits can address.
const ADDRESSABLE: usize = 1 << 32;

pub(crate) struct Memories {
    home: Arc<MemoryPool>,
    /// `true` if they may move when they grow.
    moves: bool,
    use_by: Use,
    /// `true` if the clean content is known.
    is_known: bool,
}

/// The instances that a memory serves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// One instance after the other: a memory is given back at the end of its instance.
    Many,
    /// One instance, which resets it in place.
    One,
}

impl Memories {
    /// `compiler` is that of all code that uses the memories; `keep` is how many idle ones are
    /// kept. The clean content is known with a template.
    pub(crate) fn new(
        template: Option<MemoryTemplate>,
        keep: usize,
        compiler: Compiler,
        use_by: Use,
    ) -> Self {
        let is_known = template.is_some();
        let moves = template.as_ref().is_some_and(|template| settings::moves(template.reset()));
        let home = MemoryPool::new(template, keep).staying_open(compiler.checks_bounds());
        Self { home: Arc::new(home), is_known, moves, use_by }
    }

    fn make(
        &self,
        minimum: usize,
        maximum: Option<usize>,
        reserved: usize,
        guard: usize,
    ) -> Result<Box<dyn LinearMemory>> {
        let largest = maximum.unwrap_or(ADDRESSABLE).min(ADDRESSABLE);
        let reserved = reserved.max(largest).max(minimum) + guard;
        let moves = self.moves && maximum != Some(minimum);
        Ok(match (self.use_by, self.is_known) {
            (Use::Many, _) => Box::new(Lent::new(&self.home, minimum, largest, reserved, moves)?),
            (Use::One, true) => {
                let lease = PooledMemory::new(&self.home, minimum, reserved, moves)?;
                Box::new(Shrinking::leased(lease, minimum, largest, moves))
            }
            (Use::One, false) => {
                let memory = Memory::new(None, minimum, reserved)?;
                Box::new(Shrinking::plain(memory, minimum, largest))
            }
        })
    }
}

// SAFETY: `new_memory` returns memories of `minimum` accessible bytes. The compiler leaves it to
// `guard` inaccessible bytes behind the size that a memory *has* that an access faults: it may
// check the index alone, and add an offset of up to 4 GiB to it. So the reservation has the guard
// behind the largest size that a memory can grow to, in place or by moving. All of it but the
// memory is inaccessible. With a template the memory is not zero at the start but holds what the
// module's data segments write, or would have written.
unsafe impl MemoryCreator for Memories {
    fn new_memory(
        &self,
        _ty: MemoryType,
        minimum: usize,
        maximum: Option<usize>,
        reserved_size_in_bytes: Option<usize>,
        guard_size_in_bytes: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let reserved = reserved_size_in_bytes.unwrap_or(0);
        self.make(minimum, maximum, reserved, guard_size_in_bytes)
            .map_err(|error| error.to_string())
    }
}
