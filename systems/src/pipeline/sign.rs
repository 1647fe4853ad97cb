//! Signing, and verifying without a guest.

use super::{Kind, Signed, wire::Message};
use k256::ecdsa::signature::{Signer as _, Verifier as _};
use k256::{ecdsa, schnorr};
use signatures::Entry;

pub(super) struct Signer {
    schnorr: schnorr::SigningKey,
    schnorr_public: Vec<u8>,
    ecdsa: ecdsa::SigningKey,
    ecdsa_public: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("message {0} cannot be signed: its kind is unknown, or it is longer than 65,535 bytes")]
pub(super) struct Unsignable(u64);

impl Signer {
    /// `None` if the secret is zero or not below the order of the curve.
    pub(super) fn new(secret: &[u8; 32]) -> Option<Self> {
        let schnorr = schnorr::SigningKey::from_bytes(secret).ok()?;
        let ecdsa = ecdsa::SigningKey::from_bytes(secret.into()).ok()?;
        Some(Self {
            schnorr_public: schnorr.verifying_key().to_bytes().to_vec(),
            ecdsa_public: ecdsa.verifying_key().to_encoded_point(true).as_bytes().to_vec(),
            schnorr,
            ecdsa,
        })
    }

    /// Signs a message. Flips a bit of the signature if the message says so.
    pub(super) fn sign(&self, message: &Message) -> Result<Signed, Unsignable> {
        let unsignable = Unsignable(message.sequence);
        let kind = Kind::numbered(message.kind.into()).ok_or(unsignable)?;
        let text = &message.text;
        if text.len() > usize::from(u16::MAX) {
            return Err(unsignable);
        }
        let (key, mut signature) = match kind {
            Kind::Schnorr => {
                let signed = self.schnorr.try_sign(text).map_err(|_| unsignable)?;
                (&self.schnorr_public, signed.to_bytes().to_vec())
            }
            Kind::Ecdsa => {
                let signed: ecdsa::Signature = self.ecdsa.try_sign(text).map_err(|_| unsignable)?;
                (&self.ecdsa_public, signed.to_der().as_bytes().to_vec())
            }
        };
        if let Some(last) = signature.last_mut().filter(|_| message.tampered) {
            *last ^= 1;
        }
        let mut entry = Vec::new();
        Entry { key, signature: &signature, message: text }.append_to(&mut entry);
        Ok(Signed { sequence: message.sequence, kind, entry })
    }
}

/// `true` if the signature of an entry is valid by the library that the guests use.
pub fn is_valid(kind: Kind, mut entry: &[u8]) -> bool {
    let Some(Entry { key, signature, message }) = Entry::take(&mut entry) else { return false };
    let verified = match kind {
        // The parsers panic at other lengths.
        Kind::Schnorr if key.len() != 32 || signature.len() != schnorr::Signature::BYTE_SIZE => {
            return false;
        }
        Kind::Schnorr => schnorr::VerifyingKey::from_bytes(key)
            .and_then(|key| key.verify(message, &schnorr::Signature::try_from(signature)?)),
        Kind::Ecdsa => ecdsa::VerifyingKey::from_sec1_bytes(key)
            .and_then(|key| key.verify(message, &ecdsa::Signature::from_der(signature)?)),
    };
    entry.is_empty() && verified.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_valid_and_tampered_ones_are_not() {
        let signer = Signer::new(&[3; 32]).unwrap();
        for kind in Kind::ALL {
            let message =
                Message { sequence: 7, kind: kind as u32, text: b"text".to_vec(), tampered: false };
            let signed = signer.sign(&message).unwrap();
            assert_eq!((signed.sequence, signed.kind), (7, kind));
            assert!(is_valid(kind, &signed.entry));
            let other = Kind::ALL[1 - kind as usize];
            assert!(!is_valid(other, &signed.entry));
            assert!(!is_valid(kind, &signed.entry[..9]) && !is_valid(kind, &[]));
            let tampered = Message { tampered: true, ..message };
            assert!(!is_valid(kind, &signer.sign(&tampered).unwrap().entry));
        }
    }

    #[test]
    fn what_cannot_be_signed_is_an_error() {
        let signer = Signer::new(&[3; 32]).unwrap();
        for (kind, length) in [(2, 1), (0, 70_000)] {
            let message = Message { sequence: 5, kind, text: vec![0; length], tampered: false };
            assert_eq!(signer.sign(&message), Err(Unsignable(5)));
        }
        assert!(Signer::new(&[0; 32]).is_none());
    }
}
