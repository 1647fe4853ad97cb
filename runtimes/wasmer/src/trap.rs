//! Wasmer's errors, sorted: a guest's trap or a host's failure.

use crate::settings::ID;
use touchstone_executor::{Error, Result, Trap, TrapKind};
use wasmer::RuntimeError;
use wasmer::sys::vm::TrapCode;

/// The trap in the error of a call.
pub(crate) fn sort(error: RuntimeError) -> Result<Trap> {
    let error = match error.downcast::<Trap>() {
        Ok(trap) => return Ok(trap),
        Err(error) => error,
    };
    let message = error.message();
    let Some(code) = error.to_trap() else {
        return Err(Error::runtime(ID, "call the guest")(message));
    };
    let kind = match code {
        TrapCode::UnreachableCodeReached => TrapKind::Unreachable,
        TrapCode::HeapAccessOutOfBounds => TrapKind::MemoryOutOfBounds,
        TrapCode::TableAccessOutOfBounds => TrapKind::TableOutOfBounds,
        TrapCode::IndirectCallToNull | TrapCode::BadSignature => TrapKind::BadIndirectCall,
        TrapCode::IntegerDivisionByZero => TrapKind::DivisionByZero,
        TrapCode::IntegerOverflow | TrapCode::BadConversionToInteger => TrapKind::BadArithmetic,
        TrapCode::StackOverflow => TrapKind::StackOverflow,
        _ => return Ok(Trap::with_detail(TrapKind::Other, message)),
    };
    Ok(kind.into())
}
