//! One runtime of Wasm3 with one module, and all unsafe code of this crate.
//!
//! Wasm3 shares nothing between threads. Each [`Machine`] has its own environment, and a call takes
//! `&mut Machine`. These rules make the rest sound:
//!
//! 1. **Wasm3's pointers do not dangle.** The module's bytes, the imports and the state lie behind
//!    pointers that [`Handle`] owns; its `Drop` frees the runtime first. The environment is dropped
//!    after the handle.
//! 2. **No reference is held across a call into Wasm3.** MachineState and memory are always reached
//!    through the pointers, here and in the host functions, and returned references borrow the
//!    machine.
//! 3. **A memory of Touchstone's never reaches `realloc` or `free`.** Its maximum is always its
//!    size, so Wasm3 refuses to grow it (modules call the host instead), and Wasm3's own memory is
//!    restored before the runtime is freed.
//! 4. **The structures are as `layout.rs` says**, which the engines verify before they support
//!    anything.
//! 5. **A run that failed is the last one.** At a function's first call, Wasm3 replaces the
//!    instruction that compiles it by one that calls it, and only then compiles. If that fails, the
//!    next call would jump to an address without code.

mod call;
mod environment;
mod host;
pub(crate) mod layout;
mod lent;
mod scratch;
mod snapshot;
pub(crate) mod stack;
mod trap;

use crate::module::{Program, SharedModule};
use crate::rewrite::{Added, HOST};
use call::Function;
pub(crate) use environment::Environment;
use host::MachineState;
use layout::{MemoryHeader, Module, Runtime};
pub(crate) use lent::Lent;
use snapshot::Snapshot;
use std::ffi::{CString, c_void};
use std::sync::Arc;
use touchstone_executor::adapter::Clock;
use touchstone_executor::guest::ShortName;
use touchstone_executor::memory::ResetterMut;
use touchstone_executor::{Error, Result, Trap, TrapKind};
use trap::{RunStop, text, translate};
use wasm3_sys as ffi;

/// Bytes of a guest's stack of values: the default of the bindings, and wasmi's.
pub(crate) const VALUE_STACK: u32 = 1 << 20;

/// The runtime with the targets of its pointers.
struct Handle {
    runtime: *mut Runtime,
    module: *mut Module,
    state: *mut MachineState,
    /// Wasm3's own memory, while Touchstone's replaces it.
    own_memory: *mut MemoryHeader,
}

// SAFETY: as for `Environment`; the limit of the thread's stack is set for each call.
unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: both were made in `Machine::new` and are freed once. The memory that is freed
        // with the runtime is Wasm3's own (rule 3); the state is freed last (rule 1).
        unsafe {
            if !self.runtime.is_null() {
                if !self.own_memory.is_null() {
                    (*self.runtime).memory.mallocated = self.own_memory;
                }
                ffi::m3_FreeRuntime(self.runtime.cast());
            }
            drop(Box::from_raw(self.state));
        }
    }
}

/// One runtime with one module.
pub(crate) struct Machine {
    // Dropped in this order (rule 1).
    handle: Handle,
    environment: Environment,
    shared: Arc<SharedModule>,
    snapshot: Option<Snapshot>,
    /// Exported functions by handle, found at their first call.
    functions: Vec<Function>,
    /// A run failed in Wasm3 itself (rule 5): nothing may run any more.
    broken: bool,
    /// Runs that were followed by a reset.
    runs: u32,
    /// The maximum of each table, while a call has a lower one.
    largest_tables: Vec<u32>,
}

