//! The executor contract of Touchstone, and what every backend shares.
//!
//! A backend is an [`Engine`]. It turns a [`guest::GuestModule`] into an
//! [`Artifact`], an artifact into a [`Module`] under one [`Strategy`], and a
//! module into [`Instance`]s. An instance makes calls, each of them on a state
//! that cannot be told from a brand-new instance: `prepare`, `invoke`,
//! `finish`.
//!
//! This crate knows no backend. It owns what all of them need: the guests'
//! calling conventions ([`abi`]), the host functions ([`host`]) and the host's
//! allocator ([`heap`]), the look into a module and its rewriting ([`guest`]),
//! the memory image and its resets ([`memory`]), and a [`mock`] engine to test
//! a harness with.

pub mod abi;
mod code;
mod config;
mod contract;
pub mod driver;
mod error;
mod folder;
pub mod guest;
pub mod heap;
pub mod host;
pub mod memory;
pub mod mock;
mod outcome;
mod padded;
mod pool;
pub mod probe;
mod shelf;
mod signature;
mod strategy;
mod support;

pub use code::CompiledCode;
pub use config::{Config, EffectiveConfig};
pub use contract::{
    Artifact, CallState, Engine, Execution, ExportId, Exports, Instance, Module, RawCall, RawCaller,
};
pub use error::{Error, Result, near};
pub use folder::{ArtifactFolder, ArtifactKey};
pub use outcome::{Claim, Outcome, Trap, TrapKind};
pub use padded::Padded;
pub use pool::WithPool;
pub use signature::{Signature, Value, ValueType};
pub use strategy::{CodeFrom, InstanceFrom, MemoryFrom, Owner, ParseStrategyError, Strategy};
pub use support::Support;
