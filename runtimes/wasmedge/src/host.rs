//! The host functions of an instance.
//!
//! WasmEdge keeps a raw pointer for each host function and calls it while this side is inside a
//! call of WasmEdge's. Nothing behind the pointer is borrowed then: [`Host`] gives access through
//! cells, on the one thread that runs the instance.

use crate::api;
use crate::rewrite::Added;
use crate::signals::{FaultRange, while_running};
use crate::sizes::GrownPages;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use touchstone_executor::guest::FunctionImport;
use touchstone_executor::heap::WASM_PAGE;
use touchstone_executor::host::{Answer, Clock, HostFunction, HostState, parameters};
use touchstone_executor::{Error, Result, Signature, Trap, TrapKind, ValueType};
use wasmedge_sys::ffi;

/// References of other types need a feature that the engine refuses.
const NO_TYPE: Error = Error::Misuse("an import of a type that WasmEdge does not have");

/// The reason why the host stopped a guest.
pub(crate) enum HostStop {
    Trap(Trap),
    /// A host function panicked, with this message.
    Panic(String),
}

/// The data of one instance's host functions. It stays at its address.
pub(crate) struct Host {
    state: RefCell<HostState>,
    stopped: Cell<Option<HostStop>>,
    /// When the running call has to end.
    clock: Cell<Clock>,
    kept: GrownPages,
}

impl Host {
    pub(crate) fn new(state: HostState, kept: GrownPages) -> Self {
        let (stopped, clock) = (Cell::new(None), Cell::new(Clock::default()));
        Self { state: RefCell::new(state), stopped, clock, kept }
    }

    pub(crate) fn grown_pages(&self) -> &GrownPages {
        &self.kept
    }

    /// The state, while no guest runs.
    pub(crate) fn state(&mut self) -> &mut HostState {
        self.state.get_mut()
    }

    /// Starts the time of a call.
    pub(crate) fn start(&self, clock: Clock) {
        self.clock.set(clock);
    }

    pub(crate) fn take_stop(&self) -> Option<HostStop> {
        self.stopped.take()
    }
}

/// The answer to one import.
#[derive(Debug)]
enum ImportAnswer {
    Host(HostFunction, Signature),
    Missing { module: String, name: String },
    Clock,
    Grow,
}

/// An import and its data.
pub(crate) struct Import {
    answer: ImportAnswer,
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
    imports: &[FunctionImport],
    added: &[Added],
    host: NonNull<Host>,
) -> Result<Box<[Import]>> {
    let guests = imports.iter().map(|import| {
        let known = import.signature.as_ref();
        let host = known.and_then(|ty| HostFunction::find(&import.module, &import.name, ty));
        host.map_or_else(
            || ImportAnswer::Missing { module: import.module.clone(), name: import.name.clone() },
            |function| ImportAnswer::Host(function, function.signature()),
        )
    });
    let own = added.iter().map(|added| match added {
        Added::Clock => ImportAnswer::Clock,
        Added::Grow => ImportAnswer::Grow,
    });
    let provided: Box<[Import]> = guests.chain(own).map(|answer| Import { answer, host }).collect();
    for (index, import) in provided.iter().enumerate() {
        let (params, results) = match imports.get(index) {
            None if matches!(import.answer, ImportAnswer::Grow) => {
                (types(&[ValueType::I32]), types(&[ValueType::I32]))
            }
            None => (Vec::new(), Vec::new()),
            Some(known) => {
                let ty = known.signature.as_ref().ok_or(NO_TYPE)?;
                (types(&ty.params), types(&ty.results))
            }
        };
        let data: *const Import = import;
        // SAFETY: `answer` takes an `Import`, which the caller keeps alive.
        unsafe {
            collection.add_function(
                &index.to_string(),
                (&params, &results),
                Some(answer),
                data.cast_mut().cast(),
            )
        }
        .map_err(Error::runtime(engine, "offer a host function"))?;
    }
    Ok(provided)
}

fn types(types: &[ValueType]) -> Vec<ffi::WasmEdge_ValType> {
    types
        .iter()
        // SAFETY: each makes the number of a type.
        .map(|ty| unsafe {
            match ty {
                ValueType::I32 => ffi::WasmEdge_ValTypeGenI32(),
                ValueType::I64 => ffi::WasmEdge_ValTypeGenI64(),
                ValueType::F32 => ffi::WasmEdge_ValTypeGenF32(),
                ValueType::F64 => ffi::WasmEdge_ValTypeGenF64(),
                ValueType::V128 => ffi::WasmEdge_ValTypeGenV128(),
                ValueType::FuncRef => ffi::WasmEdge_ValTypeGenFuncRef(),
                ValueType::ExternRef => ffi::WasmEdge_ValTypeGenExternRef(),
            }
        })
        .collect()
}

