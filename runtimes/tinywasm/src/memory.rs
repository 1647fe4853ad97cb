//! Touchstone's memories for tinywasm, and the host's view of them.
//!
//! tinywasm owns a memory as a value behind its `LinearMemory` trait and returns copies of bytes
//! only. The host's allocator and the conventions need the bytes themselves. They use the address
//! that the memory had when it was made, which never changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use tinywasm::types::MemoryType;
use tinywasm::{LinearMemory, Memory, MemoryBackend, Store, Trap};
use touchstone_executor::guest::WASM_PAGE;
use touchstone_executor::memory::{MemoryPool, PooledMemory};

/// The memory that an engine made last.
#[derive(Clone)]
pub(crate) struct Made(Arc<MadeMemory>);

struct MadeMemory {
    /// Null before there is one.
    address: AtomicPtr<u8>,
    /// Bytes that it may grow to in the running call.
    limit: AtomicUsize,
}

impl Made {
    pub(crate) fn new() -> Self {
        let (address, limit) = (AtomicPtr::default(), AtomicUsize::new(usize::MAX));
        Self(Arc::new(MadeMemory { address, limit }))
    }

    pub(crate) fn address(&self) -> *mut u8 {
        self.0.address.load(Ordering::Relaxed)
    }

    /// Limits growth to these pages, by the guest and by the host.
    pub(crate) fn limit(&self, pages: Option<u32>) {
        let bytes = pages.map_or(usize::MAX, |pages| pages as usize * WASM_PAGE);
        self.0.limit.store(bytes, Ordering::Relaxed);
    }
}

/// A backend whose memories come from the pool, and put their address in `made`.
pub(crate) fn backend(home: &Arc<MemoryPool>, made: &Made) -> MemoryBackend {
    let (home, made) = (Arc::clone(home), made.clone());
    MemoryBackend::custom(move |ty: MemoryType| {
        let size = usize::try_from(ty.initial_size()).map_err(|_| Trap::OutOfMemory)?;
        let largest = usize::try_from(ty.max_size()).map_err(|_| Trap::OutOfMemory)?;
        let lease = PooledMemory::new(&home, size, largest, false);
        let mut lease = lease.map_err(|_| Trap::OutOfMemory)?;
        // As the driver of instances does, new or reused.
        if let Some(mut resetter) = lease.resetter() {
            resetter.note_threads();
        }
        let base = lease.base();
        made.0.address.store(base, Ordering::Relaxed);
        Ok(Lent { base, size, made: made.clone(), lease })
    })
}

/// Address of a `fill` by which the host sizes a memory. No guest can name it: tinywasm passes on
/// addresses of 32 bits, with zeros or with their sign in front.
const SIZING: usize = 1 << 48;

/// A number of 32 bits, without the sign that tinywasm puts in front of those from 2^31 on.
const fn unsigned(number: usize) -> usize {
    if number >> 31 == usize::MAX >> 31 { number as u32 as usize } else { number }
}

/// Sets the size of a memory of [`backend`] in bytes; it may shrink. Returns `true` on success.
/// tinywasm counts pages on its own, for `memory.size` and `memory.grow`: the guest must call the
/// host instead. The bytes behind a memory that shrinks must be zero before it grows again.
pub(crate) fn resize(memory: Memory, store: &mut Store, size: usize) -> bool {
    memory.fill(store, SIZING, size, 0).is_ok()
}

/// Grows a memory by pages, to at most `largest` of them, and returns the old number of pages.
pub(crate) fn grow(memory: Memory, store: &mut Store, pages: u32, largest: u32) -> Option<u32> {
    let old = (memory.len(store).ok()? / WASM_PAGE) as u32;
    let new = old.checked_add(pages).filter(|new| *new <= largest)?;
    (pages == 0 || resize(memory, store, new as usize * WASM_PAGE)).then_some(old)
}

/// Grows a memory for the host: to at most `largest` pages where it sizes the memory, otherwise as
/// tinywasm does. Returns `true` on success.
pub(crate) fn grow_by_host(
    memory: Memory,
    store: &mut Store,
    pages: u32,
    largest: Option<u32>,
) -> bool {
    match largest {
        Some(largest) => grow(memory, store, pages, largest).is_some(),
        None => matches!(memory.grow(store, i64::from(pages)), Ok(Some(_))),
    }
}

