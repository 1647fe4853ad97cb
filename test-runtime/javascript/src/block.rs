//! Blocks of the heap that the host fills with input.

use std::ptr;

/// A block of the heap, for the host to fill. The allocator aligns every block to 8.
// SAFETY: no other symbol of the module has this name, or the linker would refuse the module.
#[unsafe(no_mangle)]
extern "C" fn alloc(length: u32) -> u32 {
    let block = vec![0_u8; length as usize].into_boxed_slice();
    Box::into_raw(block).cast::<u8>().expose_provenance() as u32
}

/// Takes a block back.
///
/// # Safety
///
/// `address` must come from [`alloc`] with this length, and nobody may use the block afterwards.
pub(crate) unsafe fn take(address: u32, length: u32) -> Box<[u8]> {
    let start = ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: `alloc` made it as a boxed slice of this length, and the caller hands it over.
    unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(start, length as usize)) }
}
