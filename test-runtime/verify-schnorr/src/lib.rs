//! A guest that verifies and makes Schnorr signatures over secp256k1, as BIP 340 has
//! them: keys are 32 bytes, signatures 64.

#![no_std]

extern crate alloc;

use alloc::vec::Vec;

use k256::schnorr::signature::{Signer, Verifier};
use k256::schnorr::{Signature, SigningKey, VerifyingKey};
use signatures::Scheme;

struct Schnorr;

impl Scheme for Schnorr {
    type Key = VerifyingKey;

    fn key(bytes: &[u8]) -> Option<VerifyingKey> {
        // What reads it panics at any other length.
        (bytes.len() == 32).then(|| VerifyingKey::from_bytes(bytes).ok()).flatten()
    }

    fn verify(key: &VerifyingKey, signature: &[u8], message: &[u8]) -> bool {
        // As above.
        signature.len() == Signature::BYTE_SIZE
            && Signature::try_from(signature)
                .is_ok_and(|signature| key.verify(message, &signature).is_ok())
    }

    /// The auxiliary randomness is zero.
    fn sign(secret: &[u8; 32], message: &[u8]) -> Option<Vec<u8>> {
        let signature = SigningKey::from_bytes(secret).ok()?.try_sign(message).ok()?;
        Some(signature.to_bytes().to_vec())
    }
}

guest_support::export! {
    verify = signatures::verify::<Schnorr>,
    verify_many = signatures::verify_many::<Schnorr>,
    sign = signatures::sign::<Schnorr>,
}