impl Machine {
    /// Parses, loads and links, and compiles if the engine is eager. Runs no start function.
    ///
    /// # Errors
    ///
    /// [`Error::Instantiation`] if a segment does not fit.
    pub(crate) fn new(environment: Environment, shared: &Arc<SharedModule>) -> Result<Self> {
        let program = &shared.program;
        let failed = |reason| Error::runtime(program.engine, "load the module")(reason);
        let state = Box::into_raw(Box::new(MachineState {
            host: shared.guest.new_host(),
            shared: Arc::clone(shared),
            lent: None,
            clock: Clock::default(),
            turns: 0,
            trap: None,
        }));
        // SAFETY: the environment is alive and will outlive the runtime.
        let runtime = unsafe { ffi::m3_NewRuntime(environment.raw(), VALUE_STACK, state.cast()) };
        let mut handle = Handle {
            runtime: runtime.cast(),
            module: std::ptr::null_mut(),
            state,
            own_memory: std::ptr::null_mut(),
        };
        if runtime.is_null() {
            return Err(failed("out of memory".to_owned()));
        }
        // The bytes live as long as the state (rule 1).
        let module = environment.parse(&program.wasm).map_err(failed)?;
        // SAFETY: runtime and module are new. The module is freed here if it was not loaded, and
        // else with its runtime.
        unsafe {
            let result = ffi::m3_LoadModule(runtime, module);
            if !result.is_null() {
                let reason = text(result);
                ffi::m3_FreeModule(module);
                // Wasm3 places data before elements, others after them.
                let kind = shared.guest.info().segment_trap.map(TrapKind::from);
                return Err(match trap::of_segment(&reason).map(|own| kind.unwrap_or(own)) {
                    Some(kind) => Error::Instantiation { trap: kind.into() },
                    None => failed(reason),
                });
            }
        }
        handle.module = module.cast();
        // SAFETY: the runtime is alive and idle, and laid out as is known (rule 4).
        let memory = unsafe { &mut (*handle.runtime).memory };
        if memory.mallocated.is_null() {
            return Err(failed("it has no memory".to_owned()));
        }
        // To Wasm3, a declared maximum of 0 pages would be no maximum.
        memory.max_pages = program.largest;
        let functions = vec![Function::UNKNOWN; program.functions.len()];
        let mut machine = Self {
            handle,
            environment,
            shared: Arc::clone(shared),
            snapshot: None,
            functions,
            broken: false,
            runs: 0,
            largest_tables: Vec::new(),
        };
        machine.link().map_err(failed)?;
        if program.eager {
            machine.compile().map_err(failed)?;
        }
        Ok(machine)
    }

    /// The end of this thread's stack for the guest.
    fn check_stack(&self) -> Result<*mut c_void, String> {
        stack::check(stack::margin(self.program().nesting))
    }

    fn program(&self) -> &Program {
        &self.shared.program
    }

    fn link(&mut self) -> Result<(), String> {
        let shared = Arc::clone(&self.shared);
        let functions = shared.guest.functions.iter();
        let is_timed = shared.guest.config.is_interruptible();
        let call = if is_timed { host::TIMED_CALL } else { host::CALL };
        let guests = functions.map(|function| (call, (&raw const **function).cast()));
        let own = shared.program.added.iter().map(|added| match added {
            Added::Grow => (host::GROW, std::ptr::null()),
            Added::Turn => (host::TURN, std::ptr::null()),
            Added::Work => (host::WORK, std::ptr::null()),
        });
        for (index, (enter, data)) in guests.chain(own).enumerate() {
            let name = CString::from(ShortName::Import(index));
            // SAFETY: the module is loaded; the state owns the functions (rule 1), which the
            // calls expect. Without a signature Wasm3 uses the module's.
            let result = unsafe {
                ffi::m3_LinkRawFunctionEx(
                    self.handle.module.cast(),
                    HOST.as_ptr(),
                    name.as_ptr(),
                    std::ptr::null(),
                    enter,
                    data,
                )
            };
            self.plain(result)?;
        }
        Ok(())
    }

    fn compile(&mut self) -> Result<(), String> {
        self.check_stack()?;
        // SAFETY: the module is loaded and linked.
        let result = unsafe { ffi::m3_CompileModule(self.handle.module.cast()) };
        self.plain(result)
    }

