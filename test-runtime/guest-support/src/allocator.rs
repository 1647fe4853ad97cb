//! The global allocator: a thin layer over the host's.

use core::alloc::{GlobalAlloc, Layout};

use crate::host;

/// The alignment that the host guarantees for every pointer it returns.
const HOST_ALIGN: usize = 8;

/// Allocates through `ext_allocator_malloc_version_1`.
pub struct HostAllocator;

// SAFETY: the host returns distinct, 8-byte-aligned blocks of at least the
// requested size that stay in place until they are freed; larger alignments
// are made here, within a block that is large enough for the shift.
unsafe impl GlobalAlloc for HostAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() <= HOST_ALIGN {
            return host::malloc(layout.size());
        }
        let Some(size) = layout.size().checked_add(layout.align()) else {
            return core::ptr::null_mut();
        };
        let block = host::malloc(size);
        if block.is_null() {
            return block;
        }
        // At least one host alignment above the start, so that the start of the
        // block fits into the gap, and at most `align` above it.
        let shift = layout.align() - (block as usize & (layout.align() - 1));
        // SAFETY: `shift <= align`, so the block has `layout.size()` bytes left,
        // and `shift >= HOST_ALIGN`, so the word below the result is inside too.
        unsafe {
            let aligned = block.add(shift);
            aligned.cast::<*mut u8>().sub(1).write(block);
            aligned
        }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        if layout.align() <= HOST_ALIGN {
            // SAFETY: the caller passes a pointer that `alloc` returned, which
            // is the host's own for this alignment.
            unsafe { host::free(ptr) };
            return;
        }
        // SAFETY: `alloc` stored the start of the block right below a pointer
        // of such a layout.
        unsafe { host::free(ptr.cast::<*mut u8>().sub(1).read()) };
    }
}
