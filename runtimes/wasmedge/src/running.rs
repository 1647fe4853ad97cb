//! A live instance, and the calls on it.

use crate::api::{self, Function, Memory};
use crate::host::bytes;
use crate::signals::{FaultRange, while_running};
use crate::slot::{MAKE_MEMORY, Slot};
use crate::value::{from_wasmedge, to_wasmedge};
use crate::{rewrite, trap};
use touchstone_executor::adapter::{EnforcedLimits, HostState, Live};
use touchstone_executor::guest::MEMORY;
use touchstone_executor::memory::{Resetter, Rights};
use touchstone_executor::{Error, Result, Trap, Value};
use wasmedge_sys::ffi;

const FOREIGN: Error = Error::FOREIGN_HANDLE;

/// A slot with an instance, or without one between two calls.
pub(crate) struct Running {
    /// Of a recycled memory; dropped before it.
    pub(crate) resetter: Option<Resetter>,
    pub(crate) slot: Slot,
    pub(crate) memory: Option<Memory>,
    /// The start of the memory, which grows in place.
    base: usize,
    /// Exported functions by handle, found at their first call.
    entries: Vec<Option<Function>>,
    params: Vec<ffi::WasmEdge_Value>,
    results: Vec<ffi::WasmEdge_Value>,
}

// SAFETY: functions, memory and references in values are of the slot's instance, and a slot is
// `Send`.
unsafe impl Send for Running {}

impl Running {
    pub(crate) fn new(slot: Slot) -> Self {
        let entries = vec![None; slot.shared.guest.exports.iter().count()];
        let (params, results) = (Vec::new(), Vec::new());
        Self { resetter: None, slot, memory: None, base: 0, entries, params, results }
    }

    /// The error of a failed action of WasmEdge's.
    pub(crate) fn failed<E: std::fmt::Display>(
        &self,
        action: &'static str,
    ) -> impl FnOnce(E) -> Error + use<E> {
        Error::runtime(self.slot.shared.guest.engine, action)
    }

    /// Replaces the instance by a new one.
    pub(crate) fn renew(&mut self) -> Result<()> {
        self.clear();
        self.slot.instantiate()?;
        self.memory = match self.slot.shared.changes.memory_of_ours {
            true => self.slot.memory_of_ours(),
            false => self.slot.instance().and_then(|instance| instance.memory(MEMORY)),
        };
        if self.memory.is_none() && self.slot.shared.info().memory.is_some() {
            return Err(self.failed("find the memory")("it is not exported"));
        }
        if let (Some(memory), Some(limits)) = (self.memory, self.slot.shared.info().memory) {
            // SAFETY: the memory is of the slot's instance, or of the slot.
            unsafe { api::check_memory(memory, limits) }.map_err(self.failed(MAKE_MEMORY))?;
        }
        self.base = self.memory.map_or(0, start_of);
        self.start()
    }

    fn start(&mut self) -> Result<()> {
        let shared = &self.slot.shared;
        if !shared.has_start {
            return Ok(());
        }
        let name = rewrite::start();
        let function = self.slot.instance().and_then(|instance| instance.function(&name));
        let missing = self.failed("find the start function");
        let function = function.ok_or_else(|| missing("it is not exported"))?;
        let _rights = self.slot.grown_pages().rights();
        let ended = invoke(&mut self.slot, self.base, function, &[], &mut [])?;
        ended.map_err(|trap| Error::Instantiation { trap })
    }

    pub(crate) fn clear(&mut self) {
        self.memory = None;
        self.base = 0;
        self.entries.fill(None);
        self.slot.clear();
    }

    fn entry(&mut self, index: u32) -> Result<Function> {
        if let Some(known) = *self.entries.get(index as usize).ok_or(FOREIGN)? {
            return Ok(known);
        }
        let shared = &self.slot.shared;
        let export = shared.guest.exports.get(index).ok_or(FOREIGN)?;
        let found = self.slot.instance().and_then(|instance| instance.function(&export.name));
        let failed = self.failed("find an export");
        let entry = found.ok_or_else(|| failed(format!("'{}' is gone", export.name)))?;
        self.entries[index as usize] = Some(entry);
        Ok(entry)
    }
}

