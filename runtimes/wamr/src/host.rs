//! The host functions of an instance.

use crate::layout::MemoryFields;
use crate::module::ModuleData;
use crate::rewrite::Added;
use crate::trap::STOPPED;
use crate::value::{bits, value};
use std::sync::Arc;
use touchstone_executor::adapter::{self, Clock, HostCaller, HostState};
use touchstone_executor::guest::WASM_PAGE;
use touchstone_executor::memory::PooledMemory;
use touchstone_executor::{HostFunction, Trap};
use wamr_sys as ffi;

/// The host's side of an instance.
pub(crate) struct State {
    pub(crate) host: HostState,
    /// Owns the host functions.
    pub(crate) shared: Arc<ModuleData>,
    pub(crate) instance: ffi::wasm_module_inst_t,
    /// Null without a memory.
    pub(crate) memory: *mut MemoryFields,
    /// A memory of Touchstone's in the place of WAMR's own.
    pub(crate) lease: Option<PooledMemory>,
    pub(crate) clock: Clock,
    /// The trap by which a host function stopped the guest.
    pub(crate) trap: Option<Trap>,
    /// Results of the last function that has several.
    results: Vec<u64>,
}

impl State {
    pub(crate) fn new(shared: &Arc<ModuleData>) -> Self {
        Self {
            host: shared.guest.new_host(),
            shared: Arc::clone(shared),
            instance: std::ptr::null_mut(),
            memory: std::ptr::null_mut(),
            lease: None,
            clock: Clock::default(),
            trap: None,
            results: Vec::new(),
        }
    }

    /// The most pages that the memory may have in the running call.
    pub(crate) fn largest(&self) -> u32 {
        self.shared.largest().min(self.host.limits().pages.unwrap_or(u32::MAX))
    }
}

/// The bytes of a memory.
///
/// # Safety
///
/// The pointer is null, or the instance is alive and does not run, and nobody uses its memory
/// otherwise, or grows it, as long as the slice is used.
pub(crate) unsafe fn bytes<'a>(memory: *mut MemoryFields) -> &'a mut [u8] {
    if memory.is_null() {
        return &mut [];
    }
    // SAFETY: the fields are those of a live instance: that many bytes are readable and writable.
    unsafe {
        let (base, size) = (*memory).place();
        if size == 0 { &mut [] } else { std::slice::from_raw_parts_mut(base, size) }
    }
}

/// Grows the memory; `false`, without a change, if that is refused or beyond the call's limit.
///
/// # Safety
///
/// The instance is alive and does not run, and there is no reference into the state or the memory.
pub(crate) unsafe fn grow(state: *mut State, delta: u32) -> bool {
    // SAFETY: both are alive, without references.
    unsafe {
        let (memory, largest) = ((*state).memory, (*state).largest());
        if memory.is_null() || delta == 0 {
            return !memory.is_null();
        }
        let pages = (*memory).cur_page_count.checked_add(delta);
        let Some(pages) = pages.filter(|pages| *pages <= largest) else { return false };
        let Some(lease) = &mut (*state).lease else {
            return ffi::wasm_runtime_enlarge_memory((*state).instance, delta.into());
        };
        let is_done = lease.grow(pages as usize * WASM_PAGE).is_ok();
        if is_done {
            (*memory).set(lease.base(), pages);
        }
        is_done
    }
}

struct WaitingGuest(*mut State);

impl HostCaller for WaitingGuest {
    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        // SAFETY: while the guest waits, nobody else uses its memory or its state, which lie apart
        // and stay borrowed as this is.
        unsafe { (bytes((*self.0).memory), &mut (*self.0).host) }
    }

    fn host(&mut self) -> &mut HostState {
        // SAFETY: as above.
        unsafe { &mut (*self.0).host }
    }

    fn grow_memory(&mut self, pages: u32) -> bool {
        // SAFETY: `&mut self` shows that no reference into either is alive. WAMR looks at the
        // memory again when a host function has returned.
        unsafe { grow(self.0, pages) }
    }

    fn check_time(&mut self) -> Result<(), Trap> {
        // SAFETY: as above.
        unsafe { (*self.0).clock.check() }
    }
}

/// Answers all imports: the function that WAMR calls, with the import's position as its attachment.
///
/// # Safety
///
/// WAMR calls it while an instance runs whose environment has a [`State`] as its data. There is a
/// slot for each parameter of the import, and at least one.
pub(crate) unsafe extern "C" fn call(env: ffi::wasm_exec_env_t, slots: *mut u64) {
    // SAFETY: `Running` sets the state before it calls, and keeps it meanwhile. The module's data
    // lie behind a counted pointer in it.
    unsafe {
        let index = ffi::wasm_runtime_get_function_attachment(env).addr();
        let state: *mut State = ffi::wasm_runtime_get_user_data(env).cast();
        let shared: &ModuleData = &*Arc::as_ptr(&(*state).shared);
        let functions = &shared.guest.functions;
        let ended = match functions.get(index) {
            Some(function) => answer(state, function, slots),
            None => {
                let added = shared.program.added.get(index - functions.len());
                added.map_or(Ok(()), |added| answer_added(state, *added, slots))
            }
        };
        if let Err(trap) = ended {
            (*state).trap = Some(trap);
            ffi::wasm_runtime_set_exception((*state).instance, STOPPED.as_ptr());
        }
    }
}

/// Calls a function of the host's table.
///
/// # Safety
///
/// As for [`call`], where this is the import's function.
unsafe fn answer(state: *mut State, function: &HostFunction, slots: *mut u64) -> Result<(), Trap> {
    let signature = function.signature();
    // SAFETY: as for this function. No result is given before all parameters were read.
    unsafe {
        let params = signature.params.iter().enumerate();
        let params = params.map(|(at, ty)| value(*ty, *slots.add(at)));
        let mut guest = WaitingGuest(state);
        if signature.results.len() < 2 {
            let give = |_, result| *slots = bits(result);
            return adapter::answer(&mut guest, function, params, give);
        }
        let mut results = std::mem::take(&mut (*state).results);
        results.clear();
        let ended =
            adapter::answer(&mut guest, function, params, |_, result| results.push(bits(result)));
        (*state).results = results;
        ended
    }
}

/// Answers an import that rewriting has added.
///
/// # Safety
///
/// As for [`call`].
unsafe fn answer_added(state: *mut State, added: Added, slots: *mut u64) -> Result<(), Trap> {
    // SAFETY: as for this function.
    unsafe {
        match added {
            Added::Clock => return (*state).clock.check(),
            Added::Grow => {
                let old = (*state).memory.as_ref().map_or(0, |memory| memory.cur_page_count);
                let is_done = grow(state, *slots as u32);
                *slots = if is_done { old.into() } else { u32::MAX.into() };
            }
            Added::Result(place, _) => {
                let results = &(*state).results;
                *slots = results.get(place).copied().unwrap_or_default();
            }
        }
    }
    Ok(())
}
