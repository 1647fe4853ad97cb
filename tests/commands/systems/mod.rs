//! The systems built on executors.

mod fan_out;
mod node;
mod pipeline;
mod requests;
#[cfg(feature = "wasmtime")]
mod serve;
