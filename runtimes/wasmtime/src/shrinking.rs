//! Memories of instances that are reset in place: they shrink again after a call has
//! made them grow.
//!
//! WebAssembly's memories only grow, and so do Wasmtime's. But after each growth,
//! also after one by nothing, Wasmtime asks a memory of the host for its size and
//! address; between calls nothing of the guest runs that could remember others. So a
//! memory that answers as it did at first is for the guest as it was at first: beyond
//! its size lie pages without access, and `memory.size` reads what Wasmtime was told.

use crate::extent::Extent;
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use touchstone_executor::memory::{Memory, PooledMemory, ResetterMut};
use touchstone_executor::{Padded, Result};
use wasmtime::LinearMemory;

/// A memory that both Wasmtime and the instance that resets it hold.
pub(crate) struct Place(Padded<Fields>);

struct Fields {
    /// Locked by whatever changes the memory, in every call.
    memory: Mutex<Kind>,
    extent: Extent,
    /// The size of the clean memory.
    first: AtomicUsize,
}

enum Kind {
    /// Its clean content is known: it makes itself clean.
    Leased(PooledMemory),
    /// Whoever has the instance makes it clean.
    Plain(Box<Memory>),
}

impl Kind {
    fn base(&self) -> *mut u8 {
        match self {
            Self::Leased(lease) => lease.base(),
            Self::Plain(memory) => memory.base(),
        }
    }
}

impl Place {
    fn new(memory: Kind, size: usize) -> Self {
        Self(Padded(Fields {
            extent: Extent::new(memory.base(), size),
            first: AtomicUsize::new(size),
            memory: Mutex::new(memory),
        }))
    }

    fn memory(&self) -> MutexGuard<'_, Kind> {
        self.0.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn base(&self) -> *mut u8 {
        self.0.extent.base()
    }

    /// Size as the guest sees it, bytes.
    pub(crate) fn size(&self) -> usize {
        self.0.extent.size()
    }

    /// Takes the present size for that of the clean memory: a start function may have made it
    /// grow.
    pub(crate) fn keep_size(&self) {
        self.0.first.store(self.size(), Ordering::Relaxed);
    }

    /// `true` if it makes itself clean.
    pub(crate) fn is_leased(&self) -> bool {
        matches!(*self.memory(), Kind::Leased(_))
    }

    /// Brings it back to its first size and, where it makes itself clean, to its first content;
    /// otherwise all that lies behind that size has to be zero. Returns `true` if Wasmtime has to
    /// be made to ask for its size and address. Fails if the kernel refuses.
    #[inline]
    pub(crate) fn reset(&self) -> Result<bool> {
        let mut memory = self.memory();
        let first = self.0.first.load(Ordering::Relaxed);
        let grown = self.size() != first;
        let changed = match &mut *memory {
            Kind::Leased(lease) => lease.reset()?,
            Kind::Plain(memory) => {
                memory.hide(first)?;
                false
            }
        };
        if changed || grown {
            self.0.extent.set(memory.base(), first);
        }
        Ok(changed || grown)
    }

    /// Does something with what makes it clean, where it makes itself clean.
    pub(crate) fn with_resetter<T>(&self, work: impl FnOnce(ResetterMut<'_>) -> T) -> Option<T> {
        match &mut *self.memory() {
            Kind::Leased(lease) => lease.resetter().map(work),
            Kind::Plain(_) => None,
        }
    }

    /// Lets go of what a clean memory keeps resident, where it makes itself clean.
    pub(crate) fn trim(&self) -> Result<()> {
        match &mut *self.memory() {
            Kind::Leased(lease) => Ok(lease.trim()?),
            Kind::Plain(_) => Ok(()),
        }
    }

    fn grow(&self, size: usize) -> Result<()> {
        let mut memory = self.memory();
        match &mut *memory {
            Kind::Leased(lease) => lease.grow(size)?,
            Kind::Plain(memory) => memory.grow(size)?,
        }
        self.0.extent.set(memory.base(), size);
        Ok(())
    }
}

/// A memory, as Wasmtime holds it.
pub(crate) struct Shrinking {
    place: Arc<Place>,
    /// Bytes that the memory may grow to.
    largest: usize,
    /// `true` if it may move when it grows.
    moves: bool,
}

impl Shrinking {
    /// A memory that makes itself clean.
    pub(crate) fn leased(lease: PooledMemory, size: usize, largest: usize, moves: bool) -> Self {
        Self::new(Kind::Leased(lease), size, largest, moves)
    }

    /// A memory whose content nobody knows yet.
    pub(crate) fn plain(memory: Memory, size: usize, largest: usize) -> Self {
        Self::new(Kind::Plain(Box::new(memory)), size, largest, false)
    }

    fn new(memory: Kind, size: usize, largest: usize, moves: bool) -> Self {
        let place = Arc::new(Place::new(memory, size));
        MADE.with_borrow_mut(|made| {
            if let Some(made) = made {
                made.push(Arc::clone(&place));
            }
        });
        Self { place, largest, moves }
    }
}

thread_local! {
    /// Memories of the instance that is being made on this thread.
    static MADE: RefCell<Option<Vec<Arc<Place>>>> = const { RefCell::new(None) };
}

/// Does something in which Wasmtime asks for memories, and returns those that it got, in
/// the order in which it did.
pub(crate) fn collecting<T>(work: impl FnOnce() -> T) -> (T, Vec<Arc<Place>>) {
    /// Ends the collecting, also when `work` panics. What was being collected before goes on: a
    /// start function may call a host that makes another instance.
    struct Collecting(Option<Vec<Arc<Place>>>);
    impl Drop for Collecting {
        fn drop(&mut self) {
            MADE.set(self.0.take());
        }
    }
    let collecting = Collecting(MADE.replace(Some(Vec::new())));
    let done = work();
    let made = MADE.take().unwrap_or_default();
    drop(collecting);
    (done, made)
}

// SAFETY: the pointer is that of a mapping owned by `place`, which lives at least as
// long as this value. Of it `byte_size` bytes are accessible: it is opened before the
// size grows. Size and address change only in `grow_to`, the address only if the code
// was compiled for that, and in `Place::reset`, after which Wasmtime is made to ask for
// both before anything runs that accesses the memory: by a growth by nothing, which for a
// component with entries is the first thing that an entry does if the size has changed.
unsafe impl LinearMemory for Shrinking {
    fn byte_size(&self) -> usize {
        self.place.size()
    }

    /// Up to which it will not move.
    fn byte_capacity(&self) -> usize {
        if self.moves { self.byte_size() } else { self.largest }
    }

    fn grow_to(&mut self, new_size: usize) -> wasmtime::Result<()> {
        if new_size > self.largest {
            wasmtime::bail!("a memory cannot grow beyond its reservation");
        }
        Ok(self.place.grow(new_size)?)
    }

    fn as_ptr(&self) -> *mut u8 {
        self.place.base()
    }
}
