//! The host functions of a machine.

use super::layout::Runtime;
use super::lent::Lent;
use super::trap::STOPPED;
use crate::module::{Import, Program};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use touchstone_executor::heap::WASM_PAGE;
use touchstone_executor::host::{Answer, Clock, HostState, parameters};
use touchstone_executor::{Trap, TrapKind};
use wasm3_sys as ffi;

unsafe extern "C" {
    /// `m3_env.h`: what `memory.grow` does. Null when it is done.
    fn ResizeMemory(runtime: *mut Runtime, pages: u32) -> ffi::M3Result;
}

/// The user data of a runtime, for the host functions.
pub(super) struct MachineState {
    pub(super) host: HostState,
    pub(super) program: Arc<Program>,
    pub(super) lent: Option<Lent>,
    pub(super) clock: Clock,
    /// The trap by which a host function stopped the guest.
    pub(super) trap: Option<Trap>,
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

/// Grows a memory; `false`, without a change, if that is refused.
///
/// # Safety
///
/// Runtime and state must be alive and of one machine, without references into either.
pub(super) unsafe fn grow(runtime: *mut Runtime, state: *mut MachineState, delta: u32) -> bool {
    // SAFETY: both are alive, without references; Wasm3 resizes only memories of its own.
    unsafe {
        let old = (*runtime).memory.num_pages;
        let program = &(*state).program;
        let Some(pages) = old.checked_add(delta).filter(|pages| *pages <= program.largest) else {
            return false;
        };
        if delta == 0 {
            return true;
        }
        match &mut (*state).lent {
            None => resize(runtime, pages),
            Some(lent) => lent.resize(runtime, pages as usize * WASM_PAGE),
        }
    }
}

/// The function that Wasm3 calls for every import.
pub(super) unsafe extern "C" fn enter(
    runtime: ffi::IM3Runtime,
    context: ffi::IM3ImportContext,
    slots: *mut u64,
    _memory: *mut c_void,
) -> *const c_void {
    let state: *mut MachineState;
    let import: &Import;
    // SAFETY: Wasm3 passes on the pointers of `new` and `link`, whose targets outlive the runtime.
    unsafe {
        state = ffi::m3_GetUserData(runtime).cast();
        import = &*(*context).userdata.cast_const().cast();
    }
    // SAFETY: the guest waits for this call, so nobody else uses its state, its memory, or its
    // slots, one for each result and parameter of the import's type.
    let answer =
        catch_unwind(AssertUnwindSafe(|| unsafe { answer(runtime.cast(), state, import, slots) }));
    let trap = match answer {
        Ok(Ok(())) => return std::ptr::null(),
        Ok(Err(trap)) => trap,
        Err(_) => Trap::with_detail(TrapKind::Other, "a host function panicked"),
    };
    // SAFETY: as above, and no reference into the state is left.
    unsafe { (*state).trap = Some(trap) };
    STOPPED.as_ptr().cast()
}

/// Answers an import. Slots hold the result first, then the parameters.
///
/// # Safety
///
/// As in `enter`.
unsafe fn answer(
    runtime: *mut Runtime,
    state: *mut MachineState,
    import: &Import,
    slots: *mut u64,
) -> Result<(), Trap> {
    // SAFETY: nobody else uses state, memory or slots, and no two references to one of them are
    // alive at the same time.
    unsafe {
        let slot = |index: usize| *slots.add(index);
        let (function, signature) = match import {
            Import::Host(function, signature) => (*function, signature),
            Import::Missing { module, name } => {
                let (module, name) = (module.clone(), name.clone());
                return Err(TrapKind::MissingImport { module, name }.into());
            }
            Import::Grow => {
                let old = (*runtime).memory.num_pages;
                let grown = grow(runtime, state, slot(1) as u32);
                *slots = u64::from(if grown { old } else { u32::MAX });
                return Ok(());
            }
            Import::Clock => return (*state).clock.check(),
        };
        let first = signature.results.len();
        let values = parameters((0..signature.params.len()).map(|index| slot(first + index)));
        let result = loop {
            match (*state).host.answer(function, bytes(runtime), &values)? {
                Answer::Result(result) => break result,
                Answer::NeedsMemory { pages } if grow(runtime, state, pages) => {}
                Answer::NeedsMemory { pages } => return Err(function.full(pages)),
            }
        };
        (*state).clock.check()?;
        if first > 0 {
            *slots = result;
        }
        Ok(())
    }
}
