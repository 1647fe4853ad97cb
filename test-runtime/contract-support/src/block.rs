//! A block of the heap that crosses the boundary.

use alloc::alloc as heap;
#[cfg(target_arch = "wasm32")]
use core::ptr;
use core::{alloc::Layout, ops::Deref, slice};

/// A block of the heap that crosses the boundary by its address.
pub struct Block {
    start: *mut u8,
    length: usize,
}

impl Block {
    /// The address of a new block, for the host to fill; panics where there is no room.
    pub fn allocate(length: u32) -> u32 {
        let layout = Self::layout(length as usize);
        // SAFETY: the layout's size is not zero.
        let start = unsafe { heap::alloc(layout) };
        if start.is_null() {
            heap::handle_alloc_error(layout);
        }
        #[cfg(target_arch = "wasm32")]
        return start.expose_provenance() as u32;
        #[cfg(not(target_arch = "wasm32"))]
        guest_support::address(start)
    }

    /// Takes a block back.
    ///
    /// # Safety
    ///
    /// `address` must come from [`Self::allocate`] with this length, all of the block
    /// must have been filled since, and nobody may use it afterwards.
    pub unsafe fn from_address(address: u32, length: u32) -> Self {
        let length = length as usize;
        #[cfg(target_arch = "wasm32")]
        return Self { start: ptr::with_exposed_provenance_mut(address as usize), length };
        #[cfg(not(target_arch = "wasm32"))]
        Self { start: guest_support::native::at(address, length), length }
    }

    /// Never empty, because the allocator has no empty blocks.
    fn layout(length: usize) -> Layout {
        match Layout::from_size_align(length.max(1), 8) {
            Ok(layout) => layout,
            Err(_) => panic!("the input is larger than any block"),
        }
    }
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `length` bytes from `start` on are the block's own, and the caller of
        // `from_address` promised that they are initialised.
        unsafe { slice::from_raw_parts(self.start, self.length) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: `allocate` made it with the same layout, and nobody else has it.
        unsafe { heap::dealloc(self.start, Self::layout(self.length)) };
    }
}
