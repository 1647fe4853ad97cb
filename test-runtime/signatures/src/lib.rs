//! Shared by the guests that verify signatures: the layout of their input, the three exports, and
//! the answers. A guest adds a [`Scheme`]: keys, and how they sign.
//!
//! Input with another layout panics, which for a guest is a trap. Everything else has an answer,
//! also an invalid key, signature or message.

#![no_std]

extern crate alloc;

mod calls;
mod entry;

pub use calls::{Answer, LONGEST_MESSAGE, Scheme, sign, verify, verify_many};
pub use entry::{Entry, append_field, take_field};
