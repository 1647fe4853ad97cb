//! Messages for the guest `records`: the same records as the guest makes from the same
//! numbers, in each of its formats.

use records_payload::{batch, flatbuffers, json, karmem};
use serde::Deserialize;

/// A format that the guest reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Codec {
    /// Karmem v1's wire format.
    Karmem,
    /// FlatBuffers.
    FlatBuffers,
    /// JSON.
    Json,
}

/// Monsters as a message.
pub(super) fn monsters(codec: Codec, count: usize, points: usize, seed: u64) -> Vec<u8> {
    let monsters = records_payload::monsters(count, points, seed);
    match codec {
        Codec::Karmem => karmem::encode(&monsters, <[u8]>::to_vec),
        Codec::FlatBuffers => flatbuffers::encode(&monsters, <[u8]>::to_vec),
        Codec::Json => json::encode(&monsters, <[u8]>::to_vec),
    }
}

/// Readings as a message.
pub(super) fn readings(codec: Codec, count: usize, seed: u64) -> Vec<u8> {
    let readings = batch(count, seed);
    match codec {
        Codec::Karmem => karmem::write(&readings, <[u8]>::to_vec),
        Codec::FlatBuffers => flatbuffers::write(&readings, <[u8]>::to_vec),
        Codec::Json => json::write(&readings, <[u8]>::to_vec),
    }
}
