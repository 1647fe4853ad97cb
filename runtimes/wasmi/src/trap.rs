//! Translates traps: Touchstone's through wasmi, and wasmi's own.

use std::fmt;
use touchstone_executor::{Error, Result, Trap, TrapKind};
use wasmi::TrapCode;
use wasmi::errors::{ErrorKind, InstantiationError};

/// A trap of Touchstone's inside wasmi's error type.
#[derive(Debug)]
struct Carried(Trap);

impl fmt::Display for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl wasmi::errors::HostError for Carried {}

/// A trap as an error that a host function can return to wasmi.
pub(crate) fn carry(trap: impl Into<Trap>) -> wasmi::Error {
    wasmi::Error::host(Carried(trap.into()))
}

/// The trap in an error of wasmi. An error that is no trap is a failure: lazy translation can fail
/// during a call.
pub(crate) fn find(
    engine: &'static str,
    action: &'static str,
    error: wasmi::Error,
) -> Result<Trap> {
    if let Some(Carried(trap)) = error.downcast_ref() {
        return Ok(trap.clone());
    }
    // wasmi has no code for this trap.
    if let ErrorKind::Instantiation(InstantiationError::ElementSegmentDoesNotFit { .. }) =
        error.kind()
    {
        return Ok(TrapKind::TableOutOfBounds.into());
    }
    use TrapCode::*;
    let Some(code) = error.as_trap_code() else {
        return Err(Error::runtime(engine, action)(error));
    };
    let kind = match code {
        UnreachableCodeReached => TrapKind::Unreachable,
        MemoryOutOfBounds => TrapKind::MemoryOutOfBounds,
        TableOutOfBounds => TrapKind::TableOutOfBounds,
        IndirectCallToNull | BadSignature => TrapKind::BadIndirectCall,
        IntegerDivisionByZero => TrapKind::DivisionByZero,
        IntegerOverflow | BadConversionToInteger => TrapKind::BadArithmetic,
        StackOverflow => TrapKind::StackOverflow,
        // Only a deadline turns fuel on.
        OutOfFuel => TrapKind::DeadlineExceeded,
        GrowthOperationLimited | OutOfSystemMemory => {
            return Ok(Trap::with_detail(TrapKind::Other, code.trap_message()));
        }
    };
    Ok(kind.into())
}
