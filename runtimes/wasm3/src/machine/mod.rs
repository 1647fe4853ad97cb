//! One runtime of Wasm3 with one module in it. In this folder is all that the
//! adapter does through Wasm3's raw interface, and so all its unsafe code.
//!
//! Wasm3 knows no threads: nothing of it is shared. Each [`Machine`] has an
//! environment of its own, and whoever calls it holds `&mut Machine`. The rules
//! that make the rest sound:
//!
//! 1. **What Wasm3 points to outlives it.** The module's bytes, the imports and
//!    the state lie behind pointers that [`Handle`] owns; its `Drop` frees the
//!    runtime first. The environment is dropped after the handle.
//! 2. **No reference is held across a call into Wasm3.** State and memory are
//!    reached from the pointers anew, here and in the host functions, and what
//!    is given out borrows the machine.
//! 3. **A memory of Touchstone's is never given to `realloc` or `free`.** Its maximum is
//!    always its size, so that Wasm3 itself refuses to grow it (modules call the
//!    host instead), and Wasm3's own memory is put back before the runtime is
//!    freed.
//! 4. **The structures are as `layout.rs` says**, which every new machine checks.
//! 5. **A run that failed is the last one.** Wasm3 makes the instruction that
//!    compiles a function on its first call one that calls it, and only then
//!    compiles; when that fails, the next call jumps to where no code is. Nothing
//!    runs in a machine after that.

mod call;
mod environment;
mod host;
mod layout;
mod lent;
mod live;
mod scratch;
mod snapshot;
pub(crate) mod stack;
mod trap;

use crate::module::{Program, Shared};
use crate::rewrite::{HOST, import_name};
use call::Function;
pub(crate) use environment::Environment;
use host::{State, bytes, enter, grow};
use layout::{MemoryHeader, Module, Runtime};
pub(crate) use lent::Lent;
use snapshot::Snapshot;
use std::ffi::c_void;
use std::sync::Arc;
use touchstone_executor::host::{Clock, HostState};
use touchstone_executor::memory::ResetterMut;
use touchstone_executor::{Error, Result, TrapKind};
use trap::{Stop, text, translate};
use wasm3_sys as ffi;

/// Bytes of a guest's stack of values: the default of the bindings, and what
/// wasmi gives too.
pub(crate) const VALUE_STACK: u32 = 1 << 20;

/// The runtime and what only it points to.
struct Handle {
    runtime: *mut Runtime,
    module: *mut Module,
    state: *mut State,
    /// Wasm3's own memory, while one of Touchstone's is in its place.
    own_memory: *mut MemoryHeader,
}

// SAFETY: as for `Environment`; the bound of the machine's stack, which belongs
// to a thread, is set anew for each call.
unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: both were made in `Machine::new` and are freed once. The memory
        // that is freed with the runtime is Wasm3's own (rule 3); the state, with
        // what it owns, goes last (rule 1).
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

impl Handle {
    /// What `layout.rs` can compare.
    fn known<'a>(&self, environment: &Environment, program: &'a Program) -> layout::Known<'a> {
        layout::Known {
            runtime: self.runtime,
            module: self.module,
            environment: environment.raw().cast(),
            userdata: self.state.cast(),
            value_stack: VALUE_STACK,
            program,
        }
    }
}

/// One runtime with one module.
pub(crate) struct Machine {
    // Dropped in this order (rule 1).
    handle: Handle,
    environment: Environment,
    shared: Arc<Shared>,
    snapshot: Option<Snapshot>,
    /// Exported functions by handle, found when they are first called.
    functions: Vec<Function>,
    /// Whether a run failed in Wasm3 itself (rule 5): nothing may run any more.
    broken: bool,
    /// Runs that were followed by a reset.
    runs: u32,
}

