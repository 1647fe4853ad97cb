//! The memory-dirtying call that two guests share.

use crate::memory;

/// Bytes in a page of WebAssembly memory.
pub const WASM_PAGE: u32 = 65_536;

/// Bytes in a page of the machine that runs the executor.
pub const HOST_PAGE: u32 = 4_096;

/// The first multiple of the page size at or above `address`.
///
/// Saturates at the last page boundary of the address space.
pub const fn round_up_to_page(address: u32) -> u32 {
    match address.checked_next_multiple_of(WASM_PAGE) {
        Some(start) => start,
        None => 0u32.wrapping_sub(WASM_PAGE),
    }
}

/// Writes a zero byte into each host page of `pages` WebAssembly pages, from
/// the first page boundary at or above `heap_base`.
///
/// It writes to memory that no Rust object owns: only the first byte of each
/// host page changes, to the value that it has on a clean instance. The call
/// traps where the memory ends earlier.
pub fn dirty_pages(heap_base: u32, pages: u32) {
    let start = round_up_to_page(heap_base);
    let mut left = u64::from(pages) * u64::from(WASM_PAGE / HOST_PAGE);
    let mut address = start;
    while left > 0 {
        // The host passes a heap base above everything that the module itself
        // places in memory, and no allocation is live during the call but the
        // input, which has been read.
        memory::write(address, 0);
        address = address.wrapping_add(HOST_PAGE);
        left -= 1;
    }
}
