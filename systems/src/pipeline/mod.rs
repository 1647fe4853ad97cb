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