/// The function that WasmEdge calls for every import.
unsafe extern "C" fn answer(
    data: *mut c_void,
    frame: *const ffi::WasmEdge_CallingFrameContext,
    params: *const ffi::WasmEdge_Value,
    results: *mut ffi::WasmEdge_Value,
) -> ffi::WasmEdge_Result {
    // A fault in here is not the guest's.
    while_running(FaultRange::Nothing, || {
        // SAFETY: `provide` passed an `Import` that lives as long as this can be called, like the
        // host in it; both are only shared.
        let (import, host) = unsafe {
            let import = &*data.cast_const().cast::<Import>();
            (import, import.host.as_ref())
        };
        // SAFETY: WasmEdge gives as many values as the function's type has.
        let mut call = unsafe { Call::new(frame, params, results) };
        // A panic must not pass through WasmEdge's frames.
        let ended = catch_unwind(AssertUnwindSafe(|| import.answer.run(host, &mut call)));
        let stop = match ended {
            Ok(Ok(())) => return ffi::WasmEdge_Result { Code: 0 },
            Ok(Err(trap)) => HostStop::Trap(trap),
            Err(panic) => HostStop::Panic(
                panic
                    .downcast_ref::<&str>()
                    .map(|text| (*text).to_owned())
                    .or_else(|| panic.downcast_ref::<String>().cloned())
                    .unwrap_or_else(|| "it panicked".to_owned()),
            ),
        };
        host.stopped.set(Some(stop));
        // SAFETY: makes a number.
        unsafe { ffi::WasmEdge_ResultGen(ffi::WasmEdge_ErrCategory_UserLevelError, 1) }
    })
}

/// The values and the memory of one call of a host function.
struct Call {
    memory: *mut ffi::WasmEdge_MemoryInstanceContext,
    params: *const ffi::WasmEdge_Value,
    results: *mut ffi::WasmEdge_Value,
}

impl Call {
    /// # Safety
    ///
    /// All three come from WasmEdge's call of a host function that is still running, and the values
    /// have the types that `run` reads and writes.
    unsafe fn new(
        frame: *const ffi::WasmEdge_CallingFrameContext,
        params: *const ffi::WasmEdge_Value,
        results: *mut ffi::WasmEdge_Value,
    ) -> Self {
        // SAFETY: the frame is that of the call.
        let memory = unsafe { ffi::WasmEdge_CallingFrameGetMemoryInstance(frame, 0) };
        Self { memory, params, results }
    }

    fn i32(&self, index: usize) -> u32 {
        // SAFETY: by `new`, there is such a value, and its low half is the number.
        unsafe { (*self.params.add(index)).Value as u32 }
    }

    fn i64(&self, index: usize) -> u64 {
        // SAFETY: as above.
        unsafe { (*self.params.add(index)).Value as u64 }
    }

    fn return_i32(&mut self, value: u32) {
        // SAFETY: by `new`, there is room for one value.
        unsafe { *self.results = ffi::WasmEdge_ValueGenI32(value.cast_signed()) }
    }

    fn return_i64(&mut self, value: u64) {
        // SAFETY: as above.
        unsafe { *self.results = ffi::WasmEdge_ValueGenI64(value.cast_signed()) }
    }

    fn memory(&mut self) -> &mut [u8] {
        // SAFETY: the memory is that of the calling guest, which waits; no other slice of it exists
        // while a host function runs.
        unsafe { bytes(self.memory) }
    }

    /// Returns the old number of pages; `None` if growth is refused.
    fn grow(&mut self, kept: &GrownPages, pages: u32) -> Option<u32> {
        let memory = NonNull::new(self.memory)?;
        // SAFETY: the memory is that of the calling guest, the only one of its slot's instances,
        // and no slice of it exists.
        unsafe { kept.grow(memory, pages) }
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

impl ImportAnswer {
    fn run(&self, host: &Host, call: &mut Call) -> Result<(), Trap> {
        match self {
            // A guest that mostly calls the host reaches few loops.
            Self::Host(function, signature) => {
                provided(*function, signature, host, call).and_then(|()| host.clock.get().check())
            }
            Self::Missing { module, name } => {
                let (module, name) = (module.clone(), name.clone());
                Err(TrapKind::MissingImport { module, name }.into())
            }
            Self::Grow => {
                let before = call.grow(&host.kept, call.i32(0));
                call.return_i32(before.unwrap_or(u32::MAX));
                Ok(())
            }
            Self::Clock => host.clock.get().check(),
        }
    }
}

/// Answers a function on the memory, which grows if the answer needs more.
fn provided(
    function: HostFunction,
    signature: &Signature,
    host: &Host,
    call: &mut Call,
) -> Result<(), Trap> {
    let mut state = host.state.borrow_mut();
    let values = parameters((0..signature.params.len()).map(|index| call.i64(index)));
    let result = loop {
        match state.answer(function, call.memory(), &values)? {
            Answer::Result(result) => break result,
            Answer::NeedsMemory { pages } if call.grow(&host.kept, pages).is_some() => {}
            Answer::NeedsMemory { pages } => return Err(function.full(pages)),
        }
    };
    match signature.results.first() {
        Some(ValueType::I64) => call.return_i64(result),
        Some(_) => call.return_i32(result as u32),
        None => {}
    }
    Ok(())
}
