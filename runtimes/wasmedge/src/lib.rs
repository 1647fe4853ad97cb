//! WasmEdge behind Touchstone's executor contract.
//!
//! Two engines: the interpreter (`wasmedge`) and code compiled ahead of time by
//! LLVM (`wasmedge_aot`). WasmEdge itself makes a new instance per call. Reuse in place, and new
//! instances in a recycled memory, map Touchstone's memory over WasmEdge's.
//!
//! The adapter works around two defects of WasmEdge 0.17: threads race when it installs and
//! removes signal handlers (`signals`), and a guest's recursion has no limit (`calls`,
//! `rewrite`, `frames`).

mod api;
mod calls;
mod code;
mod engine;
mod frames;
mod fresh;
mod host;
mod machine_code;
mod module;
mod raw;
mod reuse;
mod rewrite;
mod running;
mod signals;
mod sizes;
mod slot;
mod snapshot;
mod stack;
#[doc(hidden)]
pub mod testing;
mod trap;

use touchstone_executor::Engine;

/// The engines of this crate.
///
/// Takes WasmEdge's signal handlers over, once for the process and for some 30 ms:
/// whoever lists the engines has not started any other runtime yet, and a handler
/// that another one installs in that time would be lost.
#[must_use]
pub fn engines() -> Vec<Box<dyn Engine>> {
    use engine::{Mode, WasmEdge};
    api::log_off();
    // Loading asks again, and reports what went wrong.
    let _ = signals::guard("wasmedge_aot");
    vec![Box::new(WasmEdge::new(Mode::Interpreter)), Box::new(WasmEdge::new(Mode::Compiled))]
}
