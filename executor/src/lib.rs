//! Clean instances of WebAssembly modules for a host, on any engine and by any strategy.
//!
//! # In a host
//!
//! An [`Engine`] turns a [`guest::GuestModule`] into an [`Artifact`], an artifact into a [`Module`]
//! under one [`Strategy`], and a module into [`Instance`]s. Each call of an instance sees the state
//! of a brand-new one. Backends are crates of their own: `touchstone-runtimes` lists those of its
//! features, [`touchstone_runtimes::engines`](https://docs.rs/touchstone-runtimes).
//!
//! ```no_run
//! use touchstone_executor::guest::{GuestModule, HeapPages};
//! use touchstone_executor::*;
//!
//! // Of `touchstone_runtimes::engines()`, for instance the one whose `id()` is `wasmtime`.
//! fn greet(engine: &dyn Engine, wasm: &[u8]) -> Result<()> {
//!     // Functions that the guest imports.
//!     let mut functions = Functions::standard();
//!     functions.wrap("host", "add", |_: &mut HostCall<'_>, a: i32, b: i32| Ok(a.wrapping_add(b)));
//!     let config = Config { functions, ..Config::default() };
//!     // Once: compile, load, look up the export.
//!     let strategy = Strategy::TRACKED;
//!     let guest = GuestModule::new("plug-in", wasm, HeapPages::default())?;
//!     let artifact = engine.compile(&guest, strategy, &config)?;
//!     let module = engine.load(&guest, &artifact, strategy, &config)?;
//!     let f = TypedExport::<(i32,), i32>::of(&guest, &*module, "f")?;
//!     // On each thread: an instance.
//!     let mut instance = module.new_instance()?;
//!     for number in 0..3 {
//!         match f.call(&mut *instance, (number,))? {
//!             Ok(result) => println!("{result}"),
//!             Err(trap) => println!("the guest trapped: {trap}"),
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! | to | use |
//! |---|---|
//! | define host functions, state of an instance | [`Functions`], [`HostCall`], [`State`] |
//! | lend a value to the host functions of one call | [`CallOptions`], [`Context`], [`ContextKind`] |
//! | limit or interrupt a call | [`Limits`], [`InterruptHandle`] |
//! | call with values | [`TypedExport`], [`Export`] |
//! | call with bytes, in a calling convention | [`Instance::call`], [`Abi`] |
//! | serve keys and values by Substrate's functions | [`storage`] |
//! | run programs of WASI | [`wasi`] |
//! | call guests of waPC, answer their calls | [`wapc`] |
//! | map files to guests, keep artifacts | [`memory::Region`], [`ArtifactFolder`] |
//!
//! A call ends with an [`Outcome`]: the guest returned or trapped. An [`Error`] is a failure of the
//! host.
//!
//! Hosts need neither [`adapter`], the parts of backends, nor [`harness`], which measures and
//! checks engines.

mod abi;
pub mod adapter;
mod artifact;
mod call;
mod config;
mod contract;
mod error;
mod folder;
mod functions;
pub mod harness;
mod heap;
mod host;
mod measured;
mod outcome;
mod pool;
mod probe;
mod scratch;
pub mod storage;
mod strategy;
mod support;
#[cfg(test)]
mod test_support;
mod typed;
pub mod wapc;
pub mod wasi;

pub use abi::Abi;
pub use artifact::Artifact;
pub use call::{CallOptions, Context, ContextKind, InterruptHandle, Limits};
pub use config::{Config, EffectiveConfig};
pub use contract::{Capabilities, Engine, Execution, ExportId, Instance, Module};
pub use error::{Error, Result};
pub use folder::ArtifactFolder;
pub use functions::{
    Functions, HostCall, HostClosure, HostFunction, HostValue, HostValues, Imports, State,
};
pub use host::{LogSink, Stream, StreamSink};
pub use outcome::{Claim, HostPanic, Outcome, Trap, TrapKind};
pub use strategy::{CodeFrom, InstanceFrom, MemoryFrom, Owner, ParseStrategyError, Strategy};
pub use support::Support;
pub use touchstone_guest as guest;
pub use touchstone_guest::{Feature, Features, Reference, Signature, Value, ValueType};
pub use touchstone_memory as memory;
pub use typed::{Export, TypedExport};

use touchstone_guest::text;
