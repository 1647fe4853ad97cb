//! The formats, by their names in case files.

use alloc::vec::Vec;

use serde::Deserialize;

use crate::{
    Monster, Reading, capnproto, columnar, flatbuffers, json, karmem, messagepack, protobuf,
};

/// A format that the guest `records` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Codec {
    /// Karmem v1's wire format.
    Karmem,
    /// The columnar encoding after Karmem's paper.
    Columnar,
    /// Cap'n Proto.
    CapnProto,
    /// FlatBuffers.
    FlatBuffers,
    /// JSON.
    Json,
    /// MessagePack.
    MessagePack,
    /// Protobuf.
    Protobuf,
}

impl Codec {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Karmem,
        Self::Columnar,
        Self::CapnProto,
        Self::FlatBuffers,
        Self::Json,
        Self::MessagePack,
        Self::Protobuf,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Karmem => "karmem",
            Self::Columnar => "columnar",
            Self::CapnProto => "capnproto",
            Self::FlatBuffers => "flatbuffers",
            Self::Json => "json",
            Self::MessagePack => "messagepack",
            Self::Protobuf => "protobuf",
        }
    }

    /// Monsters as a message.
    #[must_use]
    pub fn monsters(self, monsters: &[Monster]) -> Vec<u8> {
        let done = <[u8]>::to_vec;
        match self {
            Self::Karmem => karmem::encode(monsters, done),
            Self::Columnar => columnar::encode(monsters, done),
            Self::CapnProto => capnproto::encode(monsters, done),
            Self::FlatBuffers => flatbuffers::encode(monsters, done),
            Self::Json => json::encode(monsters, done),
            Self::MessagePack => messagepack::encode(monsters, done),
            Self::Protobuf => protobuf::encode(monsters, done),
        }
    }

    /// Readings as a message.
    #[must_use]
    pub fn readings(self, readings: &[Reading]) -> Vec<u8> {
        let done = <[u8]>::to_vec;
        match self {
            Self::Karmem => karmem::write(readings, done),
            Self::Columnar => columnar::write(readings, done),
            Self::CapnProto => capnproto::write(readings, done),
            Self::FlatBuffers => flatbuffers::write(readings, done),
            Self::Json => json::write(readings, done),
            Self::MessagePack => messagepack::write(readings, done),
            Self::Protobuf => protobuf::write(readings, done),
        }
    }

    /// Readings as a later version of the schema has them, with one more field. `None` where
    /// no such writer is there.
    #[must_use]
    pub fn grown_readings(self, readings: &[Reading]) -> Option<Vec<u8>> {
        match self {
            Self::Karmem => Some(karmem::write_grown(readings, <[u8]>::to_vec)),
            Self::Columnar => Some(columnar::write_grown(readings, <[u8]>::to_vec)),
            _ => None,
        }
    }
}
