//! The host functions of a machine, and values in the slots of its stack.

use super::layout::Runtime;
use super::lent::Lent;
use super::trap::STOPPED;
use crate::module::SharedModule;
use std::ffi::c_void;
use std::sync::Arc;
use touchstone_executor::adapter::{self, Clock, HostCaller, HostState};
use touchstone_executor::guest::WASM_PAGE;
use touchstone_executor::{HostFunction, Reference, Signature, Trap, Value, ValueType};
use wasm3_sys as ffi;

unsafe extern "C" {
    /// `m3_env.h`: what `memory.grow` does. Null when it is done.
    fn ResizeMemory(runtime: *mut Runtime, pages: u32) -> ffi::M3Result;
}

/// The user data of a runtime, for the host functions.
pub(super) struct MachineState {
    pub(super) host: HostState,
    /// Owns the host functions, and the bytes of the module.
    pub(super) shared: Arc<SharedModule>,
    pub(super) lent: Option<Lent>,
    pub(super) clock: Clock,
    /// Functions and turns of loops that began under a clock; the number wraps.
    pub(super) turns: u8,
    /// The trap by which a host function stopped the guest.
    pub(super) trap: Option<Trap>,
}

impl MachineState {
    /// The most pages that the memory may have in the running call.
    pub(super) fn largest(&self) -> u32 {
        self.shared.program.largest.min(self.host.limits().pages.unwrap_or(u32::MAX))
    }
}

/// The memory of a runtime.
///
/// # Safety
///
/// The runtime must be alive, and nobody may use the memory otherwise, or grow
/// it, as long as the slice is used.
pub(super) unsafe fn bytes<'a>(runtime: *mut Runtime) -> &'a mut [u8] {
    // SAFETY: behind the header lie `length` bytes, readable, writable, initialised by Wasm3 or the
    // kernel, and used by nobody else.
    unsafe {
        let header = (*runtime).memory.mallocated;
        std::slice::from_raw_parts_mut(header.add(1).cast(), (*header).length)
    }
}

/// Resizes a memory of Wasm3's own; `false` if that is refused.
///
/// # Safety
///
/// The runtime must be alive, its memory Wasm3's own, and no slice of it in use.
pub(super) unsafe fn resize(runtime: *mut Runtime, pages: u32) -> bool {
    // SAFETY: the runtime is alive and the memory is Wasm3's, without slices. Wasm3 computes the
    // limit of its stack again from `stack`, which is the frame of an import while the guest waits
    // for one.
    unsafe {
        let stack = std::mem::replace(&mut (*runtime).stack, (*runtime).origin_stack);
        let done = ResizeMemory(runtime, pages).is_null();
        (*runtime).stack = stack;
        done
    }
}

/// Grows a memory; `false`, without a change, if that is refused or beyond the call's limit.
///
/// # Safety
///
/// Runtime and state must be alive and of one machine, without references into either.
pub(super) unsafe fn grow(runtime: *mut Runtime, state: *mut MachineState, delta: u32) -> bool {
    // SAFETY: both are alive, without references; Wasm3 resizes only memories of its own.
    unsafe {
        if delta == 0 {
            return true;
        }
        let old = (*runtime).memory.num_pages;
        let largest = (*state).largest();
        let Some(pages) = old.checked_add(delta).filter(|pages| *pages <= largest) else {
            return false;
        };
        match &mut (*state).lent {
            None => resize(runtime, pages),
            Some(lent) => lent.resize(runtime, pages as usize * WASM_PAGE),
        }
    }
}

/// The function that Wasm3 calls for a host function of the guest's, with that as its data.
pub(super) const CALL: ffi::M3RawCall = Some(call::<false>);
/// The same for guests that are stopped by the clock: those that mostly call the host reach few
/// loops.
pub(super) const TIMED_CALL: ffi::M3RawCall = Some(call::<true>);
/// The function that Wasm3 calls for `memory.grow`.
pub(super) const GROW: ffi::M3RawCall = Some(grow_for_guest);
/// The function that Wasm3 calls at the start of functions and loops.
pub(super) const TURN: ffi::M3RawCall = Some(begin_turn);
/// The function that Wasm3 calls before work on ranges, and before growth.
pub(super) const WORK: ffi::M3RawCall = Some(check_clock);

struct WaitingGuest<const TIMED: bool> {
    runtime: *mut Runtime,
    state: *mut MachineState,
}

impl<const TIMED: bool> HostCaller for WaitingGuest<TIMED> {
    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        // SAFETY: while the guest waits, nobody else uses its memory or its state, which lie apart
        // and stay borrowed as this is.
        unsafe { (bytes(self.runtime), &mut (*self.state).host) }
    }

    fn host(&mut self) -> &mut HostState {
        // SAFETY: as above.
        unsafe { &mut (*self.state).host }
    }

    fn grow_memory(&mut self, pages: u32) -> bool {
        // SAFETY: both are of the waiting machine, and `&mut self` shows that no reference into
        // them is alive.
        unsafe { grow(self.runtime, self.state, pages) }
    }

    fn check_time(&mut self) -> Result<(), Trap> {
        // SAFETY: as above.
        if TIMED { unsafe { (*self.state).clock.check() } } else { Ok(()) }
    }
}

