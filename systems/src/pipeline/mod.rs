//! A pipeline of signed messages.
//!
//! A client sends messages over gRPC. A server ([`serve`]) puts them into a stream of
//! Redis, takes them from there in order, signs them and hands them on through a file in shared
//! memory ([`ring`]). The verifier reads that file ([`Run`]). A message is signed as its
//! [`Kind`] says, and each kind has a verifier of its own.
//!
//! Nothing is lost, doubled or reordered when Redis is killed and started again. A message has a
//! sequence number, which is its number in the stream: Redis refuses one that it has. Redis
//! writes a message to its append-only file before it answers.

mod client;
mod mapping;
mod queue;
mod redis_server;
pub mod ring;
mod run;
mod server;
mod sign;
pub mod wire;

pub use redis_server::{Missing, Program, RedisServer};
pub use run::{Counts, Handled, Outage, Outcome, Run};
pub use server::{Places, serve};
pub use sign::is_valid;
pub use wire::Message;

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

    /// The kind with a number.
    #[must_use]
    pub fn numbered(number: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u64 == number)
    }
}

/// A signed message, as the verifier gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// Its place in the order of sending, from 0.
    pub sequence: u64,
    /// How it is signed.
    pub kind: Kind,
    /// Key, signature and message: the bytes of a [`signatures::Entry`].
    pub entry: Vec<u8>,
}

#[cfg(test)]
mod tests;
