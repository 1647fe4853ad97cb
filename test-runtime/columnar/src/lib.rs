//! A columnar encoding after the description in the paper on Karmem (Future Internet 2024,
//! 16, 341, section 4.2). No code of Karmem's is in here. The paper describes the format
//! and leaves parts of it open, so that no other program reads these messages.
//!
//! From the paper:
//!
//! * An array of structures is stored as a structure of arrays: one column for each field.
//! * Every array starts at a multiple of 64 bytes and takes a multiple of 64 bytes. Offsets
//!   count in units of 64 bytes.
//! * A lookup structure has two arrays, of hashes and of offsets, 4 bytes each. A reader
//!   searches the hashes one by one. A hash is made from the position of a field in its
//!   structure; inner structures continue the hash of the outer one (*flattening*).
//! * A reader checks three bounds for each array, however many items it has. It ignores
//!   columns that it does not know, and limits how many there may be.
//! * A single structure begins with its size: 29 bits count units of 8 bytes, 3 bits the
//!   bytes that its last unit does not use.
//!
//! Chosen here, because the paper leaves it open:
//!
//! * Numbers are little-endian. Gaps are zero. Offsets count from the start of the message,
//!   which itself need not be aligned.
//! * The hash is FNV-1a of 32 bits over the positions, one byte each, counted from 0.
//! * The root is a structure of one array, 16 bytes: its size (the units in the upper 29
//!   bits), and the header of the array: offset of the lookup, rows, columns.
//! * The offsets of the lookup follow its hashes. Hashes are in the order of the fields.
//! * A column has no length of its own: it has one element for each row.
//! * A fixed array of numbers is one element. A fixed array of structures is one column for
//!   each field, whose elements are the fixed arrays of that field.
//! * An array of any length inside a structure is a column of `u32`, for each row the place
//!   in which its items end, and further columns with the items of all rows, one after the
//!   other. Their hashes continue that of the field.
//! * Readers accept 64 columns at most.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod table;
mod writer;

pub use table::{Outside, Table};
pub use writer::Writer;

/// Every array starts at, and takes, a multiple of so many bytes.
pub const ALIGNMENT: usize = 64;

/// Bytes of the root.
const ROOT: usize = 16;

/// Most columns that a reader accepts.
const MOST_COLUMNS: usize = 64;

/// The hash of a column, from the positions of the fields that lead to it.
#[must_use]
pub const fn hash(positions: &[u8]) -> u32 {
    let mut hash = 0x811c_9dc5_u32;
    let mut index = 0;
    while index < positions.len() {
        hash = (hash ^ positions[index] as u32).wrapping_mul(0x0100_0193);
        index += 1;
    }
    hash
}
