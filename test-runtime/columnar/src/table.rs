//! Reading: a message as a table, and a table's columns.

use crate::{ALIGNMENT, MOST_COLUMNS, ROOT};

/// Something does not lie in the message, or has more columns than a reader accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outside;

/// The array of structures of a message.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    message: &'a [u8],
    rows: usize,
    hashes: &'a [[u8; 4]],
    offsets: &'a [[u8; 4]],
}

impl<'a> Table<'a> {
    /// The table of a message; its columns are checked when they are asked for.
    ///
    /// # Errors
    ///
    /// When the root or the lookup does not lie in the message, or there are too many columns.
    pub fn new(message: &'a [u8]) -> Result<Self, Outside> {
        let root = message.first_chunk::<ROOT>().ok_or(Outside)?.as_chunks().0;
        let [size, offset, rows, columns] = *root else { return Err(Outside) };
        let size = u32::from_le_bytes(size);
        let used = ((size >> 3) * 8).checked_sub(size & 7).ok_or(Outside)? as usize;
        // Fields may have been added at the end.
        if !(ROOT..=message.len()).contains(&used) {
            return Err(Outside);
        }
        let columns = u32::from_le_bytes(columns) as usize;
        if columns > MOST_COLUMNS {
            return Err(Outside);
        }
        let length = (columns * 4).next_multiple_of(ALIGNMENT);
        let lookup = array(message, offset, 2 * length)?;
        let (hashes, offsets) = lookup.split_at(length);
        let [hashes, offsets] = [hashes, offsets].map(|words| &words.as_chunks().0[..columns]);
        Ok(Self { message, rows: u32::from_le_bytes(rows) as usize, hashes, offsets })
    }

    /// How many rows it has.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The column of a hash: one element of `SIZE` bytes for each row. `None` where the
    /// writer has no such field.
    ///
    /// # Errors
    ///
    /// When the column does not lie in the message.
    pub fn column<const SIZE: usize>(
        &self,
        hash: u32,
    ) -> Result<Option<&'a [[u8; SIZE]]>, Outside> {
        self.items(hash, self.rows)
    }

    /// A column with so many elements, which belong to the rows as another column says.
    ///
    /// # Errors
    ///
    /// When the column does not lie in the message.
    pub fn items<const SIZE: usize>(
        &self,
        hash: u32,
        length: usize,
    ) -> Result<Option<&'a [[u8; SIZE]]>, Outside> {
        let hash = hash.to_le_bytes();
        let Some(index) = self.hashes.iter().position(|found| *found == hash) else {
            return Ok(None);
        };
        let bytes = length.checked_mul(SIZE).ok_or(Outside)?;
        Ok(Some(array(self.message, self.offsets[index], bytes)?.as_chunks().0))
    }
}

/// So many bytes from an offset on, in units of the alignment.
fn array(message: &[u8], offset: [u8; 4], bytes: usize) -> Result<&[u8], Outside> {
    let start = (u32::from_le_bytes(offset) as usize).checked_mul(ALIGNMENT).ok_or(Outside)?;
    message.get(start..).and_then(|rest| rest.get(..bytes)).ok_or(Outside)
}