/// The state of the machine that a runtime belongs to.
///
/// # Safety
///
/// The runtime must be a machine's.
unsafe fn state_of(runtime: *mut Runtime) -> *mut MachineState {
    // SAFETY: `Machine::new` sets it.
    unsafe { (*runtime).userdata.cast() }
}

/// Ends a host function: goes on, or stops the guest with a trap.
///
/// # Safety
///
/// The state must be of the waiting machine, without references into it.
unsafe fn end(state: *mut MachineState, ended: Result<(), Trap>) -> *const c_void {
    match ended {
        Ok(()) => std::ptr::null(),
        Err(trap) => {
            // SAFETY: as for this function.
            unsafe { (*state).trap = Some(trap) };
            STOPPED.as_ptr().cast()
        }
    }
}

unsafe extern "C" fn call<const TIMED: bool>(
    runtime: ffi::IM3Runtime,
    context: ffi::IM3ImportContext,
    slots: *mut u64,
    _memory: *mut c_void,
) -> *const c_void {
    // SAFETY: Wasm3 passes on the pointers of `new` and `link`, whose targets outlive the runtime.
    // The slots are one for each result, then one for each parameter of the import's type, which
    // is that of the function. The guest waits, so nobody else uses them.
    unsafe {
        let runtime = runtime.cast();
        let function = &*(*context).userdata.cast_const().cast::<HostFunction>();
        let Signature { params, results } = function.signature();
        let first = slots.add(results.len());
        let values = params.iter().enumerate().map(|(at, ty)| value(*ty, *first.add(at)));
        let mut guest = WaitingGuest::<TIMED> { runtime, state: state_of(runtime) };
        let give = |at, value| *slots.add(at) = bits(value);
        let ended = adapter::answer(&mut guest, function, values, give);
        end(guest.state, ended)
    }
}

unsafe extern "C" fn grow_for_guest(
    runtime: ffi::IM3Runtime,
    _context: ffi::IM3ImportContext,
    slots: *mut u64,
    _memory: *mut c_void,
) -> *const c_void {
    // SAFETY: the guest waits, so nobody else uses runtime, state or the slots, which are one for
    // the result and one for the parameter.
    unsafe {
        let runtime = runtime.cast::<Runtime>();
        let old = (*runtime).memory.num_pages;
        let grown = grow(runtime, state_of(runtime), *slots.add(1) as u32);
        *slots = u64::from(if grown { old } else { u32::MAX });
    }
    std::ptr::null()
}

/// Looks at the clock in every 256th call. 1.4 KB of JSON take 1.2 times as long as without a
/// deadline, with a look in each call 2.3 times (`touchstone bench deadline --engines wasm3`, Intel
/// Xeon, family 6, model 207).
unsafe extern "C" fn begin_turn(
    runtime: ffi::IM3Runtime,
    context: ffi::IM3ImportContext,
    slots: *mut u64,
    memory: *mut c_void,
) -> *const c_void {
    // SAFETY: as in `grow_for_guest`.
    unsafe {
        let turns = &mut (*state_of(runtime.cast())).turns;
        *turns = turns.wrapping_add(1);
        if *turns > 0 { std::ptr::null() } else { check_clock(runtime, context, slots, memory) }
    }
}

unsafe extern "C" fn check_clock(
    runtime: ffi::IM3Runtime,
    _context: ffi::IM3ImportContext,
    _slots: *mut u64,
    _memory: *mut c_void,
) -> *const c_void {
    // SAFETY: as in `grow_for_guest`.
    unsafe {
        let state = state_of(runtime.cast());
        end(state, (*state).clock.check())
    }
}

/// The content of a slot for a value.
#[inline]
pub(super) fn bits(value: Value) -> u64 {
    match value {
        Value::I32(value) => u64::from(value as u32),
        Value::I64(value) => value as u64,
        Value::F32(bits) => u64::from(bits),
        Value::F64(bits) => bits,
        // The engine has no vectors, and the contract passes no reference but null.
        Value::V128(_) | Value::FuncRef(_) | Value::ExternRef(_) => 0,
    }
}

/// The value in a slot. The upper half of a slot with 32 bits is undefined.
#[inline]
pub(super) fn value(ty: ValueType, bits: u64) -> Value {
    match ty {
        ValueType::I32 => Value::I32(bits as u32 as i32),
        ValueType::I64 => Value::I64(bits as i64),
        ValueType::F32 => Value::F32(bits as u32),
        ValueType::F64 => Value::F64(bits),
        ValueType::V128 => Value::V128(bits.into()),
        ValueType::FuncRef => Value::FuncRef(Reference::null_if(bits == 0)),
        ValueType::ExternRef => Value::ExternRef(Reference::null_if(bits == 0)),
    }
}
