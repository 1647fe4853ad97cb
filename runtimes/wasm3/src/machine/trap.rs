//! How a run of Wasm3 ended, in this project's words.

use std::ffi::CStr;
use touchstone_executor::{Trap, TrapKind};
use wasm3_sys::M3Result;

/// What a host function returns to Wasm3 after it left its trap with the state.
pub(super) static STOPPED: &CStr = c"stopped by a host function";

/// How a call ended that did not return.
pub(super) enum Stop {
    /// A host function stopped it; the trap lies with the state.
    ByHost,
    /// The guest trapped.
    Trap(Trap),
    /// Wasm3 failed: lazy compilation, for instance, can fail in a call.
    Failure(String),
}

/// What a result that is not null means.
pub(super) fn translate(result: M3Result, text: &str) -> Stop {
    if result == STOPPED.as_ptr() {
        return Stop::ByHost;
    }
    match kind(result) {
        Some(kind) => Stop::Trap(kind.into()),
        None => match text.strip_prefix("[trap] ") {
            Some(text) => Stop::Trap(Trap::with_detail(TrapKind::Other, text)),
            None => Stop::Failure(text.to_owned()),
        },
    }
}

/// The trap of a module that cannot be loaded because a segment does not fit. Wasm3 takes the
/// offset of data as a number with a sign: behind 2 GiB no data fits for it.
pub(super) fn of_segment(text: &str) -> Option<TrapKind> {
    match text {
        "data segment out of bounds" => Some(TrapKind::MemoryOutOfBounds),
        "table underflow" | "out of bounds table access" => Some(TrapKind::TableOutOfBounds),
        _ => None,
    }
}

/// Wasm3's words for a result that is not null.
///
/// # Safety
///
/// The string must end with a zero and live for the time of the call.
pub(super) unsafe fn text(result: M3Result) -> String {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(result) }.to_string_lossy().into_owned()
}

fn kind(result: M3Result) -> Option<TrapKind> {
    // SAFETY: Wasm3 never writes these constants.
    let kinds = unsafe {
        [
            (wasm3_sys::m3Err_trapUnreachable, TrapKind::Unreachable),
            (wasm3_sys::m3Err_trapOutOfBoundsMemoryAccess, TrapKind::MemoryOutOfBounds),
            (wasm3_sys::m3Err_trapTableIndexOutOfRange, TrapKind::TableOutOfBounds),
            (wasm3_sys::m3Err_trapTableOutOfBounds, TrapKind::TableOutOfBounds),
            (wasm3_sys::m3Err_trapTableElementIsNull, TrapKind::BadIndirectCall),
            (wasm3_sys::m3Err_trapIndirectCallTypeMismatch, TrapKind::BadIndirectCall),
            (wasm3_sys::m3Err_trapDivisionByZero, TrapKind::DivisionByZero),
            (wasm3_sys::m3Err_trapIntegerOverflow, TrapKind::BadArithmetic),
            (wasm3_sys::m3Err_trapIntegerConversion, TrapKind::BadArithmetic),
            (wasm3_sys::m3Err_trapStackOverflow, TrapKind::StackOverflow),
        ]
    };
    kinds.into_iter().find(|(known, _)| *known == result).map(|(_, kind)| kind)
}
