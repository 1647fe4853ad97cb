//! Wasmtime's errors, sorted: a guest's trap or a host's failure.

use touchstone_executor::{Error, Result, Trap, TrapKind};

/// What a call's error means.
///
/// # Errors
///
/// When it is no trap of the guest.
pub(crate) fn sort(id: &'static str, error: wasmtime::Error) -> Result<Trap> {
    // A trap of our own host functions comes through as it was.
    let error = match error.downcast::<Trap>() {
        Ok(trap) => return Ok(trap),
        Err(error) => error,
    };
    let Some(trap) = error.downcast_ref::<wasmtime::Trap>() else {
        return Err(Error::runtime(id, "call the guest")(error));
    };
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
        other => return Ok(Trap::with_detail(TrapKind::Other, other.to_string())),
    };
    Ok(kind.into())
}
