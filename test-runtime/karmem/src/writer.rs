//! Writing: room at the end of a message, and bytes put there.

use alloc::vec::Vec;

/// A message that is being written, from its root on.
#[derive(Clone, Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// An empty message.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Makes room for `size` bytes at the end, all zero, and gives its offset.
    ///
    /// # Panics
    ///
    /// When the message would be 4 GiB or more: offsets have 32 bits.
    pub fn reserve(&mut self, size: usize) -> u32 {
        let offset = self.0.len();
        self.0.resize(offset + size, 0);
        assert!(u32::try_from(self.0.len()).is_ok(), "a message ends below 4 GiB");
        offset as u32
    }

    /// Appends bytes and gives what stands for them in a table: offset and length.
    ///
    /// # Panics
    ///
    /// When the message would be 4 GiB or more.
    pub fn append(&mut self, bytes: &[u8]) -> [u8; 8] {
        let place = array(self.0.len(), bytes.len());
        self.0.extend_from_slice(bytes);
        place
    }

    /// Appends an array of elements with `SIZE` bytes each.
    ///
    /// # Panics
    ///
    /// When the message would be 4 GiB or more.
    pub fn append_all<const SIZE: usize>(
        &mut self,
        elements: impl ExactSizeIterator<Item = [u8; SIZE]>,
    ) -> [u8; 8] {
        let place = array(self.0.len(), elements.len() * SIZE);
        self.0.reserve(elements.len() * SIZE);
        for element in elements {
            self.0.extend_from_slice(&element);
        }
        place
    }

    /// Writes over `bytes.len()` bytes at an offset.
    ///
    /// # Panics
    ///
    /// When they were not reserved before.
    pub fn put(&mut self, offset: u32, bytes: &[u8]) {
        self.0[offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    /// The message.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// The reference to an array in a table.
fn array(offset: usize, length: usize) -> [u8; 8] {
    let end = offset as u64 + length as u64;
    assert!(u32::try_from(end).is_ok(), "a message ends below 4 GiB");
    (offset as u64 | (length as u64) << 32).to_le_bytes()
}
