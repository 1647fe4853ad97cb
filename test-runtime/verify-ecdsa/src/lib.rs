//! A guest that verifies and makes ECDSA signatures over secp256k1: keys are points in
//! SEC 1 encoding, signatures in DER encoding, with the smaller `s` of the two.

#![no_std]

extern crate alloc;

use alloc::vec::Vec;

use k256::ecdsa::signature::{Signer, Verifier};
use k256::ecdsa::{Signature, SigningKey, VerifyingKey};
use signatures::Scheme;

struct Ecdsa;

impl Scheme for Ecdsa {
    type Key = VerifyingKey;

    fn key(bytes: &[u8]) -> Option<VerifyingKey> {
        VerifyingKey::from_sec1_bytes(bytes).ok()
    }

    fn verify(key: &VerifyingKey, signature: &[u8], message: &[u8]) -> bool {
        Signature::from_der(signature)
            .is_ok_and(|signature| key.verify(message, &signature).is_ok())
    }

    /// The nonce is that of RFC 6979.
    fn sign(secret: &[u8; 32], message: &[u8]) -> Option<Vec<u8>> {
        let key = SigningKey::from_bytes(secret.into()).ok()?;
        let signature: Signature = key.try_sign(message).ok()?;
        Some(signature.to_der().as_bytes().to_vec())
    }
}

guest_support::export! {
    verify = signatures::verify::<Ecdsa>,
    verify_many = signatures::verify_many::<Ecdsa>,
    sign = signatures::sign::<Ecdsa>,
}
