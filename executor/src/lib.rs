//! The executor contract of Touchstone, and the code that all backends share.
//!
//! A backend is an [`Engine`]. It turns a [`guest::GuestModule`] into an
//! [`Artifact`], an artifact into a [`Module`] under one [`Strategy`], and a
//! module into [`Instance`]s. An instance makes calls in three steps: `prepare`,
//! `invoke`, `finish`. Each call sees the state of a brand-new instance.
//!
//! This crate depends on no backend. It contains the parts of backends ([`adapter`]), the guests'
//! calling conventions ([`abi`]), the host functions ([`host`], [`wasi`], [`storage`]), the host's
//! allocator ([`heap`]), the inspection and rewriting of modules ([`guest`]), the memory image and
//! its resets ([`memory`]), files [`beneath`] a folder, and a [`mock`] engine for tests of a
//! harness.

pub mod abi;
pub mod adapter;
mod artifact;
pub mod beneath;
mod call;
mod code;
mod config;
mod contract;
mod error;
mod folder;
mod functions;
pub mod heap;
pub mod host;
mod measured;
pub mod mock;
mod outcome;
mod pool;
pub mod probe;
pub mod scratch;
pub mod storage;
mod strategy;
mod support;
#[cfg(test)]
mod test_support;
mod typed;
pub mod wasi;

pub use artifact::Artifact;
pub use call::{CallOptions, Context, ContextKind, EnforcedLimits, InterruptHandle, Limits};
pub use code::CompiledCode;
pub use config::{Config, EffectiveConfig};
pub use contract::{
    CallState, Capabilities, Engine, Execution, ExportId, Exports, Instance, Module,
};
pub use error::{Error, Result};
pub use folder::{ArtifactFolder, ArtifactKey};
pub use functions::{
    Functions, HostCall, HostClosure, HostFunction, HostValues, HostValue, Imports, State,
};
pub use measured::{MeasuredEngine, RawCall, RawCaller};
pub use outcome::{Claim, Outcome, Trap, TrapKind};
pub use scratch::Scratch;
pub use strategy::{CodeFrom, InstanceFrom, MemoryFrom, Owner, ParseStrategyError, Strategy};
pub use support::Support;
pub use typed::{Export, TypedExport};
pub use touchstone_guest as guest;
pub use touchstone_guest::text;
pub use touchstone_guest::{Feature, Features, Reference, Signature, Value, ValueType};
pub use touchstone_memory as memory;
pub use touchstone_memory::Padded;
