//! The memory-dirtying calls that two guests share.

use crate::{Output, memory, u32_at};

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

/// The bytes that a call writes: the first one of each host page of `pages` WebAssembly
/// pages, from the first page boundary at or above `heap_base`.
///
/// No Rust object owns them: the host passes a heap base above everything that the module
/// itself places in memory, and no allocation is live but the input, which was read before.
fn places(heap_base: u32, pages: u32) -> impl Iterator<Item = u32> {
    let start = round_up_to_page(heap_base);
    let count = u64::from(pages) * u64::from(WASM_PAGE / HOST_PAGE);
    // An address wraps around where it would not fit: the memory ends before that.
    (0..count).map(move |page| start.wrapping_add((page as u32).wrapping_mul(HOST_PAGE)))
}

/// Writes to each place; traps where the memory ends earlier. One function for all callers,
/// so that what is timed is what was looked at.
#[inline(never)]
fn fill(heap_base: u32, pages: u32, value: u8) {
    places(heap_base, pages).for_each(|address| memory::write(address, value));
}

/// How many of the places hold the value.
fn count(heap_base: u32, pages: u32, value: u8) -> u32 {
    places(heap_base, pages).map(|address| u32::from(memory::read(address) == value)).sum()
}

/// Takes `heap_base: u32, pages: u32` and writes a byte into each host page of so many
/// pages; answers nothing.
///
/// With anything after the two numbers it looks at the memory: it writes the byte's
/// complement before, and answers with how many places held that and how many hold the
/// byte in the end, `u32` each. Memory that takes no writes has at most one of the two.
pub fn dirty(input: &[u8], value: u8) -> Output {
    let (heap_base, pages, looks) = (u32_at(input, 0), u32_at(input, 4), input.len() > 8);
    if !looks {
        fill(heap_base, pages, value);
        return Output::EMPTY;
    }
    let seen = [!value, value].map(|value| {
        fill(heap_base, pages, value);
        count(heap_base, pages, value).to_le_bytes()
    });
    Output::from(seen.as_flattened())
}
