//! The host functions of an instance.
//!
//! WasmEdge keeps a raw pointer for each host function and calls it while this side is inside a
//! call of WasmEdge's. Nothing behind the pointer is borrowed then: [`Host`] is reached through
//! that pointer only, on the one thread that runs the instance.

use crate::api;
use crate::rewrite::Added;
use crate::signals::{FaultRange, while_running};
use crate::sizes::GrownPages;
use crate::value::{from_wasmedge, to_wasmedge, types};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use touchstone_executor::adapter::{self, Clock, HostCaller, HostState};
use touchstone_executor::guest::WASM_PAGE;
use touchstone_executor::{Error, HostFunction, Result, Trap, ValueType};
use wasmedge_sys::ffi;

/// The data of one instance's host functions. It stays at its address.
pub(crate) struct Host {
    pub(crate) state: HostState,
    /// The trap by which a host function stopped the guest.
    pub(crate) stopped: Option<Trap>,
    /// When the running call has to end.
    pub(crate) clock: Clock,
    pub(crate) kept: GrownPages,
}

/// An import's answer and its data.
pub(crate) struct Import {
    /// `None` for a function of the host's own.
    function: Option<Arc<HostFunction>>,
    host: NonNull<Host>,
}

/// Adds functions for a module's imports to a collection, and returns their data.
///
/// # Safety
///
/// `host` and the result must live as long as anything that imports from the collection can be
/// called.
pub(crate) unsafe fn provide(
    engine: &'static str,
    collection: &api::Instance,
    functions: &[Arc<HostFunction>],
    added: &[Added],
    host: NonNull<Host>,
) -> Result<Box<[Import]>> {
    let guests = functions.iter().map(|function| Some(Arc::clone(function)));
    let all = guests.chain(added.iter().map(|_| None));
    let provided: Box<[Import]> = all.map(|function| Import { function, host }).collect();
    let is_timed = added.contains(&Added::Clock);
    for (index, import) in provided.iter().enumerate() {
        let i32: &[ValueType] = &[ValueType::I32];
        let (params, results, enter): (_, _, ffi::WasmEdge_HostFunc_t) = match &import.function {
            Some(function) => {
                let ty = function.signature();
                let enter = if is_timed { call::<true> } else { call::<false> };
                (types(&ty.params), types(&ty.results), Some(enter))
            }
            None => match added[index - functions.len()] {
                Added::Grow => (types(i32), types(i32), Some(grow)),
                Added::Clock => (Vec::new(), Vec::new(), Some(check_clock)),
            },
        };
        let data: *const Import = import;
        // SAFETY: all three take an `Import`, which the caller keeps alive.
        unsafe {
            collection.add_function(
                &index.to_string(),
                (&params, &results),
                enter,
                data.cast_mut().cast(),
            )
        }
        .map_err(Error::runtime(engine, "offer a host function"))?;
    }
    Ok(provided)
}

/// A guest that waits for a host function. One that is stopped by the clock is stopped here too:
/// if it mostly calls the host, it reaches few loops.
struct WaitingGuest<const TIMED: bool> {
    frame: *const ffi::WasmEdge_CallingFrameContext,
    host: NonNull<Host>,
}

impl<const TIMED: bool> WaitingGuest<TIMED> {
    /// Null where the guest has none.
    fn memory(&self) -> *mut ffi::WasmEdge_MemoryInstanceContext {
        // SAFETY: the frame is that of the running call.
        unsafe { ffi::WasmEdge_CallingFrameGetMemoryInstance(self.frame, 0) }
    }

    /// Returns the old number of pages; `None` if growth is refused.
    fn grow(&mut self, pages: u32) -> Option<u32> {
        let memory = NonNull::new(self.memory())?;
        // SAFETY: the memory is that of the waiting guest, the only one of its slot's instances,
        // and `&mut self` shows that no slice of it exists.
        unsafe {
            let host = self.host.as_ref();
            host.kept.grow(memory, pages, host.state.limits())
        }
    }
}

impl<const TIMED: bool> HostCaller for WaitingGuest<TIMED> {
    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        // SAFETY: while the guest waits, nobody else uses its memory or its state, which lie apart
        // and stay borrowed as this is.
        unsafe { (bytes(self.memory()), &mut self.host.as_mut().state) }
    }

    fn host(&mut self) -> &mut HostState {
        // SAFETY: as above.
        unsafe { &mut self.host.as_mut().state }
    }

    fn grow_memory(&mut self, pages: u32) -> bool {
        self.grow(pages).is_some()
    }

    fn check_time(&mut self) -> Result<(), Trap> {
        // SAFETY: as above.
        if TIMED { unsafe { self.host.as_ref() }.clock.check() } else { Ok(()) }
    }
}

