//! A guest that reads a state: one that is copied to it, or one that is mapped into its memory.
//!
//! | export | input | output |
//! |---|---|---|
//! | `checksum` | step, then the state | its checksum |
//! | `checksum_at` | step, address, length | the checksum of that part of the memory |
//! | `write_at` | address | writes the byte there: a trap, if the memory there is read-only |
//!
//! Numbers have 32 bits. The checksum of a state is the sum, in 64 bits, of the 32-bit words at
//! each step of so many bytes.

#![no_std]

use guest_support::{Output, memory, u32_at};

guest_support::export! {
    checksum = copied,
    checksum_at = mapped,
    write_at = write,
}

fn output(sum: u64) -> Output {
    Output::from(&sum.to_le_bytes()[..])
}

/// The checksum of the state in the input.
fn copied(input: &[u8]) -> Output {
    let (step, state) = (u32_at(input, 0).max(4), &input[4..]);
    let words = state.chunks(step as usize).filter_map(|part| part.first_chunk());
    output(words.fold(0, |sum, word| sum.wrapping_add(u32::from_le_bytes(*word).into())))
}

/// The checksum of a part of the memory.
fn mapped(input: &[u8]) -> Output {
    let (step, start, length) = (u32_at(input, 0).max(4), u32_at(input, 4), u32_at(input, 8));
    let words = (0..length / 4 * 4).step_by(step as usize);
    let word = |offset| u64::from(memory::read_word(start.wrapping_add(offset)));
    output(words.fold(0, |sum, offset| sum.wrapping_add(word(offset))))
}

/// Writes a byte.
fn write(input: &[u8]) -> Output {
    memory::write(u32_at(input, 0), 1);
    Output::EMPTY
}
