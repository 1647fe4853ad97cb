//! Host functions as a guest calls them.

use crate::Value;
use crate::functions::{HostCall, HostFunction};
use crate::host::HostState;
use crate::outcome::{Trap, TrapKind};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A guest that waits for a host function.
pub trait HostCaller {
    /// Its memory, which is empty if it has none, and the host's state.
    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState);

    /// The host's state alone.
    fn host(&mut self) -> &mut HostState {
        self.memory_and_host().1
    }

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

/// Values of a call: few enough that they rarely need an allocation.
pub type Values = SmallVec<[Value; 4]>;

/// Calls a host function. `params` are values of its types, `give` gets each result with its place.
/// No panic leaves it.
///
/// # Errors
///
/// The function's trap, or that of the guest's deadline.
#[inline]
pub fn answer(
    guest: &mut impl HostCaller,
    function: &HostFunction,
    params: impl IntoIterator<Item = Value>,
    give: impl FnMut(usize, Value),
) -> Result<(), Trap> {
    answer_values(guest, function, params.into_iter().collect(), give)
}

/// The same with values that are collected already.
///
/// # Errors
///
/// Those of [`answer`].
#[inline]
pub fn answer_values(
    guest: &mut impl HostCaller,
    function: &HostFunction,
    mut values: Values,
    mut give: impl FnMut(usize, Value),
) -> Result<(), Trap> {
    let count = values.len();
    values.extend(function.signature().results.iter().map(|ty| Value::zero(*ty)));
    let (params, results) = values.split_at_mut(count);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        function.run(&mut HostCall::new(guest, function, params, results))
    }));
    ended.unwrap_or_else(|panic| Err(panicked(function, panic)))?;
    for (place, result) in results.iter().enumerate() {
        give(place, *result);
    }
    guest.check_time()
}

/// The trap that carries a panic through a runtime. [`abi::invoke`](crate::abi::invoke) makes an
/// error of the host of it.
#[cold]
fn panicked(function: &HostFunction, panic: Box<dyn std::any::Any + Send>) -> Trap {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let message = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    // What was thrown may panic again when it is dropped.
    std::mem::forget(panic);
    let (module, name) = (function.module().to_owned(), function.name().to_owned());
    TrapKind::HostPanic { module, name, message }.into()
}
