//! What the guests that verify signatures share: the layout of their input, the three
//! exports, and the answers. A guest adds a [`Scheme`]: keys, and how they sign.
//!
//! Input that is not laid out as it has to be panics, which for a guest is a trap. All
//! else has an answer, also where a key, a signature or a message is no good.

#![no_std]

extern crate alloc;

mod calls;
mod entry;

pub use calls::{Answer, LONGEST_MESSAGE, Scheme, sign, verify, verify_many};
pub use entry::{Entry, append_field, take_field};
