//! The systems built on executors.

mod fan_out;
#[cfg(feature = "wasmtime")]
mod host;
#[cfg(feature = "wasmtime")]
mod hostile_clients;
mod node;
mod pipeline;
mod requests;
#[cfg(feature = "wasmtime")]
mod serve;
#[cfg(feature = "wasmtime")]
mod serve_files;
