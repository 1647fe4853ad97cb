//! The schema of the paper's reading and writing: a batch of temperatures.
//!
//! `TemperatureBatch`, the root, is a table with one array of `ReadingItem` at 4. A
//! `ReadingItem` is inline and holds the offset of a `Reading`, a table with
//! `timestamp: i64` at 4 and `value: f32` at 12: readings can grow, as those in
//! FlatBuffers can.

use crate::{Message, Table};

/// Bytes of a `Reading`.
pub const READING: usize = 16;
/// Bytes of a `ReadingItem`.
pub const READING_ITEM: usize = 4;
/// Bytes of a `TemperatureBatch`.
pub const BATCH: usize = 12;

/// All readings of a message, in its order.
pub fn readings(message: Message<'_>) -> impl ExactSizeIterator<Item = Reading<'_>> {
    message
        .array::<READING_ITEM>(message.root().field(4), usize::MAX)
        .iter()
        .map(move |place| Reading { table: message.table(u32::from_le_bytes(*place)) })
}

/// A temperature at a time.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    table: Table<'a>,
}

impl Reading<'_> {
    /// When it was.
    #[must_use]
    pub fn timestamp(self) -> i64 {
        i64::from_le_bytes(self.table.field(4))
    }

    /// The measured value.
    #[must_use]
    pub fn value(self) -> f32 {
        f32::from_le_bytes(self.table.field(12))
    }
}