/// Ends a host function: goes on, or stops the guest with a trap.
///
/// # Safety
///
/// The host must be that of the waiting guest, without references into it.
unsafe fn end(mut host: NonNull<Host>, ended: Result<(), Trap>) -> ffi::WasmEdge_Result {
    match ended {
        Ok(()) => ffi::WasmEdge_Result { Code: 0 },
        Err(trap) => {
            // SAFETY: as for this function.
            unsafe { host.as_mut() }.stopped = Some(trap);
            // SAFETY: makes a number.
            unsafe { ffi::WasmEdge_ResultGen(ffi::WasmEdge_ErrCategory_UserLevelError, 1) }
        }
    }
}

/// The function that WasmEdge calls for a host function.
unsafe extern "C" fn call<const TIMED: bool>(
    data: *mut c_void,
    frame: *const ffi::WasmEdge_CallingFrameContext,
    params: *const ffi::WasmEdge_Value,
    results: *mut ffi::WasmEdge_Value,
) -> ffi::WasmEdge_Result {
    // SAFETY: `provide` passed an `Import` that lives as long as this can be called.
    let Import { function, host } = unsafe { &*data.cast_const().cast::<Import>() };
    let Some(function) = function else { return ffi::WasmEdge_Result { Code: 0 } };
    let values = function.signature().params.iter().enumerate().map(|(index, ty)| {
        // SAFETY: WasmEdge gives as many values as the function's type has.
        from_wasmedge(*ty, unsafe { *params.add(index) })
    });
    // SAFETY: there is a place for each result, to which WasmEdge does not look meanwhile.
    let give = |index, value| unsafe { *results.add(index) = to_wasmedge(value) };
    let mut guest = WaitingGuest::<TIMED> { frame, host: *host };
    // A fault in here is not the guest's.
    let answer = || adapter::answer(&mut guest, function, values, give);
    let ended = while_running(FaultRange::Nothing, answer);
    // SAFETY: the host is that of the waiting guest, and the function has ended.
    unsafe { end(*host, ended) }
}

/// The function that WasmEdge calls for `memory.grow`.
unsafe extern "C" fn grow(
    data: *mut c_void,
    frame: *const ffi::WasmEdge_CallingFrameContext,
    params: *const ffi::WasmEdge_Value,
    results: *mut ffi::WasmEdge_Value,
) -> ffi::WasmEdge_Result {
    // SAFETY: `provide` passed an `Import` that lives as long as this can be called.
    let host = unsafe { (*data.cast_const().cast::<Import>()).host };
    let mut guest = WaitingGuest::<false> { frame, host };
    // SAFETY: the type has one parameter and one result.
    unsafe {
        let more = (*params).Value as u32;
        let before = while_running(FaultRange::Nothing, || guest.grow(more)).unwrap_or(u32::MAX);
        *results = ffi::WasmEdge_ValueGenI32(before.cast_signed());
    }
    ffi::WasmEdge_Result { Code: 0 }
}

/// The function that WasmEdge calls to look at the clock.
unsafe extern "C" fn check_clock(
    data: *mut c_void,
    _: *const ffi::WasmEdge_CallingFrameContext,
    _: *const ffi::WasmEdge_Value,
    _: *mut ffi::WasmEdge_Value,
) -> ffi::WasmEdge_Result {
    // SAFETY: `provide` passed an `Import` that lives, as its host does, as long as this can be
    // called. The guest waits, so nobody else uses the host.
    unsafe {
        let host = (*data.cast_const().cast::<Import>()).host;
        end(host, host.as_ref().clock.check())
    }
}

/// The content of a memory; empty if the pointer is null.
///
/// # Safety
///
/// `memory` is null or a live memory, and nothing else reads, writes, grows or remaps it while the
/// slice is used.
pub(crate) unsafe fn bytes<'a>(memory: *mut ffi::WasmEdge_MemoryInstanceContext) -> &'a mut [u8] {
    if memory.is_null() {
        return &mut [];
    }
    // SAFETY: the memory lives.
    let pages = unsafe { ffi::WasmEdge_MemoryInstanceGetPageSize(memory) };
    let length = pages as usize * WASM_PAGE;
    // SAFETY: as above; a length of zero asks for the start alone.
    let base = unsafe { ffi::WasmEdge_MemoryInstanceGetPointer(memory, 0, length as u64) };
    if base.is_null() || length == 0 {
        return &mut [];
    }
    // SAFETY: WasmEdge keeps `length` bytes behind `base` readable and writable, or readable in a
    // region, which `HostState` does not write. By the contract of this function, nothing else uses
    // them.
    unsafe { std::slice::from_raw_parts_mut(base, length) }
}
