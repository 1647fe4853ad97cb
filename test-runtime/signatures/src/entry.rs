//! The layout of the input: fields with their length before them.

use alloc::vec::Vec;

/// A message with its signature, and the key that is said to have made it.
///
/// Its bytes are the three fields in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The public key.
    pub key: &'a [u8],
    /// The signature.
    pub signature: &'a [u8],
    /// The message itself, not its digest.
    pub message: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Takes an entry off the front; nothing where the bytes end inside it.
    pub fn take(bytes: &mut &'a [u8]) -> Option<Self> {
        Some(Self {
            key: take_field(bytes)?,
            signature: take_field(bytes)?,
            message: take_field(bytes)?,
        })
    }

    /// Appends its bytes.
    ///
    /// # Panics
    ///
    /// When a field is larger than 65,535 bytes.
    pub fn append_to(&self, bytes: &mut Vec<u8>) {
        for field in [self.key, self.signature, self.message] {
            append_field(bytes, field);
        }
    }
}

/// Takes a field off the front: its length in bytes as `u16`, little-endian, and as many
/// bytes; nothing where there are fewer.
pub fn take_field<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (field, rest) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
    *bytes = rest;
    Some(field)
}

/// Appends a field with its length before it.
///
/// # Panics
///
/// When it is larger than 65,535 bytes.
pub fn append_field(bytes: &mut Vec<u8>, field: &[u8]) {
    let Ok(length) = u16::try_from(field.len()) else {
        panic!("a field has 65,535 bytes at most");
    };
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(field);
}
