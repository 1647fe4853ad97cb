//! Memories that an instance shrinks again after a call has made them grow.
//!
//! WebAssembly's memories only grow, and so do Wasmtime's. But after each growth,
//! also after one by nothing, Wasmtime asks a memory of the host for its size; between
//! calls nothing of the guest runs that could remember a larger one. So a memory that
//! answers with its first size again is as small for the guest as it was at first:
//! beyond it lie pages without access, and `memory.size` reads what Wasmtime was told.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use touchstone_executor::Result;
use touchstone_executor::memory::Memory;
use wasmtime::LinearMemory;

/// A memory that Wasmtime holds.
pub(crate) struct Place {
    memory: Mutex<Memory>,
    /// Size of the memory as the guest sees it, bytes.
    size: AtomicUsize,
}

impl Place {
    pub(crate) fn base(&self) -> *mut u8 {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).base()
    }

    /// Closes what lies behind `size` bytes, all of which has to be zero. Wasmtime has
    /// to be made to ask for the size afterwards.
    ///
    /// # Errors
    ///
    /// When the kernel refuses.
    pub(crate) fn shrink(&self, size: usize) -> Result<()> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).hide(size)?;
        self.size.store(size, Ordering::Relaxed);
        Ok(())
    }

    fn grow(&self, size: usize) -> Result<()> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).grow(size)?;
        self.size.store(size, Ordering::Relaxed);
        Ok(())
    }
}

/// What Wasmtime holds of it.
pub(crate) struct Shrinking {
    place: Arc<Place>,
    /// Bytes that the memory may grow to.
    capacity: usize,
}

impl Shrinking {
    pub(crate) fn new(memory: Memory, size: usize, capacity: usize) -> Self {
        let place = Place { memory: Mutex::new(memory), size: AtomicUsize::new(size) };
        Self { place: Arc::new(place), capacity }
    }

    pub(crate) fn place(&self) -> &Arc<Place> {
        &self.place
    }
}

// SAFETY: the pointer is that of a mapping owned by `place`, which lives at least as
// long as this value and does not move. Of it `size` bytes are accessible: it is opened
// before the size grows, and the instance that makes it smaller has Wasmtime ask for the
// new size before it runs anything.
unsafe impl LinearMemory for Shrinking {
    fn byte_size(&self) -> usize {
        self.place.size.load(Ordering::Relaxed)
    }

    fn byte_capacity(&self) -> usize {
        self.capacity
    }

    fn grow_to(&mut self, new_size: usize) -> wasmtime::Result<()> {
        if new_size > self.capacity {
            wasmtime::bail!("a memory cannot grow beyond its reservation");
        }
        Ok(self.place.grow(new_size)?)
    }

    fn as_ptr(&self) -> *mut u8 {
        self.place.base()
    }
}
