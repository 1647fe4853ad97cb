//! Substrate's host functions and its trait `CodeExecutor` over any engine of Touchstone.
//!
//! | to | use |
//! |---|---|
//! | execute blocks and queries of a node | [`Executor`], which is a `CodeExecutor` |
//! | give guests Substrate's functions beside others | [`functions`] |
//!
//! Everything here is Apache-2.0, as are the crates of Substrate that it links. The engine, its
//! strategy and its settings are those of [`touchstone_executor`]. `docs/substrate.md` shows the
//! use in a node.

mod bridge;
#[cfg(feature = "chain")]
pub mod chain;
mod executor;
mod runtime;
mod version;

#[cfg(feature = "baseline")]
pub mod baseline;

pub use bridge::{PanicMessage, functions};
pub use executor::{Builder, Executor};
pub use runtime::{CallError, Runtime};
