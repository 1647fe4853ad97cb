//! Traps: the host's on their way through tinywasm, and tinywasm's as a `TrapKind`.

use crate::engine::ID;
use tinywasm::{Error as Inner, Trap as InnerTrap};
use touchstone_executor::{Error, Result, Trap, TrapKind};

/// A trap as an error that a host function can return to tinywasm.
pub(crate) fn carry(trap: impl Into<Trap>) -> Inner {
    Inner::Trap(InnerTrap::HostFunction(Box::new(trap.into())))
}

/// The trap in the error of a call.
pub(crate) fn sort(error: Inner) -> Result<Trap> {
    let trap = match error {
        Inner::Trap(trap) => trap,
        other => return Err(Error::runtime(ID, "run the guest")(other)),
    };
    let detail = trap.to_string();
    let kind = match trap {
        InnerTrap::HostFunction(error) => return from_host(error),
        InnerTrap::Unreachable => TrapKind::Unreachable,
        InnerTrap::MemoryOutOfBounds { .. } => TrapKind::MemoryOutOfBounds,
        InnerTrap::TableOutOfBounds { .. } | InnerTrap::UndefinedElement { .. } => {
            TrapKind::TableOutOfBounds
        }
        InnerTrap::UninitializedElement { .. } | InnerTrap::IndirectCallTypeMismatch { .. } => {
            TrapKind::BadIndirectCall
        }
        InnerTrap::DivisionByZero => TrapKind::DivisionByZero,
        InnerTrap::IntegerOverflow | InnerTrap::InvalidConversionToInt => TrapKind::BadArithmetic,
        InnerTrap::CallStackOverflow | InnerTrap::ValueStackOverflow => TrapKind::StackOverflow,
        InnerTrap::InvalidStore => return Err(Error::runtime(ID, "run the guest")(detail)),
        _ => return Ok(Trap::with_detail(TrapKind::Other, detail)),
    };
    Ok(kind.into())
}

/// The error of an instantiation, before its start function runs: a segment does not fit, or
/// tinywasm failed.
pub(crate) fn of_instantiation(error: Inner) -> Error {
    use InnerTrap::{MemoryOutOfBounds, TableOutOfBounds};
    match error {
        error @ Inner::Trap(MemoryOutOfBounds { .. } | TableOutOfBounds { .. }) => {
            Error::of_instantiation(sort(error))
        }
        other => Error::runtime(ID, "instantiate the module")(other),
    }
}

/// tinywasm wraps what a host function returns once more.
fn from_host(error: Box<dyn std::error::Error + Send + Sync>) -> Result<Trap> {
    let error = match error.downcast::<Trap>() {
        Ok(trap) => return Ok(*trap),
        Err(error) => error,
    };
    match error.downcast::<Inner>() {
        Ok(inner) => sort(*inner),
        Err(error) => Err(Error::runtime(ID, "call a host function")(error)),
    }
}
