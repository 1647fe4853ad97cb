//! Westend's runtime with two more exports, which Substrate's benchmark of executors added to
//! Kusama's. Their source is that of the guests `test-runtime` and `large-runtime`.
#![no_std]
#![allow(dead_code, reason = "the two exports use a part of what guests share")]

extern crate alloc;
// Its exports and custom sections.
extern crate westend_runtime;

#[path = "../../../../test-runtime/guest-support/src/call.rs"]
mod call;
#[path = "../../../../test-runtime/guest-support/src/dirty.rs"]
mod dirty;
#[path = "../../../../test-runtime/guest-support/src/memory.rs"]
mod memory;

use call::{Output, u32_at};

/// Does nothing.
// SAFETY: the runtime has no other symbol with this name.
#[unsafe(no_mangle)]
extern "C" fn test_empty_return(_: u32, _: u32) -> u64 {
    Output::EMPTY.packed()
}

/// Writes zeros to host pages. See [`dirty::dirty`].
// SAFETY: the runtime has no other symbol with this name.
#[unsafe(no_mangle)]
extern "C" fn test_dirty_plenty_memory(pointer: u32, length: u32) -> u64 {
    // SAFETY: the host places this input there and leaves it alone until the call returns.
    let input = unsafe { call::input(pointer, length) };
    dirty::dirty(input, 0).packed()
}
