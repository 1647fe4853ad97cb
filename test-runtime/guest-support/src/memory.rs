//! Linear memory by address, for calls that look at it as their host does.

#[cfg(target_arch = "wasm32")]
mod place {
    unsafe extern "C" {
        /// The first address above everything that the module places in memory.
        static __heap_base: u8;
    }

    #[inline(always)]
    pub fn read(address: u32) -> u8 {
        // SAFETY: every byte of linear memory is initialised, and the access is
        // volatile, so it assumes nothing about who owns the address.
        unsafe { (address as *const u8).read_volatile() }
    }

    #[inline(always)]
    pub fn read_word(address: u32) -> u32 {
        // SAFETY: as in `read`.
        unsafe { (address as *const u32).read_volatile() }
    }

    #[inline(always)]
    pub fn write(address: u32, value: u8) {
        // SAFETY: callers only pass addresses that no live object occupies; the
        // access is volatile, so it happens as written.
        unsafe { (address as *mut u8).write_volatile(value) }
    }

    #[inline(always)]
    pub fn fill(address: u32, length: u32, value: u8) {
        // SAFETY: callers only pass ranges that no live object occupies; where memory ends
        // earlier, the stores trap.
        unsafe { (address as *mut u8).write_bytes(value, length as usize) }
    }

    #[inline(always)]
    pub fn size() -> usize {
        core::arch::wasm32::memory_size(0)
    }

    #[inline(always)]
    pub fn grow(pages: usize) -> usize {
        core::arch::wasm32::memory_grow(0, pages)
    }

    #[inline(always)]
    pub fn heap_base() -> u32 {
        &raw const __heap_base as u32
    }
}

#[cfg(not(target_arch = "wasm32"))]
use crate::native::memory as place;

/// Reads a byte from any address; traps outside memory.
#[inline(always)]
pub fn read(address: u32) -> u8 {
    place::read(address)
}

/// Reads a little-endian word from any aligned address; traps outside memory.
#[inline(always)]
pub fn read_word(address: u32) -> u32 {
    place::read_word(address)
}

/// Writes a byte to any address that no live object occupies; traps outside
/// memory.
#[inline(always)]
pub fn write(address: u32, value: u8) {
    place::write(address, value);
}

/// Writes a byte to each address of a range that no live object occupies; traps outside
/// memory.
#[inline(always)]
pub fn fill(address: u32, length: u32, value: u8) {
    place::fill(address, length, value);
}

/// The size in pages.
#[inline(always)]
pub fn size() -> usize {
    place::size()
}

/// Grows by so many pages and returns the size before, or `usize::MAX`.
#[inline(always)]
pub fn grow(pages: usize) -> usize {
    place::grow(pages)
}

/// The first address above everything that the module places in memory.
#[inline(always)]
pub fn heap_base() -> u32 {
    place::heap_base()
}
