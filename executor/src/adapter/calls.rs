//! Host functions as a guest calls them.

use crate::guest::FunctionImport;
use crate::host::{Answer, HostFunction, HostState, Parameters};
use crate::outcome::{Trap, TrapKind};

/// A guest that waits for a host function.
pub trait HostCaller {
    /// Its memory, which is empty if it has none, and the host's state.
    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState);

    /// Grows the memory; `false` if the runtime refuses.
    fn grow_memory(&mut self, pages: u32) -> bool;

    /// Stops a guest whose time is over. A runtime that stops guests elsewhere does without.
    ///
    /// # Errors
    ///
    /// The trap of the deadline.
    #[inline]
    fn check_time(&mut self) -> Result<(), Trap> {
        Ok(())
    }
}

/// The host function of an import, or the trap of a stub for it.
///
/// # Errors
///
/// [`TrapKind::MissingImport`].
pub fn host_function(import: &FunctionImport) -> Result<HostFunction, Trap> {
    let FunctionImport { module, name, signature } = import;
    let found = signature.as_ref().and_then(|ty| HostFunction::find(module, name, ty));
    found.ok_or_else(|| {
        let (module, name) = (module.clone(), name.clone());
        TrapKind::MissingImport { module, name }.into()
    })
}

/// Answers a host function over the guest's memory, which grows if the answer needs room. The
/// result is zero-extended, and 0 where there is none.
///
/// # Errors
///
/// When the function refuses its parameters, the memory cannot grow, or the guest's time is over.
#[inline]
pub fn answer(
    guest: &mut impl HostCaller,
    function: HostFunction,
    parameters: &Parameters,
) -> Result<u64, Trap> {
    loop {
        let (memory, host) = guest.memory_and_host();
        match host.answer(function, memory, parameters)? {
            Answer::Result(result) => return guest.check_time().map(|()| result),
            Answer::NeedsMemory { pages } if guest.grow_memory(pages) => {}
            Answer::NeedsMemory { pages } => return Err(function.full(pages)),
        }
    }
}
