//! WasmEdge's failures: a guest's trap or a host's failure.

use crate::api::Failure;
use touchstone_executor::{Error, Result, Trap, TrapKind};

/// The trap of a failed call; an error if it is no trap of the guest. `stop` is the trap that a
/// host function left.
#[cold]
pub(crate) fn sort(engine: &'static str, failure: Failure, stop: Option<Trap>) -> Result<Trap> {
    match (stop, failure.code()) {
        (Some(trap), _) => Ok(trap),
        (None, Some(code)) => match kind(code) {
            Some(kind) => Ok(kind.into()),
            None if (0x0400..0x0500).contains(&code) => {
                Ok(Trap::with_detail(TrapKind::Other, failure.to_string()))
            }
            None => Err(Error::runtime(engine, "call the guest")(failure)),
        },
        (None, None) => Err(Error::runtime(engine, "call the guest")(failure)),
    }
}

/// Codes of WasmEdge's `enum.inc`, execution phase.
fn kind(code: u32) -> Option<TrapKind> {
    Some(match code {
        0x0404 => TrapKind::DivisionByZero,
        0x0405 | 0x0406 => TrapKind::BadArithmetic,
        0x0407 | 0x040c => TrapKind::TableOutOfBounds,
        0x0408 => TrapKind::MemoryOutOfBounds,
        0x040a => TrapKind::Unreachable,
        0x040b | 0x040d | 0x0413 => TrapKind::BadIndirectCall,
        _ => return None,
    })
}
