//! A pipeline of signed messages.
//!
//! A client sends messages over gRPC. A server ([`serve`]) appends them to a Redis stream, takes
//! them from there in order, signs them and passes them on through a file in shared memory
//! ([`ring`]). The verifier reads that file ([`Run`]). Each [`Kind`] of signature has its own
//! verifier.
//!
//! A kill and restart of Redis loses, doubles and reorders nothing. A message's sequence number is
//! its number in the stream, and Redis refuses a number that it has. Redis writes a message to its
//! append-only file before it answers.

mod client;
mod mapping;
mod queue;
mod redis_server;
pub mod ring;
mod run;
mod server;
mod sign;
mod signed;
mod sync;
pub mod wire;

pub use redis_server::{Missing, Program, RedisServer};
pub use run::{Counts, Handled, Outage, Outcome, Run};
pub use server::{Places, serve};
pub use sign::is_valid;
pub use signed::{Kind, Signed};
pub use wire::Message;

#[cfg(test)]
mod tests;