    /// Replaces Wasm3's memory by one of Touchstone's.
    pub(crate) fn lend(&mut self, lent: Lent) -> Result<()> {
        if !self.handle.own_memory.is_null() {
            return Err(Error::Misuse("a machine is lent one memory only"));
        }
        // SAFETY: the runtime is idle; its own memory, which keeps its header only, is restored
        // when the handle is dropped, before the state that owns this one (rule 3).
        unsafe {
            if !host::resize(self.handle.runtime, 0) {
                let failed = Error::runtime(self.program().engine, "give its memory back");
                return Err(failed("out of memory"));
            }
            self.handle.own_memory = lent.install(self.handle.runtime);
        }
        self.state().lent = Some(lent);
        Ok(())
    }

    /// Runs the start function, if there is one.
    pub(crate) fn start(&mut self) -> Result<()> {
        const ACTION: &str = "instantiate the module";
        self.begin().map_err(Error::runtime(self.program().engine, ACTION))?;
        // SAFETY: the module is loaded and linked (rule 2).
        let result = unsafe { ffi::m3_RunStart(self.handle.module.cast()) };
        self.ended(result, ACTION)?.map_err(|trap| Error::Instantiation { trap })
    }

    /// Sets the deadline and the stack limit of a run.
    fn begin(&mut self) -> Result<(), String> {
        if self.broken {
            return Err("it could not compile a function in the call before, and only a new \
                        instance can run again: prepare another call"
                .to_owned());
        }
        let limit = self.check_stack()?;
        if self.shared.guest.config.is_interruptible() {
            let state = self.state();
            state.clock = state.host.start_clock();
        }
        // SAFETY: the runtime is alive and idle.
        unsafe { (*self.handle.runtime).stack_limit = limit };
        Ok(())
    }

    fn state(&mut self) -> &mut MachineState {
        // SAFETY: alive as long as the handle; no host function runs while `self` is borrowed.
        unsafe { &mut *self.handle.state }
    }

    /// Resets a memory of Touchstone's.
    pub(crate) fn resetter(&mut self) -> Option<ResetterMut<'_>> {
        self.state().lent.as_mut().map(Lent::resetter)
    }

    /// The parts that the next machine can use. The lent memory is as the guest left it.
    pub(crate) fn into_parts(mut self) -> (Environment, Option<Lent>) {
        let lent = self.state().lent.take();
        let Self { handle, environment, .. } = self;
        // Restores Wasm3's own memory.
        drop(handle);
        (environment, lent)
    }

    fn raw(&self) -> ffi::IM3Runtime {
        self.handle.runtime.cast()
    }

    /// The end of a run of the guest, by Wasm3's result.
    fn ended(&mut self, result: ffi::M3Result, action: &'static str) -> Result<Result<(), Trap>> {
        if result.is_null() {
            return Ok(Ok(()));
        }
        // SAFETY: results are static strings.
        let said = unsafe { text(result) };
        match translate(result, &said) {
            RunStop::ByHost => {
                Ok(Err(self.state().trap.take().unwrap_or_else(|| TrapKind::Other.into())))
            }
            RunStop::Trap(trap) => Ok(Err(trap)),
            RunStop::Failure(reason) => {
                self.broken = true;
                Err(Error::runtime(self.program().engine, action)(self.detail(reason)))
            }
        }
    }

    /// The failure of a call that runs no guest.
    fn plain(&self, result: ffi::M3Result) -> Result<(), String> {
        if result.is_null() {
            return Ok(());
        }
        // SAFETY: results are static strings.
        let said = unsafe { text(result) };
        Err(self.detail(said))
    }

    /// Adds the runtime's message about its last error.
    fn detail(&self, reason: String) -> String {
        // SAFETY: the runtime is alive, and a message lies in it and ends with a zero.
        unsafe {
            let mut info = std::mem::zeroed::<ffi::M3ErrorInfo>();
            ffi::m3_GetErrorInfo(self.raw(), &raw mut info);
            match info.message.is_null() {
                false if *info.message != 0 => format!("{reason}: {}", text(info.message)),
                _ => reason,
            }
        }
    }
}