/// The bytes of a memory of [`backend`].
///
/// # Safety
///
/// `base` and `size` must be those of a memory that lives at least as long as
/// the result is used, and tinywasm must not run meanwhile.
pub(crate) unsafe fn bytes<'a>(base: *mut u8, size: usize) -> &'a mut [u8] {
    if size == 0 {
        return &mut [];
    }
    // SAFETY: `Lent` keeps the first `size` bytes readable and writable; it
    // looks at them only when tinywasm runs.
    unsafe { std::slice::from_raw_parts_mut(base, size) }
}

/// A recycled memory, as tinywasm holds it.
struct Lent {
    /// Plain fields, because every load and store needs them.
    base: *mut u8,
    size: usize,
    made: Made,
    lease: PooledMemory,
}

impl Lent {
    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        // SAFETY: the first `size` bytes at `base` are accessible and belong to
        // the lease in `self`; whoever else has the address uses it only while
        // tinywasm does not run (`bytes` above), so not during this borrow.
        unsafe { bytes(self.base, self.size) }
    }

    #[inline(always)]
    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` is the only borrow.
        unsafe { bytes(self.base, self.size) }
    }

    #[inline(always)]
    fn load<const N: usize>(&self, address: usize) -> Result<[u8; N], Trap> {
        match self.bytes().get(address..).and_then(<[u8]>::first_chunk) {
            Some(bytes) => Ok(*bytes),
            None => Err(self.outside(address, N)),
        }
    }

    #[inline(always)]
    fn store<const N: usize>(&mut self, address: usize, bytes: &[u8]) -> Result<(), Trap> {
        let place = self.bytes_mut().get_mut(address..).and_then(<[u8]>::first_chunk_mut::<N>);
        match (place, bytes.first_chunk()) {
            (Some(place), Some(bytes)) => {
                *place = *bytes;
                Ok(())
            }
            _ => Err(self.outside(address, N)),
        }
    }

    #[cold]
    fn outside(&self, offset: usize, len: usize) -> Trap {
        Trap::MemoryOutOfBounds { offset, len, max: self.size }
    }
}

/// Loads and stores of a number of bytes each.
macro_rules! accesses {
    ($($bytes:literal: $read:ident $write:ident,)*) => {$(
        #[inline(always)]
        fn $read(&self, address: usize) -> Result<[u8; $bytes], Trap> {
            self.load(address)
        }

        #[inline(always)]
        fn $write(&mut self, address: usize, bytes: &[u8]) -> Result<(), Trap> {
            self.store::<$bytes>(address, bytes)
        }
    )*};
}

impl LinearMemory for Lent {
    fn len(&self) -> usize {
        self.size
    }

    fn grow_to(&mut self, new_len: usize) -> Result<(), Trap> {
        if new_len > self.made.0.limit.load(Ordering::Relaxed) {
            return Err(Trap::OutOfMemory);
        }
        self.lease.grow(new_len).map_err(|_| Trap::OutOfMemory)?;
        self.size = new_len;
        Ok(())
    }

    fn read(&self, address: usize, into: &mut [u8]) -> usize {
        let bytes = self.bytes().get(address..).unwrap_or_default();
        let length = bytes.len().min(into.len());
        into[..length].copy_from_slice(&bytes[..length]);
        length
    }

    fn write(&mut self, address: usize, from: &[u8]) -> usize {
        let bytes = self.bytes_mut().get_mut(address..).unwrap_or_default();
        let length = bytes.len().min(from.len());
        bytes[..length].copy_from_slice(&from[..length]);
        length
    }

    fn fill(&mut self, address: usize, length: usize, value: u8) -> Option<()> {
        if address == SIZING {
            if length < self.size {
                self.size = length;
                return Some(());
            }
            return self.grow_to(length).ok();
        }
        let (address, length) = (unsigned(address), unsigned(length));
        self.bytes_mut().get_mut(address..)?.get_mut(..length)?.fill(value);
        Some(())
    }

    fn copy_within(&mut self, to: usize, from: usize, length: usize) -> Option<()> {
        let [to, from, length] = [to, from, length].map(unsigned);
        let (size, end) = (self.size, from.checked_add(length)?);
        if end > size || to.checked_add(length)? > size {
            return None;
        }
        self.bytes_mut().copy_within(from..end, to);
        Some(())
    }

    accesses! {
        1: read_8 write_8,
        2: read_16 write_16,
        4: read_32 write_32,
        8: read_64 write_64,
        16: read_128 write_128,
    }
}
