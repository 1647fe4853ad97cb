//! Where a memory lies and how large it is, for whoever asks without a lock.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Start of a memory, and its size as the guest sees it.
///
/// Wasmtime asks for both several times in each instantiation and each growth. They need no lock
/// and no order: whoever reads or writes them has the instance for itself.
pub struct Extent {
    base: AtomicPtr<u8>,
    size: AtomicUsize,
}

impl Extent {
    /// A memory that lies there.
    #[must_use]
    pub fn new(base: *mut u8, size: usize) -> Self {
        Self { base: AtomicPtr::new(base), size: AtomicUsize::new(size) }
    }

    /// Its first byte.
    #[must_use]
    #[inline]
    pub fn base(&self) -> *mut u8 {
        self.base.load(Ordering::Relaxed)
    }

    /// Its size, bytes.
    #[must_use]
    #[inline]
    pub fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed)
    }

    /// The memory is another one now, or has another size.
    #[inline]
    pub fn set(&self, base: *mut u8, size: usize) {
        self.base.store(base, Ordering::Relaxed);
        self.size.store(size, Ordering::Relaxed);
    }
}
