//! The exports, and the choice of what to exercise.

use guest_support::{
    Output, dirty,
    host::{self, LogLevel},
    u32_at,
};
use sha2::{Digest, Sha256};

use crate::{hash, interpreter, phrase, signature, text};

/// Does some work on the input and feeds what comes out to the digest.
type Piece = fn(&[u8], &mut Sha256);

/// Everything that is linked in, by the number that selects it.
static PIECES: [Piece; 11] = [
    hash::every_function,
    text::json,
    text::normalization,
    text::encodings,
    text::expressions,
    text::compression,
    signature::secp256k1,
    signature::p256,
    signature::ed25519,
    interpreter::run,
    phrase::every_language,
];

/// Does nothing, so that a call costs only what the executor adds.
pub fn empty_return(_: &[u8]) -> Output {
    Output::EMPTY
}

/// Writes zeros, what the pages hold on a clean instance. See [`dirty`].
pub fn dirty_plenty_memory(input: &[u8]) -> Output {
    dirty(input, 0)
}

/// Writes ones. See [`dirty`].
pub fn dirty_with_ones(input: &[u8]) -> Output {
    dirty(input, 1)
}

/// Takes `selector: u32` and any bytes; returns the SHA-256 digest of what the
/// selected piece made of the bytes, or nothing where there is no such piece.
pub fn exercise(input: &[u8]) -> Output {
    host::log(LogLevel::Debug, "large", b"exercise");
    let Some(piece) = PIECES.get(u32_at(input, 0) as usize) else {
        return Output::EMPTY;
    };
    let mut digest = Sha256::new();
    piece(&input[4..], &mut digest);
    digest.finalize()[..].into()
}
