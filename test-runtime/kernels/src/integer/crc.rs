//! CRC-16/ARC, a bit at a time, as small machines do it.

/// The reflected polynomial.
const POLYNOMIAL: u16 = 0xa001;

/// A checksum of words of two bytes.
#[derive(Default)]
pub struct Crc(u16);

impl Crc {
    /// Adds a word, its low byte first.
    pub fn add(&mut self, word: u16) {
        self.0 ^= word;
        for _ in 0..u16::BITS {
            let low = self.0 & 1;
            self.0 = self.0 >> 1 ^ low.wrapping_neg() & POLYNOMIAL;
        }
    }

    /// The checksum of what was added.
    pub const fn value(&self) -> u16 {
        self.0
    }
}
