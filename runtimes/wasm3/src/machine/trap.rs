//! Translates the end of a run of Wasm3.

use std::ffi::CStr;
use touchstone_executor::{Trap, TrapKind};
use wasm3_sys::M3Result;

/// The result of a host function that has put a trap into the state.
pub(super) static STOPPED: &CStr = c"stopped by a host function";

/// The end of a call that did not return.
pub(super) enum RunStop {
    /// By a host function; the trap is in the state.
    ByHost,
    Trap(Trap),
    /// By a failure of Wasm3, such as lazy compilation.
    Failure(String),
}

/// Translates a result that is not null.
pub(super) fn translate(result: M3Result, text: &str) -> RunStop {
    if result == STOPPED.as_ptr() {
        return RunStop::ByHost;
    }
    match kind(result) {
        Some(kind) => RunStop::Trap(kind.into()),
        None => match text.strip_prefix("[trap] ") {
            Some(text) => RunStop::Trap(Trap::with_detail(TrapKind::Other, text)),
            None => RunStop::Failure(text.to_owned()),
        },
    }
}

/// The trap of a module that cannot be loaded because a segment does not fit.
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
    // SAFETY: the string is alive and ends with a zero.
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
