//! A consumer of messages: decodes all values of one, writes them as text, and answers with the
//! digest of that text. The text, unlike the bytes, shows that each value was read as its type.
//!
//! | export | input | output |
//! |---|---|---|
//! | `digest` | message | SHA-256 of its values |
//! | `digest_at` | address, length | the same of the message in that part of the memory |
//!
//! A message has monsters in Karmem v1's format; numbers have 32 bits. A message that is none
//! traps.

#![no_std]

extern crate alloc;

use alloc::format;

use guest_support::{Output, u32_at};
use records_payload::karmem;
use sha2::{Digest, Sha256};

guest_support::export! {
    digest = copied,
    digest_at = mapped,
}

/// The digest of the message in the input.
fn copied(message: &[u8]) -> Output {
    match karmem::decode(message) {
        Ok(monsters) => Output::from(&Sha256::digest(format!("{monsters:?}"))[..]),
        Err(error) => panic!("{error}"),
    }
}

/// The digest of the message in a part of the memory.
fn mapped(input: &[u8]) -> Output {
    // SAFETY: the host has a message there, in memory that no object of the module occupies, and
    // does not change it during the call.
    copied(unsafe { guest_support::input(u32_at(input, 0), u32_at(input, 4)) })
}
