//! The same records in seven formats: made from a seed, encoded, decoded into owned
//! values, and summed without that where the format allows it.
//!
//! Whatever a message says, no more is read, allocated or done than its length allows:
//! formats with offsets can say that many things are the same bytes, and a message that
//! says more bytes than it has is refused.

#![no_std]

extern crate alloc;

mod budget;
pub mod capnproto;
mod checksum;
mod codec;
pub mod columnar;
pub mod flatbuffers;
#[allow(
    dead_code,
    missing_docs,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "made by planus-cli, and sound where planus is"
)]
#[rustfmt::skip]
mod generated;
pub mod json;
pub mod karmem;
mod make;
pub mod messagepack;
mod model;
pub mod protobuf;
#[allow(
    dead_code,
    missing_docs,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "made by capnpc-rust, and sound where capnp is"
)]
#[rustfmt::skip]
mod records_capnp;

use core::fmt;

pub use checksum::{encoded, encoded_all};
pub use codec::Codec;
pub use generated::records::{Color, Reading, Team, Vec3, Weapon};
pub use make::{batch, monsters};
pub use model::{Monster, Stats, Summary, decoded, decoded_all};

/// Why a message was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// It is not in its format, or ends early.
    Format,
    /// A text is no UTF-8, or a number stands for nothing.
    Value,
    /// Its parts are larger together than all of it.
    Overlapping,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Format => "the message is not in its format, or ends early",
            Self::Value => "the message has a value that its schema does not have",
            Self::Overlapping => "the message's parts are larger together than all of it",
        })
    }
}

impl core::error::Error for Malformed {}
