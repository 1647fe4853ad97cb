//! Karmem v1's wire format, re-implemented from its published layout: no code of Karmem's
//! is in here, and neither is the format of its later paper, which is not published in
//! enough detail.
//!
//! * Numbers are little-endian and packed: nothing is aligned, nothing is padded.
//! * Offsets are `u32`, from the start of the message. The root is at 0.
//! * A *table* starts with its size in bytes, a `u32` that counts itself; its fields
//!   follow in the schema's order. Readers take a field beyond the size for zero, so that
//!   a schema can grow.
//! * An *inline* structure and an array of fixed length lie in place.
//! * An array of any length is two `u32` in place, offset and length in bytes. One that
//!   does not lie in the message is empty; one with more elements than the schema's
//!   capacity ends there.
//! * A table inside a structure is a `u32` in place, its offset.
//!
//! Any bytes are a message: reading has no errors, and reads nothing outside them.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod game;
mod message;
pub mod temperature;
mod writer;

pub use message::{Message, Table};
pub use writer::Writer;
