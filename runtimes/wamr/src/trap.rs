//! Translates WAMR's messages.

use touchstone_executor::guest::SegmentTrap;
use touchstone_executor::{Error, Result, Trap, TrapKind};

/// The message by which a host function stops the guest; the trap is in the state.
pub(crate) const STOPPED: &std::ffi::CStr = c"stopped by a host function";

/// The trap in a message of a call that ended early.
pub(crate) fn of_call(message: &str) -> Trap {
    let message = message.strip_prefix("Exception: ").unwrap_or(message);
    kind(message).map_or_else(|| Trap::with_detail(TrapKind::Other, message), Trap::new)
}

/// The error of an instantiation that failed. `first` is the trap of the module's first segment
/// that does not fit: WAMR places data before elements, others after them.
pub(crate) fn of_instantiation(message: &str, first: Option<SegmentTrap>) -> Error {
    let text = message.strip_prefix("WASM module instantiate failed: ").unwrap_or(message);
    let sorted: Result<Trap> = match kind(text) {
        Some(kind) => Ok(first.map_or(kind, TrapKind::from).into()),
        None => Err(Error::runtime(crate::ID, "instantiate the module")(text)),
    };
    Error::of_instantiation(sorted)
}

fn kind(message: &str) -> Option<TrapKind> {
    Some(match message {
        "unreachable" => TrapKind::Unreachable,
        "out of bounds memory access" => TrapKind::MemoryOutOfBounds,
        "out of bounds table access" | "undefined element" => TrapKind::TableOutOfBounds,
        "uninitialized element" | "indirect call type mismatch" => TrapKind::BadIndirectCall,
        "integer divide by zero" => TrapKind::DivisionByZero,
        "integer overflow" | "invalid conversion to integer" => TrapKind::BadArithmetic,
        "wasm operand stack overflow" | "native stack overflow" => TrapKind::StackOverflow,
        _ => return None,
    })
}