fn invoke(
    slot: &mut Slot,
    base: usize,
    function: Function,
    params: &[ffi::WasmEdge_Value],
    results: &mut [ffi::WasmEdge_Value],
) -> Result<Result<(), Trap>> {
    if slot.shared.guest.config.is_interruptible() {
        slot.start_clock();
    }
    let ended = while_running(FaultRange::Guest(base), || {
        // SAFETY: the function is of the live instance in the slot, which has the imports.
        unsafe { slot.executor.invoke(function, params, results) }
    });
    ended.map(Ok).or_else(|failure| {
        let stop = slot.take_stop();
        trap::sort(slot.shared.guest.engine, failure, stop).map(Err)
    })
}

pub(crate) fn start_of(memory: Memory) -> usize {
    // SAFETY: the memory is of a live instance; a length of zero asks for the address alone.
    unsafe { ffi::WasmEdge_MemoryInstanceGetPointer(memory.as_ptr(), 0, 0) as usize }
}

impl Live for Running {
    fn shown_memory(&mut self) -> Option<&[u8]> {
        // SAFETY: the memory is the only one of the slot's instances, no guest runs while this is
        // borrowed, and `base` is its start.
        let shown = unsafe { self.slot.grown_pages().show(self.base as *mut u8) };
        Some(&*self.memory()).filter(|memory| shown && !memory.is_empty())
    }

    fn rights(&self) -> Rights {
        self.slot.grown_pages().rights()
    }

    fn grow_memory(&mut self, pages: u32) -> bool {
        let limits = self.slot.host().limits();
        self.memory.is_some_and(|memory| {
            // SAFETY: the memory is of the slot's instance, and no slice of it is alive while this
            // is borrowed mutably.
            unsafe { self.slot.grown_pages().grow(memory, pages, limits) }.is_some()
        })
    }

    fn host(&mut self) -> &mut HostState {
        self.slot.host()
    }

    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        let memory = self.memory.map_or(std::ptr::null_mut(), Memory::as_ptr);
        // SAFETY: the memory is of the slot's instance; no guest runs while this is borrowed, and
        // all that grows or remaps the memory borrows this mutably. The host's state lies
        // elsewhere, and `self` stays borrowed for both.
        (unsafe { bytes(memory) }, self.slot.host())
    }

    fn call_substrate(
        &mut self,
        index: u32,
        pointer: u32,
        length: u32,
    ) -> Result<Result<u64, Trap>> {
        let function = self.entry(index)?;
        let params = [
            to_wasmedge(Value::I32(pointer.cast_signed())),
            to_wasmedge(Value::I32(length.cast_signed())),
        ];
        let mut results = [to_wasmedge(Value::I64(0))];
        let ended = invoke(&mut self.slot, self.base, function, &params, &mut results)?;
        Ok(ended.map(|()| results[0].Value as u64))
    }

    fn call_plain(
        &mut self,
        index: u32,
        params: &[Value],
        results: &mut [Value],
    ) -> Result<Result<(), Trap>> {
        let function = self.entry(index)?;
        self.params.clear();
        self.params.extend(params.iter().map(|value| to_wasmedge(*value)));
        self.results.clear();
        self.results.extend(results.iter().map(|value| to_wasmedge(*value)));
        let ended = invoke(&mut self.slot, self.base, function, &self.params, &mut self.results)?;
        for (result, found) in results.iter_mut().zip(&self.results) {
            *result = from_wasmedge(result.ty(), *found);
        }
        Ok(ended)
    }

    fn enforced_limits(&self) -> EnforcedLimits {
        let deadline = self.slot.shared.guest.config.is_interruptible();
        // No function of WasmEdge's limits tables.
        EnforcedLimits { deadline, pages: true, ..EnforcedLimits::default() }
    }
}
