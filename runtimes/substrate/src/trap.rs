//! The executor's errors, sorted: a guest's trap or a host's failure.
//!
//! It hands on what stopped a guest as text only. The texts are Wasmtime's,
//! which are asked for here, and those of this crate's own host functions.

use crate::host::{self, OFFERED};
use crate::settings::ID;
use sc_executor_common::error::{Error as Peer, MessageWithBacktrace};
use sp_wasm_interface::wasmtime::Trap as Wasmtime;
use touchstone_executor::{Error, Result, Trap, TrapKind};

/// Begins the message of the executor's stub for an unknown import, before its name.
const MISSING: &str = "call to a missing function ";

/// The trap in the error of a call.
pub(crate) fn sort(error: Peer) -> Result<Trap> {
    match error {
        Peer::AbortedDueToTrap(MessageWithBacktrace { message, .. }) => Ok(read(message)),
        Peer::OutputExceedsBounds => Ok(TrapKind::BadResult { claim: None }.into()),
        // While the guest runs, the allocator's errors are a host function's.
        Peer::Allocator(error) => Ok(TrapKind::BadInput { reason: error.to_string() }.into()),
        other => Err(Error::runtime(ID, "call the guest")(other)),
    }
}

fn read(message: String) -> Trap {
    for (trap, kind) in [
        (Wasmtime::UnreachableCodeReached, TrapKind::Unreachable),
        (Wasmtime::MemoryOutOfBounds, TrapKind::MemoryOutOfBounds),
        (Wasmtime::TableOutOfBounds, TrapKind::TableOutOfBounds),
        (Wasmtime::IndirectCallToNull, TrapKind::BadIndirectCall),
        (Wasmtime::BadSignature, TrapKind::BadIndirectCall),
        (Wasmtime::IntegerDivisionByZero, TrapKind::DivisionByZero),
        (Wasmtime::IntegerOverflow, TrapKind::BadArithmetic),
        (Wasmtime::BadConversionToInteger, TrapKind::BadArithmetic),
        (Wasmtime::StackOverflow, TrapKind::StackOverflow),
    ] {
        if message == trap.to_string() {
            return kind.into();
        }
    }
    if let Some((module, name)) =
        message.strip_prefix(MISSING).and_then(|import| import.split_once(':'))
    {
        let (module, name) = (module.to_owned(), name.to_owned());
        return TrapKind::MissingImport { module, name }.into();
    }
    for function in OFFERED {
        if let Some(reason) = message.strip_prefix(&host::refused(function, "").to_string()) {
            return host::refused(function, reason);
        }
    }
    Trap::with_detail(TrapKind::Other, message)
}
