//! WasmEdge behind Touchstone's executor contract.
//!
//! Two engines: the interpreter (`wasmedge`) and code compiled ahead of time by
//! LLVM (`wasmedge_aot`). A new instance each call is WasmEdge's own; reuse in
//! place, and new instances in a memory that stays, work on WasmEdge's memories,
//! which may be mapped over.
//!
//! Two things that WasmEdge 0.17 lacks are done here: compiled code traps by
//! signals whose handlers WasmEdge installs and removes in a race (`signals`), and
//! nothing limits a guest's recursion (`calls`, `rewrite`).

mod api;
mod calls;
mod code;
mod engine;
mod fresh;
mod host;
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
