//! Memories of our own for Wasmtime, through its host memory interface.

use crate::settings;
use crate::shrinking::{Place, Shrinking};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use touchstone_executor::memory::{Lease, Memory, Plan, Recycler};
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

/// Bytes that 32 bits can address.
const ADDRESSABLE: usize = 1 << 32;
/// Bytes behind them that offsets in the code reach without a check: Wasmtime's
/// default.
const OFFSETS: usize = 32 << 20;

/// Gives Wasmtime its linear memories. The second field: whether they may move.
pub(crate) struct Memories(Kind, bool);

enum Kind {
    /// Used by one instance after the other: a memory is given back when the
    /// instance that has it is dropped.
    Recycled(Arc<Recycler>),
    /// Used by one instance each, which can shrink it. Those that Wasmtime holds.
    Shrinking(Mutex<Vec<Weak<Place>>>),
}

impl Memories {
    pub(crate) fn recycled(plan: Option<Plan>, keep: usize) -> Self {
        let moves = plan.as_ref().is_some_and(|plan| settings::moves(plan.reset()));
        Self(Kind::Recycled(Arc::new(Recycler::new(plan, keep))), moves)
    }

    pub(crate) fn shrinking() -> Self {
        Self(Kind::Shrinking(Mutex::default()), false)
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
        match &self.0 {
            Kind::Recycled(home) => {
                let fixed = maximum == Some(minimum);
                let largest = maximum.unwrap_or(ADDRESSABLE).min(ADDRESSABLE);
                let reserved = capacity.max(largest) + OFFSETS;
                let reserved = reserved.max(capacity + guard_size_in_bytes);
                let moves = self.1 && !fixed;
                let lease = Lease::new(home, minimum, reserved, moves)
                    .map_err(|error| error.to_string())?;
                Ok(Box::new(Lent { lease, size: minimum, largest, moves }))
            }
            Kind::Shrinking(lent) => {
                let memory = Memory::new(None, minimum, capacity + guard_size_in_bytes)
                    .map_err(|error| error.to_string())?;
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
    lease: Lease,
    /// Size of the memory as the guest sees it, bytes.
    size: usize,
    /// Bytes that the memory may grow to.
    largest: usize,
    /// Whether it may move when it grows.
    moves: bool,
}

// SAFETY: the pointer is that of a mapping owned by this value, of which `size` bytes
// are accessible. It moves only in `grow_to`, and only if the code was compiled for
// memories that may.
unsafe impl LinearMemory for Lent {
    fn byte_size(&self) -> usize {
        self.size
    }

    /// Up to which it will not move.
    fn byte_capacity(&self) -> usize {
        if self.moves { self.size } else { self.largest }
    }

    fn grow_to(&mut self, new_size: usize) -> wasmtime::Result<()> {
        if new_size > self.largest {
            wasmtime::bail!("a memory cannot grow beyond its reservation");
        }
        self.lease.grow(new_size)?;
        self.size = new_size;
        Ok(())
    }

    fn as_ptr(&self) -> *mut u8 {
        self.lease.base()
    }
}
