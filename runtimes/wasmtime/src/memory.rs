//! Memories of our own for Wasmtime, through its host memory interface.

use crate::engine::Compiler;
use crate::loan::Lent;
use crate::settings;
use std::sync::Arc;
use touchstone_executor::guest::ModuleInfo;
use touchstone_executor::memory::{MemoryPool, MemoryTemplate, PooledMemory};
use touchstone_executor::{Result, Strategy};
use touchstone_wasmtime_memory::parts::{Room, Shrinking};
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

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

impl Use {
    /// That of Touchstone's memories under a strategy; `None` where the memories are Wasmtime's.
    pub(crate) fn of(strategy: Strategy) -> Option<Self> {
        match settings::class(strategy) {
            settings::OWN => Some(Self::One),
            settings::OWN_IMAGE => Some(Self::Many),
            _ => None,
        }
    }
}

impl Memories {
    /// `compiler` is that of all code that uses the memories; `keep` is how many idle ones are
    /// kept. The clean content is known with a template.
    pub(crate) fn new(
        template: Option<MemoryTemplate>,
        keep: usize,
        (compiler, info): (Compiler, &ModuleInfo),
        use_by: Use,
    ) -> Self {
        let is_known = template.is_some();
        let moves = |template: &MemoryTemplate| settings::moves(template.reset(), info);
        let moves = template.as_ref().is_some_and(moves);
        let home = MemoryPool::new(template, keep).staying_open(compiler.checks_bounds());
        Self { home: Arc::new(home), is_known, moves, use_by }
    }

    fn make(
        &self,
        minimum: usize,
        maximum: Option<usize>,
        room: Room,
    ) -> Result<Box<dyn LinearMemory>> {
        let Room { largest, reserved } = room;
        let moves = self.moves && maximum != Some(minimum);
        Ok(match (self.use_by, self.is_known) {
            (Use::Many, _) => Box::new(Lent::new(&self.home, minimum, largest, reserved, moves)?),
            (Use::One, true) => {
                let lease = PooledMemory::new(&self.home, minimum, reserved, moves)?;
                Box::new(Shrinking::leased(lease, minimum, largest, moves))
            }
            (Use::One, false) => Box::new(Shrinking::plain(minimum, room)?),
        })
    }
}

// SAFETY: `new_memory` returns memories of `minimum` accessible bytes. The reservation has the
// guard behind the largest size that a memory can grow to, in place or by moving (see `Room::of`).
// All of it but the memory is inaccessible. With a template the memory is not zero at the start but
// holds what the module's data segments write, or would have written.
unsafe impl MemoryCreator for Memories {
    fn new_memory(
        &self,
        _ty: MemoryType,
        minimum: usize,
        maximum: Option<usize>,
        reserved_size_in_bytes: Option<usize>,
        guard_size_in_bytes: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        let room = Room::of(minimum, maximum, reserved_size_in_bytes, guard_size_in_bytes);
        self.make(minimum, maximum, room).map_err(|error| error.to_string())
    }
}
