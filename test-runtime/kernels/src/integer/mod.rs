//! Integer work in the manner of CoreMark: a linked list, a matrix, a state machine and a
//! CRC over all they say. It is no CoreMark, and its figures are no CoreMarks.

mod crc;
mod list;
mod matrix;
mod states;

use guest_support::Output;

use crc::Crc;

/// Seed of the first round; each later one has the checksum mixed in.
const SEED: u16 = 0x3415;
/// The largest number of rounds.
const MOST: u32 = 10_000;

/// Takes a number of rounds, up to 10,000, and returns the CRC-16/ARC of what the parts
/// said in all of them. Each round starts from what is known after the one before it.
pub fn run(input: &[u8]) -> Output {
    let rounds = crate::amount(input, MOST);
    let mut crc = Crc::default();
    for _ in 0..rounds {
        let seed = SEED ^ crc.value();
        list::round(seed, &mut crc);
        matrix::round(seed, &mut crc);
        states::round(seed, &mut crc);
    }
    crate::answer(crc.value().into())
}