impl Machine {
    /// Parses, loads, links, and compiles where that is asked for. The start
    /// function has not run yet.
    ///
    /// # Errors
    ///
    /// [`Error::Instantiation`] where a segment does not fit, else when Wasm3 fails.
    pub(crate) fn new(environment: Environment, shared: &Arc<Shared>) -> Result<Self> {
        let program = &shared.program;
        let failed = |reason| Error::runtime(program.engine, "load the module")(reason);
        let state = Box::into_raw(Box::new(State {
            host: shared.host(),
            program: Arc::clone(program),
            lent: None,
            clock: Clock::default(),
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
        // SAFETY: runtime and module are new. A module that was not loaded is
        // freed here, a loaded one with its runtime.
        unsafe {
            let result = ffi::m3_LoadModule(runtime, module);
            if !result.is_null() {
                let reason = text(result);
                ffi::m3_FreeModule(module);
                // Wasm3 places data before elements, others after them.
                let kind = shared.info().segment_trap.map(TrapKind::from);
                return Err(match trap::of_segment(&reason).map(|own| kind.unwrap_or(own)) {
                    Some(kind) => Error::Instantiation { trap: kind.into() },
                    None => failed(reason),
                });
            }
        }
        handle.module = module.cast();
        // SAFETY: runtime and module are alive, and idle.
        unsafe { layout::check(&handle.known(&environment, program)) }.map_err(|what| {
            failed(format!("its structures are not those of Wasm3 0.9.0: {what} differs"))
        })?;
        // SAFETY: the layout was checked. A declared maximum of 0 pages would
        // mean none at all to Wasm3.
        unsafe { (*handle.runtime).memory.max_pages = program.largest };
        let functions = vec![Function::UNKNOWN; program.functions.len()];
        let mut machine = Self {
            handle,
            environment,
            shared: Arc::clone(shared),
            snapshot: None,
            functions,
            broken: false,
            runs: 0,
        };
        machine.link().map_err(failed)?;
        if program.eager {
            machine.compile().map_err(failed)?;
        }
        Ok(machine)
    }

    /// Where this thread's stack ends for the guest.
    fn check_stack(&self) -> Result<*mut c_void, String> {
        stack::check(stack::margin(self.program().nesting))
    }

    fn program(&self) -> &Program {
        &self.shared.program
    }

    /// Gives every import what answers it.
    fn link(&mut self) -> Result<(), String> {
        let program = Arc::clone(&self.shared.program);
        for (index, import) in program.imports.iter().enumerate() {
            let name = import_name(index);
            // SAFETY: the module is loaded; the import lives as long as the
            // state, which keeps the program (rule 1). Without a signature
            // Wasm3 takes the module's own.
            let result = unsafe {
                ffi::m3_LinkRawFunctionEx(
                    self.handle.module.cast(),
                    HOST.as_ptr(),
                    name.as_ptr(),
                    std::ptr::null(),
                    Some(enter),
                    (&raw const *import).cast(),
                )
            };
            self.plain(result)?;
        }
        Ok(())
    }

    /// Compiles all functions.
    fn compile(&mut self) -> Result<(), String> {
        self.check_stack()?;
        // SAFETY: the module is loaded and linked.
        let result = unsafe { ffi::m3_CompileModule(self.handle.module.cast()) };
        self.plain(result)
    }

    /// Puts a memory of Touchstone's in the place of Wasm3's own.
    pub(crate) fn lend(&mut self, lent: Lent) -> Result<()> {
        if !self.handle.own_memory.is_null() {
            return Err(Error::Misuse("a machine is lent one memory only"));
        }
        // SAFETY: the runtime is idle; its own memory, which keeps nothing but its
        // header, is put back when the handle is dropped, before the state that
        // owns this one (rule 3).
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

    /// Runs the start function, where there is one.
    pub(crate) fn start(&mut self) -> Result<()> {
        let failed = |machine: &Self, reason: String| {
            Error::runtime(machine.program().engine, "instantiate the module")(reason)
        };
        self.begin().map_err(|reason| failed(self, reason))?;
        // SAFETY: the module is loaded and linked (rule 2).
        let result = unsafe { ffi::m3_RunStart(self.handle.module.cast()) };
        match self.ended(result) {
            Ok(()) => Ok(()),
            Err(Stop::ByHost) => Err(Error::Instantiation { trap: self.take_trap() }),
            Err(Stop::Trap(trap)) => Err(Error::Instantiation { trap }),
            Err(Stop::Failure(reason)) => {
                self.broken = true;
                Err(failed(self, reason))
            }
        }
    }

    /// Whether it can run and be reset.
    pub(crate) fn is_sound(&self) -> bool {
        !self.broken
    }

    /// Sets what belongs to one run: its end in time and on this thread's stack.
    fn begin(&mut self) -> Result<(), String> {
        if self.broken {
            return Err("it could not compile a function in the call before, and only a new \
                        instance can run again: prepare another call"
                .to_owned());
        }
        let limit = self.check_stack()?;
        self.state().clock = Clock::start(self.shared.deadline());
        // SAFETY: the runtime is alive and idle.
        unsafe { (*self.handle.runtime).stack_limit = limit };
        Ok(())
    }

    /// Host state.
    fn state(&mut self) -> &mut State {
        // SAFETY: alive as long as the handle; nothing runs while `self` is
        // borrowed, so that no host function has it.
        unsafe { &mut *self.handle.state }
    }

    /// The guest's memory; empty where it has none.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: nothing runs while `self` is borrowed.
        unsafe { bytes(self.handle.runtime) }
    }

    /// Memory and host state at once.
    fn bytes_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        // SAFETY: as for the two above; the two lie apart.
        unsafe { (bytes(self.handle.runtime), &mut (*self.handle.state).host) }
    }

    /// What looks after a memory of Touchstone's.
    pub(crate) fn resetter(&mut self) -> Option<ResetterMut<'_>> {
        self.state().lent.as_mut().map(Lent::resetter)
    }

    /// Grows the memory; `false` when it is refused.
    fn grow(&mut self, pages: u32) -> bool {
        // SAFETY: nothing runs while `self` is borrowed.
        unsafe { grow(self.handle.runtime, self.handle.state, pages) }
    }

    /// What the next machine can be made with. The lent memory is as the guest
    /// left it.
    pub(crate) fn into_parts(mut self) -> (Environment, Option<Lent>) {
        let lent = self.state().lent.take();
        let Self { handle, environment, .. } = self;
        // Puts Wasm3's own memory back, so that nothing points to the lent one.
        drop(handle);
        (environment, lent)
    }

    fn raw(&self) -> ffi::IM3Runtime {
        self.handle.runtime.cast()
    }

    fn ended(&self, result: ffi::M3Result) -> Result<(), Stop> {
        if result.is_null() {
            return Ok(());
        }
        // SAFETY: results are static strings.
        let said = unsafe { text(result) };
        Err(match translate(result, &said) {
            Stop::Failure(reason) => Stop::Failure(self.detail(reason)),
            stop => stop,
        })
    }

    /// For what runs no guest.
    fn plain(&self, result: ffi::M3Result) -> Result<(), String> {
        if result.is_null() {
            return Ok(());
        }
        // SAFETY: results are static strings.
        let said = unsafe { text(result) };
        Err(self.detail(said))
    }

    /// Adds what the runtime knows about its last error.
    fn detail(&self, reason: String) -> String {
        // SAFETY: the runtime is alive; the message, if there is one, lies in it
        // and ends with a zero.
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
