//! Writing: the root and the lookup, then column after column.

use alloc::{vec, vec::Vec};

use crate::{ALIGNMENT, ROOT};

/// A message that is being written.
#[derive(Clone, Debug)]
pub struct Writer {
    message: Vec<u8>,
    /// Where the offset of the next column stands.
    next: usize,
    /// How many columns are still to be written.
    left: usize,
}

impl Writer {
    /// A message with so many rows and columns of these hashes, which have to be written in
    /// this order.
    ///
    /// # Panics
    ///
    /// When there are 2^32 rows or more.
    #[must_use]
    pub fn new(rows: usize, hashes: &[u32]) -> Self {
        let Ok(rows) = u32::try_from(rows) else { panic!("rows are counted in 32 bits") };
        let lookup = (hashes.len() * 4).next_multiple_of(ALIGNMENT);
        let mut message = vec![0; ALIGNMENT + 2 * lookup];
        let root = [(ROOT as u32 / 8) << 3, 1, rows, hashes.len() as u32];
        for (place, word) in message.as_chunks_mut().0.iter_mut().zip(root) {
            *place = word.to_le_bytes();
        }
        for (place, hash) in message[ALIGNMENT..].as_chunks_mut().0.iter_mut().zip(hashes) {
            *place = hash.to_le_bytes();
        }
        Self { message, next: ALIGNMENT + lookup, left: hashes.len() }
    }

    /// Writes the next column, one element for each row.
    ///
    /// # Panics
    ///
    /// As [`items`](Self::items).
    pub fn column<const SIZE: usize>(
        &mut self,
        elements: impl ExactSizeIterator<Item = [u8; SIZE]>,
    ) {
        self.items(elements.len() * SIZE, elements);
    }

    /// Writes the next column, of so many bytes in all, part by part.
    ///
    /// # Panics
    ///
    /// When the message would be 4 GiB or more, or all columns were written.
    pub fn items(&mut self, bytes: usize, parts: impl Iterator<Item: AsRef<[u8]>>) {
        let Some(left) = self.left.checked_sub(1) else { panic!("all columns were written") };
        self.left = left;
        let offset = self.message.len() / ALIGNMENT;
        self.message[self.next..][..4].copy_from_slice(&(offset as u32).to_le_bytes());
        self.next += 4;
        self.message.reserve(bytes.next_multiple_of(ALIGNMENT));
        for part in parts {
            self.message.extend_from_slice(part.as_ref());
        }
        self.message.resize(self.message.len().next_multiple_of(ALIGNMENT), 0);
        assert!(u32::try_from(self.message.len()).is_ok(), "a message ends below 4 GiB");
    }

    /// The message.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.message
    }
}
