//! Calls that allocate, grow or look at memory.

use alloc::{vec, vec::Vec};
use core::hint::black_box;

use guest_support::{
    HOST_PAGE, Output, WASM_PAGE,
    memory::{self, heap_base, read, write},
    round_up_to_page, u32_at,
};

/// The byte at `offset` of the buffer with the number `index`.
fn pattern(index: usize, offset: usize) -> u8 {
    index.wrapping_mul(31).wrapping_add(offset) as u8
}

/// Takes `(count: u32, size: u32)`, fills that many buffers, checks them all,
/// frees them out of order and returns a checksum: from 0, for each byte of
/// each buffer, `checksum * 31 + byte`, wrapping.
pub fn allocate(input: &[u8]) -> Output {
    let (count, size) = (u32_at(input, 0) as usize, u32_at(input, 4) as usize);
    let mut buffers: Vec<Vec<u8>> = (0..count)
        .map(|index| {
            let buffer: Vec<u8> = (0..size).map(|offset| pattern(index, offset)).collect();
            black_box(buffer)
        })
        .collect();

    let mut checksum = 0u32;
    for (index, buffer) in buffers.iter().enumerate() {
        for (offset, byte) in buffer.iter().enumerate() {
            assert!(*byte == pattern(index, offset), "a buffer was overwritten");
            checksum = checksum.wrapping_mul(31).wrapping_add(u32::from(*byte));
        }
    }

    // First every second buffer in the order of allocation, then the others
    // backwards, so that blocks return to the host neither first in, first out
    // nor last in, first out.
    for buffer in buffers.iter_mut().step_by(2) {
        drop(core::mem::take(buffer));
    }
    while let Some(buffer) = buffers.pop() {
        drop(buffer);
    }
    checksum.into()
}

/// Takes `pages: u32` and returns the size before growing, or `u32::MAX`.
pub fn grow(input: &[u8]) -> Output {
    (memory::grow(u32_at(input, 0) as usize) as u32).into()
}

/// Grows memory and touches each new page until the host refuses; returns the
/// size in pages at the end.
pub fn bomb(_: &[u8]) -> Output {
    // Allocated first, because afterwards there may be no memory left for it.
    let mut output = vec![0; 4];
    for step in [256, 1] {
        loop {
            let before = memory::grow(step);
            if before == usize::MAX {
                break;
            }
            for page in before..before + step {
                write(page as u32 * WASM_PAGE, 0xa5);
            }
        }
    }
    output.copy_from_slice(&(memory::size() as u32).to_le_bytes());
    output.into()
}

/// Takes `count: u32` and returns the sum of that many bytes of the heap, one
/// from each host page, from the first page boundary at or above its base.
pub fn sum_heap(input: &[u8]) -> Output {
    let mut address = round_up_to_page(heap_base());
    let mut sum = 0u32;
    for _ in 0..u32_at(input, 0) {
        sum = sum.wrapping_add(u32::from(read(address)));
        address = address.wrapping_add(HOST_PAGE);
    }
    sum.into()
}

/// Takes `address: u32` and returns the byte there.
pub fn peek(input: &[u8]) -> Output {
    vec![read(u32_at(input, 0))].into()
}

/// Takes `(address: u32, value: u8)` and writes the byte there.
pub fn poke(input: &[u8]) -> Output {
    write(u32_at(input, 0), input[4]);
    Output::EMPTY
}
