//! Memories of instances that are reset in place: they shrink again after a call has
//! made them grow.
//!
//! WebAssembly's memories only grow, and so do Wasmtime's. But after each growth,
//! also after one by nothing, Wasmtime asks a memory of the host for its size and
//! address; between calls nothing of the guest runs that could remember others. So a
//! memory that answers as it did at first is for the guest as it was at first: beyond
//! its size lie pages without access, and `memory.size` reads what Wasmtime was told.

use super::Extent;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use touchstone_memory::{Memory, Padded, PooledMemory, Resetter, ResetterMut, Result};
use wasmtime::{AsContextMut, LinearMemory};

/// Bytes that 32 bits can address.
const ADDRESSABLE: usize = 1 << 32;

/// How far a memory can grow, and the addresses that it takes, bytes.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// The size that it may grow to.
    pub largest: usize,
    /// Addresses, with the guard behind the largest size.
    pub reserved: usize,
}

impl Room {
    /// That of a memory that Wasmtime asks a [`wasmtime::MemoryCreator`] for.
    ///
    /// The compiler leaves it to `guard` inaccessible bytes behind the size that a memory *has*
    /// that an access faults: it may check the index alone, and add an offset of up to 4 GiB to it.
    /// So the reservation has the guard behind the largest size.
    #[must_use]
    pub fn of(
        minimum: usize,
        maximum: Option<usize>,
        reserved: Option<usize>,
        guard: usize,
    ) -> Self {
        let largest = maximum.unwrap_or(ADDRESSABLE).min(ADDRESSABLE);
        let reserved = reserved.unwrap_or(0).max(largest).max(minimum) + guard;
        Self { largest, reserved }
    }
}

/// A memory that both Wasmtime and the instance that resets it hold.
pub struct Place(Padded<Fields>);

struct Fields {
    /// Of a [`Restored`](super::Restored) that was dropped before the memory: its instance can
    /// still run, and may need the pages opened that are watched. Dropped before the memory.
    rest: Mutex<Option<Resetter>>,
    /// `true` once somebody resets it.
    claimed: AtomicBool,
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
    #[inline]
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
            rest: Mutex::new(None),
            claimed: AtomicBool::new(false),
            extent: Extent::new(memory.base(), size),
            first: AtomicUsize::new(size),
            memory: Mutex::new(memory),
        }))
    }

    #[inline]
    fn memory(&self) -> MutexGuard<'_, Kind> {
        self.0.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the memory for a reset. `false` if that was done before, by whomever.
    pub(crate) fn claim(&self) -> bool {
        !self.0.claimed.swap(true, Ordering::Relaxed)
    }

    /// Keeps a resetter that nobody uses any more for as long as the memory is there.
    pub(crate) fn keep(&self, resetter: Resetter) {
        *self.0.rest.lock().unwrap_or_else(PoisonError::into_inner) = Some(resetter);
    }

    #[inline]
    pub(crate) fn base(&self) -> *mut u8 {
        self.0.extent.base()
    }

    /// Size as the guest sees it, bytes.
    #[inline]
    pub(crate) fn size(&self) -> usize {
        self.0.extent.size()
    }

    /// Takes the present size for that of the clean memory: a start function may have made it grow.
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
pub struct Shrinking {
    place: Arc<Place>,
    /// Bytes that the memory may grow to.
    largest: usize,
    /// `true` if it may move when it grows.
    moves: bool,
}

impl Shrinking {
    /// A memory that makes itself clean.
    #[must_use]
    pub fn leased(lease: PooledMemory, size: usize, largest: usize, moves: bool) -> Self {
        Self::new(Kind::Leased(lease), size, largest, moves)
    }

    /// A memory whose content nobody knows yet. It never moves. Fails when the system has no memory
    /// left.
    pub fn plain(size: usize, room: Room) -> Result<Self> {
        let memory = Memory::new(None, size, room.reserved)?;
        Ok(Self::new(Kind::Plain(Box::new(memory)), size, room.largest, false))
    }

    fn new(memory: Kind, size: usize, largest: usize, moves: bool) -> Self {
        Self { place: Arc::new(Place::new(memory, size)), largest, moves }
    }
}

thread_local! {
    /// `true` while Wasmtime is [listened](listening) to on this thread.
    static LISTENING: Cell<bool> = const { Cell::new(false) };
    /// The memories whose size it has asked for so far.
    static HEARD: RefCell<Vec<Arc<Place>>> = const { RefCell::new(Vec::new()) };
}

/// Does something, and returns the memories whose size Wasmtime asked for meanwhile on this thread,
/// each once. A growth by nothing asks for that of one memory: nothing else tells which memory of
/// the host an instance, or one inside a component, has.
pub fn listening<T>(work: impl FnOnce() -> T) -> (T, Vec<Arc<Place>>) {
    /// Ends the listening, also when `work` panics, and goes on with what was heard before.
    struct Listening(bool, Vec<Arc<Place>>);
    impl Drop for Listening {
        fn drop(&mut self) {
            LISTENING.set(self.0);
            HEARD.set(std::mem::take(&mut self.1));
        }
    }
    let listening = Listening(LISTENING.replace(true), HEARD.take());
    let done = work();
    let heard = HEARD.take();
    drop(listening);
    (done, heard)
}

#[cold]
fn hear(place: &Arc<Place>) {
    HEARD.with_borrow_mut(|heard| {
        if !heard.iter().any(|known| Arc::ptr_eq(known, place)) {
            heard.push(Arc::clone(place));
        }
    });
}

/// The memory of the host that is behind one of Wasmtime's. `None` if it is not Touchstone's. Fails
/// as [`wasmtime::Memory::grow`] does.
pub fn place_of(
    store: impl AsContextMut,
    memory: &wasmtime::Memory,
) -> wasmtime::Result<Option<Arc<Place>>> {
    let (grown, heard) = listening(|| memory.grow(store, 0));
    grown.map(|_| heard.into_iter().next())
}

// SAFETY: the pointer is that of a mapping owned by `place`, which lives at least as
// long as this value. Of it `byte_size` bytes are accessible: it is opened before the
// size grows. Size and address change only in `grow_to`, the address only if the code
// was compiled for that, and in `Place::reset`, after which Wasmtime is made to ask for
// both before anything runs that accesses the memory: by a growth by nothing, which for a
// component with entries is the first thing that an entry does if the size has changed.
unsafe impl LinearMemory for Shrinking {
    fn byte_size(&self) -> usize {
        if LISTENING.get() {
            hear(&self.place);
        }
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
