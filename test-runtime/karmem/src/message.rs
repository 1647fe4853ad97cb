//! Reading: bytes as tables, and tables as fields.

/// Bytes that are read as a message, whatever they are.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a>(&'a [u8]);

impl<'a> Message<'a> {
    /// Takes any bytes.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The table that all others are reached from.
    #[must_use]
    pub fn root(self) -> Table<'a> {
        self.table(0)
    }

    /// The table at an offset; one that does not lie in the message has no fields.
    #[must_use]
    pub fn table(self, offset: u32) -> Table<'a> {
        let rest = self.0.get(offset as usize..).unwrap_or_default();
        let size = rest.first_chunk().map_or(0, |size| u32::from_le_bytes(*size));
        Table(rest.get(..size as usize).unwrap_or_default())
    }

    /// The elements of an array, each of `SIZE` bytes; `place` is what stands for it in a
    /// table. None where it does not lie in the message; never more than `capacity`, and
    /// no part of an element.
    #[must_use]
    pub fn array<const SIZE: usize>(self, place: [u8; 8], capacity: usize) -> &'a [[u8; SIZE]] {
        let [a, b, c, d, e, f, g, h] = place;
        let offset = u32::from_le_bytes([a, b, c, d]) as usize;
        let length = u32::from_le_bytes([e, f, g, h]) as usize;
        let rest = self.0.get(offset..).unwrap_or_default();
        let (elements, _) = rest.get(..length).unwrap_or_default().as_chunks();
        elements.get(..capacity).unwrap_or(elements)
    }
}

/// A table; its bytes begin with its size. The default has no fields.
#[derive(Clone, Copy, Debug, Default)]
pub struct Table<'a>(&'a [u8]);

impl Table<'_> {
    /// The bytes of a field, `N` of them from `offset` on; zeros where the table ends
    /// before they do.
    #[inline]
    #[must_use]
    pub fn field<const N: usize>(self, offset: usize) -> [u8; N] {
        self.0.get(offset..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
    }

    /// Its size in bytes: 0 where it does not lie in the message.
    #[must_use]
    pub const fn size(self) -> usize {
        self.0.len()
    }
}
