//! The messages of the gRPC service, and the service itself.

pub use generated::signing_client::SigningClient;
pub use generated::signing_server::{Signing, SigningServer};

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Message {
    /// Place in the order of sending, from 0.
    #[prost(uint64, tag = "1")]
    pub sequence: u64,
    /// A [`Kind`](super::Kind) as a number.
    #[prost(uint32, tag = "2")]
    pub kind: u32,
    #[prost(bytes = "vec", tag = "3")]
    pub text: Vec<u8>,
    /// `true` to flip a bit of the signature, which the verifier must refuse.
    #[prost(bool, tag = "4")]
    pub tampered: bool,
}

/// All messages below this sequence number are queued.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Accepted {
    #[prost(uint64, tag = "1")]
    pub next: u64,
}

#[allow(missing_docs, unreachable_pub, clippy::all, reason = "generated")]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/touchstone.pipeline.Signing.rs"));
}
