//! Wasmtime's errors, sorted: a guest's trap or a host's failure.

use touchstone_executor::{Error, Result, Trap, TrapKind};

/// The trap in the error of a call.
pub(crate) fn sort(id: &'static str, error: wasmtime::Error) -> Result<Trap> {
    trap(error).map_err(Error::runtime(id, "call the guest"))
}

/// The error of an instantiation; `action` is what failed if the guest did not trap.
pub(crate) fn of_instantiation(
    id: &'static str,
    action: &'static str,
    error: wasmtime::Error,
) -> Error {
    Error::of_instantiation(trap(error).map_err(Error::runtime(id, action)))
}

/// The trap in the error of a component's call. The types of its parameters were
/// checked, so what is no trap comes from the guest, too: an allocator of its own that
/// gives places outside its memory, a text that is no UTF-8.
pub(crate) fn of_component(error: wasmtime::Error) -> Trap {
    trap(error).unwrap_or_else(|error| Trap::with_detail(TrapKind::Other, format!("{error:#}")))
}

/// `true` if an error is a trap, of Wasmtime or of a host function.
pub(crate) fn is_trap(error: &wasmtime::Error) -> bool {
    error.is::<Trap>() || error.is::<wasmtime::Trap>() || error.is::<wasmtime::ThrownException>()
}

/// The trap in an error; the error itself where there is none.
fn trap(error: wasmtime::Error) -> Result<Trap, wasmtime::Error> {
    // A trap of our own host functions comes through as it was.
    let error = match error.downcast::<Trap>() {
        Ok(trap) => return Ok(trap),
        Err(error) => error,
    };
    if error.is::<wasmtime::ThrownException>() {
        return Ok(Trap::with_detail(TrapKind::Other, "uncaught exception"));
    }
    let Some(trap) = error.downcast_ref::<wasmtime::Trap>() else {
        return Err(error);
    };
    if let Some(trap) = crate::deadline::trap_by_signal() {
        return Ok(trap);
    }
    use wasmtime::Trap as W;
    let kind = match trap {
        W::UnreachableCodeReached => TrapKind::Unreachable,
        W::MemoryOutOfBounds => TrapKind::MemoryOutOfBounds,
        W::TableOutOfBounds => TrapKind::TableOutOfBounds,
        W::IndirectCallToNull | W::BadSignature => TrapKind::BadIndirectCall,
        W::IntegerDivisionByZero => TrapKind::DivisionByZero,
        W::IntegerOverflow | W::BadConversionToInteger => TrapKind::BadArithmetic,
        W::StackOverflow => TrapKind::StackOverflow,
        W::Interrupt => TrapKind::DeadlineExceeded,
        W::OutOfFuel => TrapKind::OutOfFuel,
        other => return Ok(Trap::with_detail(TrapKind::Other, other.to_string())),
    };
    Ok(kind.into())
}
