//! Signed messages.

/// How a message is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Schnorr signatures over secp256k1 (BIP 340).
    Schnorr,
    /// ECDSA over secp256k1, in DER encoding.
    Ecdsa,
}

impl Kind {
    /// All kinds; the index of one is its number.
    pub const ALL: [Self; 2] = [Self::Schnorr, Self::Ecdsa];

    pub fn numbered(number: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u64 == number)
    }
}

/// A signed message, as the verifier gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// Place in the order of sending, from 0.
    pub sequence: u64,
    pub kind: Kind,
    pub entry: Vec<u8>,
}
