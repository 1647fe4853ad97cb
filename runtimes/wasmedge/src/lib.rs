//! WasmEdge behind Touchstone's executor contract.
//!
//! Two engines: the interpreter (`wasmedge`) and code compiled ahead of time by
//! LLVM (`wasmedge_aot`). WasmEdge itself makes a new instance per call. Reuse in place, and new
//! instances in a recycled memory, map Touchstone's memory over WasmEdge's.
//!
//! The adapter works around a defect of WasmEdge 0.17: threads race when it installs and removes
//! signal handlers (`signals`). It does not work around another one: WasmEdge limits no recursion,
//! so a guest can end the process. Run guests that you do not trust on another engine, or in a
//! process that you can lose.

mod api;
mod code;
mod engine;
mod host;
mod module;
mod raw;
mod reuse;
mod rewrite;
mod running;
mod signals;
mod sizes;
mod slot;
#[doc(hidden)]
pub mod testing;
mod trap;
mod value;

use touchstone_executor::adapter::MeasuredEngine;

/// The engines of this crate.
///
/// The first call takes over WasmEdge's signal handlers, which takes about 30 ms. A handler that
/// another runtime installs in that time is lost: list the engines first.
#[must_use]
pub fn engines() -> Vec<Box<dyn MeasuredEngine>> {
    use engine::{Mode, WasmEdge};
    api::log_off();
    // Loading reports a failure.
    let _ = signals::guard("wasmedge_aot");
    vec![Box::new(WasmEdge(Mode::Interpreter)), Box::new(WasmEdge(Mode::Compiled))]
}
