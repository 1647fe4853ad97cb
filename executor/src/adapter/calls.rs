//! Host functions as a guest calls them.

use crate::host::HostState;
use crate::{HostCall, HostFunction, HostPanic, Signature, Trap, TrapKind, Value};
use std::mem::MaybeUninit;
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

    /// Stops a guest whose time is over. A runtime that stops guests elsewhere does without. The
    /// error is the trap of the deadline.
    #[inline]
    fn check_time(&mut self) -> Result<(), Trap> {
        Ok(())
    }
}

/// Parameters and results of a call that need no allocation.
const INLINE: usize = 8;

/// Calls a host function. `params` are values of its types, `give` gets each result with its place.
/// No panic leaves it. The error is the function's trap, or that of the guest's deadline.
#[inline]
pub fn answer(
    guest: &mut impl HostCaller,
    function: &HostFunction,
    params: impl IntoIterator<Item = Value>,
    give: impl FnMut(usize, Value),
) -> Result<(), Trap> {
    let Signature { params: types, results } = function.signature();
    let all = types.len() + results.len();
    if all > INLINE {
        return answer_many(guest, function, params, give);
    }
    // Filled in their place, and only as far as needed: a call takes a few nanoseconds.
    let mut places = [const { MaybeUninit::uninit() }; INLINE];
    let mut given = 0;
    if all > 0 {
        let (params_places, results_places) = places.split_at_mut(types.len());
        params.into_iter().for_each(|value| {
            if let Some(place) = params_places.get_mut(given) {
                place.write(value);
            }
            given += 1;
        });
        for place in params_places.iter_mut().skip(given) {
            place.write(Value::I32(0));
        }
        for (place, ty) in results_places.iter_mut().zip(results) {
            place.write(Value::zero(*ty));
        }
    }
    // SAFETY: the first of them, one for each parameter and result, are filled.
    let values = unsafe { &mut *(&raw mut places[..all] as *mut [Value]) };
    let (params, results) = values.split_at_mut(types.len());
    // A function that gets another number of values sees none, and refuses the call.
    let seen = if given == types.len() { given } else { 0 };
    run(guest, function, (&mut params[..seen], results), give)
}

/// The same with more values than usual.
#[cold]
fn answer_many(
    guest: &mut impl HostCaller,
    function: &HostFunction,
    params: impl IntoIterator<Item = Value>,
    mut give: impl FnMut(usize, Value),
) -> Result<(), Trap> {
    let mut values: Vec<Value> = params.into_iter().collect();
    let count = values.len();
    values.extend(function.signature().results.iter().map(|ty| Value::zero(*ty)));
    // Code of its own, so that of few values is not divided.
    let give: &mut dyn FnMut(usize, Value) = &mut give;
    run(guest, function, values.split_at_mut(count), give)
}

#[inline]
fn run(
    guest: &mut impl HostCaller,
    function: &HostFunction,
    (params, results): (&mut [Value], &mut [Value]),
    mut give: impl FnMut(usize, Value),
) -> Result<(), Trap> {
    let mut call = HostCall::new(guest, function, params, results);
    // Boxed, because the result of code that may panic is moved.
    let ended = catch_unwind(AssertUnwindSafe(|| function.run(&mut call).map_err(Box::new)));
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(trap)) => return Err(*trap),
        Err(panic) => return Err(panicked(function, panic)),
    }
    for (place, result) in results.iter().enumerate() {
        give(place, *result);
    }
    guest.check_time()
}

/// The trap that carries a panic through a runtime. [`invoke`](super::invoke) makes an
/// error of the host of it.
#[cold]
fn panicked(function: &HostFunction, panic: Box<dyn std::any::Any + Send>) -> Trap {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let message = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    // What was thrown may panic again when it is dropped.
    std::mem::forget(panic);
    let (module, name) = (function.module().to_owned(), function.name().to_owned());
    TrapKind::HostPanic(Box::new(HostPanic { module, name, message })).into()
}
