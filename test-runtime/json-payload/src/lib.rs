//! The values that the JSON guests decode: their types, what the two inputs must
//! decode to, and a checksum for inputs of the same shape that nobody knows.
//!
//! Everything here panics where a value is wrong; for a guest, a panic is a trap.

#![no_std]

extern crate alloc;

mod checksum;
mod expected;

use alloc::{string::String, vec::Vec};

use serde::Deserialize;

/// The small payload.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Small {
    /// A text.
    pub a: String,
    /// A number.
    pub b: u32,
    /// Three numbers.
    pub c: (u32, u32, u32),
}

/// The big payload: a transaction of signed messages.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Big {
    /// The messages.
    pub signed: Vec<Signed>,
}

/// A message with its signature.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    /// The signed content.
    pub payload: Payload,
    /// By which standard.
    pub standard: String,
    /// The signature.
    pub signature: String,
    /// Whose it is.
    pub public_key: String,
}

/// The signed content.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Payload {
    /// A number used once.
    pub nonce: String,
    /// The message, a JSON text inside the JSON text.
    pub message: String,
    /// Who it is for.
    pub recipient: String,
}

impl Signed {
    /// All texts of an entry, in the order in which checks and checksum take them.
    pub fn texts(&self) -> [&str; 6] {
        let Self {
            payload: Payload { nonce, message, recipient },
            standard,
            signature,
            public_key,
        } = self;
        [nonce, message, recipient, standard, signature, public_key]
    }
}

/// Panics unless this is what `inputs/small.json` says, all of it.
pub fn check_small(value: &Small) {
    assert!(expected::is_small(value), "not the small payload");
}

/// Panics unless this is what `inputs/big.json` says, all of it.
pub fn check_big(value: &Big) {
    assert!(expected::is_big(value), "not the big payload");
}

/// Decodes a JSON text; panics unless it is the small payload.
pub fn decode_small(json: &[u8]) {
    check_small(&decode(json));
}

/// Decodes a JSON text; panics unless it is the big payload.
pub fn decode_big(json: &[u8]) {
    check_big(&decode(json));
}

/// Decodes a JSON text that has the shape of the big payload, whatever it says, and
/// returns its checksum; panics where it has another shape.
pub fn decode_any(json: &[u8]) -> u64 {
    checksum::of(&decode(json))
}

/// Decodes a whole JSON text; panics where it is none, or of another type.
fn decode<'a, T: Deserialize<'a>>(json: &'a [u8]) -> T {
    match serde_json::from_slice(json) {
        Ok(value) => value,
        Err(error) => panic!("the input is wrong: {error}"),
    }
}
