//! Random changes to valid files, determined by a number.

/// An endless row of changed files.
#[derive(Debug)]
pub struct Mutations<'a> {
    corpus: &'a [Vec<u8>],
    state: u64,
}

/// Longest run of bytes that one change touches.
const LONGEST: u64 = 64;

impl<'a> Mutations<'a> {
    /// The row of a seed; the same files and the same seed give the same row.
    ///
    /// # Panics
    ///
    /// Without a file.
    #[must_use]
    pub fn new(corpus: &'a [Vec<u8>], seed: u64) -> Self {
        assert!(!corpus.is_empty(), "there is no file to change");
        Self { corpus, state: seed }
    }

    /// SplitMix64: any state is a good one, also 0.
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, or 0.
    fn below(&mut self, end: usize) -> usize {
        (self.random() % (end.max(1) as u64)) as usize
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len());
        let length = (self.random() % LONGEST) as usize;
        let end = (at + length).min(bytes.len());
        match self.random() % 7 {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << (self.random() % 8),
            1 if !bytes.is_empty() => bytes[at] = self.random() as u8,
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..end)),
            4 => {
                let copy = bytes[at..end].to_vec();
                let to = self.below(bytes.len());
                bytes.splice(to..to, copy);
            }
            5 => {
                let other = &self.corpus[self.below(self.corpus.len())];
                let from = self.below(other.len());
                let part = &other[from..(from + length).min(other.len())];
                bytes.splice(at..end, part.iter().copied());
            }
            _ => {
                // Numbers that are easily forgotten.
                let extremes = [0, 1, 0x7f, 0x80, 0xff, u32::MAX, i32::MAX as u32, 1 << 31];
                let extreme = extremes[self.below(extremes.len())].to_le_bytes();
                let end = (at + extreme.len()).min(bytes.len());
                bytes.splice(at..end, extreme);
            }
        }
    }
}

impl Iterator for Mutations<'_> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut bytes = self.corpus[self.below(self.corpus.len())].clone();
        for _ in 0..=self.below(4) {
            self.change(&mut bytes);
        }
        Some(bytes)
    }
}
