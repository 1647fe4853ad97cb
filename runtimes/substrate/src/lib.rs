//! Substrate's own executor behind Touchstone's executor contract: a peer for comparisons.
//!
//! `sc-executor-wasmtime` is used as published, at its best settings. Its
//! [`WasmInstance::call_export`] makes an instance, places the input, calls, fetches the output and
//! drops the instance, so `invoke` contains the whole time of a call. The executor supports only
//! Substrate's convention, and only modules of WebAssembly's first version (with mutable globals).
//!
//! # Licence
//!
//! `sc-executor-wasmtime` and `sc-executor-common` are licensed as GPL-3.0-or-later WITH
//! Classpath-exception-2.0. The exception allows linking them with code under any licence. A
//! distributor of a binary with this crate must offer the source of those two. They also bring 250
//! crates and a second Wasmtime, so this crate is built only with the feature `substrate`.
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

use touchstone_executor::adapter::MeasuredEngine;

/// The engines of this crate.
#[must_use]
pub fn engines() -> Vec<Box<dyn MeasuredEngine>> {
    vec![Box::new(engine::Substrate)]
}
