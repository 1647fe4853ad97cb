//! The exports, for any scheme.

use alloc::vec::Vec;

use guest_support::Output;

use crate::{Entry, take_field};

/// Size of the longest message that is looked at, bytes.
pub const LONGEST_MESSAGE: usize = 4096;

/// A kind of signature. Messages are hashed with SHA-256 before they are signed.
pub trait Scheme {
    /// A public key that is one.
    type Key;

    /// Reads a public key; nothing where the bytes are none.
    fn key(bytes: &[u8]) -> Option<Self::Key>;

    /// `true` if the signature is valid and of this key and message.
    fn verify(key: &Self::Key, signature: &[u8], message: &[u8]) -> bool;

    /// Signs without any randomness; nothing where the secret is no key.
    fn sign(secret: &[u8; 32], message: &[u8]) -> Option<Vec<u8>>;
}

/// The verdict on an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Answer {
    /// The signature is none, or not of this key for this message.
    Invalid = 0,
    /// The key signed this message.
    Valid = 1,
    /// The key is none.
    BadKey = 2,
    /// The message is longer than [`LONGEST_MESSAGE`]; nothing else was looked at.
    TooLong = 3,
}

fn check<S: Scheme>(entry: &Entry<'_>) -> Answer {
    if entry.message.len() > LONGEST_MESSAGE {
        return Answer::TooLong;
    }
    match S::key(entry.key) {
        None => Answer::BadKey,
        Some(key) if S::verify(&key, entry.signature, entry.message) => Answer::Valid,
        Some(_) => Answer::Invalid,
    }
}

/// Takes an entry and returns one byte, an [`Answer`].
pub fn verify<S: Scheme>(mut input: &[u8]) -> Output {
    let entry = Entry::take(&mut input);
    let Some(entry) = entry.filter(|_| input.is_empty()) else {
        panic!("the input is not one entry");
    };
    Output::from(&[check::<S>(&entry) as u8][..])
}

/// Takes a number and that many entries; returns how many of them are valid. Both
/// numbers are `u32`.
pub fn verify_many<S: Scheme>(input: &[u8]) -> Output {
    let Some((count, mut entries)) = input.split_first_chunk() else {
        panic!("the input is too short");
    };
    let mut valid = 0_u32;
    for _ in 0..u32::from_le_bytes(*count) {
        let Some(entry) = Entry::take(&mut entries) else {
            panic!("the input ends before its last entry");
        };
        valid += u32::from(check::<S>(&entry) == Answer::Valid);
    }
    assert!(entries.is_empty(), "the input goes on after its last entry");
    Output::from(valid)
}

/// Takes a secret key and a message and returns the signature; nothing where the key is
/// none or the message longer than [`LONGEST_MESSAGE`].
pub fn sign<S: Scheme>(mut input: &[u8]) -> Output {
    let fields = take_field(&mut input).zip(take_field(&mut input));
    let Some((secret, message)) = fields.filter(|_| input.is_empty()) else {
        panic!("the input is not a key and a message");
    };
    if message.len() > LONGEST_MESSAGE {
        return Output::EMPTY;
    }
    secret
        .try_into()
        .ok()
        .and_then(|secret| S::sign(secret, message))
        .map_or(Output::EMPTY, Output::from)
}
