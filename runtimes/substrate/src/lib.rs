//! Substrate's own executor behind Touchstone's executor contract: the peer that
//! this project's strategies are held against.
//!
//! `sc-executor-wasmtime` is used as it is published, at its best settings. It
//! makes an instance, places the input, calls, fetches the output and drops the
//! instance in one step, [`WasmInstance::call_export`], so that `invoke` has all
//! of a call's time and `prepare` and `finish` have none. Only Substrate's
//! convention can be called, and only modules of WebAssembly's first version
//! (with mutable globals) are taken.
//!
//! # Licence
//!
//! `sc-executor-wasmtime` and `sc-executor-common` are licensed as
//! GPL-3.0-or-later WITH Classpath-exception-2.0. The exception allows linking
//! them with code under any licence; whoever passes on a binary with this crate
//! in it also owes the recipients the source of those two. Therefore, and because
//! they bring 250 crates and a Wasmtime of their own, this crate is built only
//! where the feature `substrate` is asked for.
//!
//! [`WasmInstance::call_export`]: sc_executor_common::wasm_runtime::WasmInstance::call_export

mod code;
mod engine;
mod host;
mod module;
mod probe;
mod refusal;
mod settings;
mod trap;

use touchstone_executor::Engine;

/// The engines of this crate.
#[must_use]
pub fn engines() -> Vec<Box<dyn Engine>> {
    vec![Box::new(engine::Substrate)]
}
