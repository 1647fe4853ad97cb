//! The WebAssembly Micro Runtime (WAMR) behind Touchstone's contract: its fast interpreter.
//!
//! WAMR's interface accepts no foreign memory and resets no instance. Touchstone's memories take
//! the place of WAMR's in a structure whose layout is verified (`layout.rs`), and globals and
//! tables are restored where WAMR keeps them. The module that WAMR is given is rewritten
//! (`rewrite.rs`).

mod api;
mod engine;
mod host;
mod layout;
mod module;
mod raw;
mod reuse;
mod rewrite;
mod running;
mod trap;
mod value;

use touchstone_executor::adapter::MeasuredEngine;

pub(crate) const ID: &str = "wamr";

/// The engines of this crate.
#[must_use]
pub fn engines() -> Vec<Box<dyn MeasuredEngine>> {
    vec![Box::new(engine::Wamr::new())]
}
