//! One number for many: what a call answers with.

/// Mixes words. From `h = 0x9e3779b97f4a7c15`, mixing in a word `w` is
/// `h = (rotate_left(h, 5) ^ w) * 0x517cc1b727220a95`, all modulo 2^64.
pub(crate) struct Checksum(u64);

impl Checksum {
    pub(crate) const fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    pub(crate) const fn word(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    pub(crate) const fn finish(self) -> u64 {
        self.0
    }
}

/// Words that are looked at in [`encoded`] at most.
const SAMPLES: usize = 64;

/// A checksum over the length, 64 words of eight bytes, evenly spread, and the end: all of a
/// short message, and of a long one so little that it costs next to nothing beside the
/// encoding. The bytes have to be a black box, or the others would not be written.
#[must_use]
pub fn encoded(bytes: &[u8]) -> u64 {
    sampled(bytes, bytes.len() / 8 / SAMPLES + 1)
}

/// The same over all words.
#[must_use]
pub fn encoded_all(bytes: &[u8]) -> u64 {
    sampled(bytes, 1)
}

/// Words so many apart, and the bytes after the last whole word.
fn sampled(bytes: &[u8], step: usize) -> u64 {
    let mut checksum = Checksum::new();
    checksum.word(bytes.len() as u64);
    let (words, end) = bytes.as_chunks();
    for word in words.iter().step_by(step) {
        checksum.word(u64::from_le_bytes(*word));
    }
    for byte in end {
        checksum.word(u64::from(*byte));
    }
    checksum.finish()
}
