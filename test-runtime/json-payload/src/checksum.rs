//! A checksum over all decoded bytes, much cheaper than decoding them.

use crate::{Big, Signed};

/// First value of the checksum.
const START: u64 = 0x9E37_79B9_7F4A_7C15;

/// An odd number, so that multiplying loses nothing.
const FACTOR: u64 = 0x517C_C1B7_2722_0A95;

/// The checksum of a value: the number of entries, then of each text its length in
/// bytes and its bytes as little-endian words, the last one padded with zeros.
pub fn of(value: &Big) -> u64 {
    let start = mix(START, value.signed.len() as u64);
    value.signed.iter().flat_map(Signed::texts).fold(start, mix_text)
}

fn mix_text(hash: u64, text: &str) -> u64 {
    let (words, rest) = text.as_bytes().as_chunks();
    let hash = mix(hash, text.len() as u64);
    let hash = words.iter().fold(hash, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    if rest.is_empty() {
        return hash;
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(hash, u64::from_le_bytes(last))
}

const fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(FACTOR)
}
