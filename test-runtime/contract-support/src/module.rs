//! A module's heap, traps and input, and the block that crosses the boundary on the host as well.

use alloc::alloc as heap;
#[cfg(target_arch = "wasm32")]
use alloc::vec::Vec;
#[cfg(target_arch = "wasm32")]
use core::ptr;
use core::{alloc::Layout, ops::Deref, slice};

/// The guest's own heap, made larger with `memory.grow`.
#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// A panic is a trap: the host sees `unreachable` and nothing else.
#[cfg(target_arch = "wasm32")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

#[cfg(target_arch = "wasm32")]
mod import {
    #[link(wasm_import_module = "env")]
    unsafe extern "C" {
        pub safe fn input_len() -> i64;
        pub fn input(address: i64);
    }
}

/// A copy of the input that the host keeps; panics if there is no memory for it.
#[cfg(target_arch = "wasm32")]
pub fn input() -> Vec<u8> {
    let Ok(length) = usize::try_from(import::input_len()) else {
        panic!("the input is larger than any memory");
    };
    let mut input = Vec::with_capacity(length);
    // SAFETY: the host writes the `length` bytes that it just spoke of, for which
    // there is room, so that all of them are initialised afterwards.
    unsafe {
        import::input(input.as_mut_ptr() as usize as i64);
        input.set_len(length);
    }
    input
}

/// A block of the heap that crosses the boundary by its address.
pub struct Block {
    start: *mut u8,
    length: usize,
}

impl Block {
    /// The address of a new block, for the host to fill; panics without memory.
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
