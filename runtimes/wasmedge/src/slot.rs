//! What an instance needs beside its module, made once and used for one instance
//! after the other: executor, store, host functions, and a memory of Touchstone's where
//! the strategy has one.

use crate::api::{self, Executor, Instance, NewMemory, Store};
use crate::host::{self, Host, Import};
use crate::module::Shared;
use crate::rewrite::HOST;
use crate::signals::{Running, while_running};
use crate::sizes::Kept;
use crate::stack;
use std::ptr::NonNull;
use std::sync::Arc;
use touchstone_executor::guest::MEMORY;
use touchstone_executor::host::{Clock, HostState};
use touchstone_executor::{Error, Result};
use wasmedge_sys::ffi;

/// What fails where the system has no addresses or no room for a memory.
pub(crate) const MAKE_MEMORY: &str = "make a memory";

/// Fields are dropped in this order: what others point to comes last.
pub(crate) struct Slot {
    /// The instance that lives now.
    instance: Option<Instance>,
    store: Store,
    executor: Executor,
    /// The host functions, and Touchstone's memory.
    imports: Instance,
    _provided: Box<[Import]>,
    host: OwnedHost,
    pub(crate) shared: Arc<Shared>,
}

// SAFETY: everything here is used by whoever has the slot, on one thread at a
// time; the pointers inside lead to what the slot itself owns.
unsafe impl Send for Slot {}

/// The host's side at an address that does not change, and that nobody has a
/// reference to while a guest runs.
struct OwnedHost(NonNull<Host>);

impl Drop for OwnedHost {
    fn drop(&mut self) {
        // SAFETY: it was a box, and whoever points to it was dropped before.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl Slot {
    pub(crate) fn new(shared: &Arc<Shared>) -> Result<Self> {
        let engine = shared.engine;
        let failed = || Error::runtime(engine, "set up an instance");
        let executor = Executor::new(&shared.settings).map_err(failed())?;
        let store = Store::new().map_err(failed())?;
        let imports = Instance::collection(HOST).map_err(failed())?;
        let info = shared.info();
        // Machine code checks no bounds.
        let closed = shared.code.executable > 0;
        let kept = Kept::new(closed, shared.config.region.is_some(), info.memory.is_some())?;
        let host = OwnedHost(NonNull::from(Box::leak(Box::new(Host::new(shared.host(), kept)))));
        // SAFETY: both live in this slot and are dropped after everything that
        // can call them.
        let provided =
            unsafe { host::provide(engine, &imports, &info.imports, &shared.added, host.0) }?;
        if let (Some(limits), true) = (info.memory, shared.changes.memory_of_ours) {
            let memory = NewMemory::new(limits).map_err(Error::runtime(engine, MAKE_MEMORY))?;
            imports.add_memory(MEMORY, memory);
        }
        // SAFETY: both are of this slot, and `imports` is dropped later.
        unsafe { executor.offer(&store, &imports) }
            .map_err(Error::runtime(engine, "offer the host functions"))?;
        Ok(Self {
            instance: None,
            store,
            executor,
            imports,
            _provided: provided,
            host,
            shared: Arc::clone(shared),
        })
    }

    /// Makes a new instance in the place of an old one. A start function has yet to be run
    /// (`Rewritten::has_start`) if there is a memory.
    pub(crate) fn instantiate(&mut self) -> Result<()> {
        self.instance = None;
        stack::check(self.shared.engine, self.shared.stack)?;
        self.start_clock();
        if !self.shared.changes.memory_of_ours {
            // The next one has another memory.
            self.kept().forget();
        }
        let module = self.shared.code.module().ok_or(Error::Misuse("the module is gone"))?;
        let rights = self.kept().rights();
        // SAFETY: what the store offers is dropped after the instance.
        let made = while_running(Running::Start, || unsafe {
            self.executor.instantiate(&self.store, module)
        });
        drop(rights);
        match made {
            Ok(instance) => {
                self.instance = Some(instance);
                Ok(())
            }
            Err(failure) => {
                let (stop, engine) = (self.take_stop(), self.shared.engine);
                if let (Some(limits), false) =
                    (self.shared.info().memory, self.shared.changes.memory_of_ours)
                {
                    // No segment fits into a memory that could not be made: that is no trap.
                    NewMemory::new(limits).map_err(Error::runtime(engine, MAKE_MEMORY))?;
                }
                Err(Error::of_instantiation(crate::trap::sort(engine, failure, stop)))
            }
        }
    }

    /// Drops the instance.
    pub(crate) fn clear(&mut self) {
        self.instance = None;
    }

    pub(crate) fn instance(&self) -> Option<&Instance> {
        self.instance.as_ref()
    }

    pub(crate) fn executor(&self) -> &Executor {
        &self.executor
    }

    /// Touchstone's memory that instances import.
    pub(crate) fn memory_of_ours(&self) -> Option<api::Memory> {
        self.imports.memory(MEMORY)
    }

    /// Allocator, input and log.
    pub(crate) fn host(&mut self) -> &mut HostState {
        // SAFETY: no guest runs while this slot is borrowed here, so no host
        // function does.
        unsafe { self.host.0.as_mut() }.state()
    }

    /// What is kept of the memory behind its size.
    pub(crate) fn kept(&self) -> &Kept {
        // SAFETY: only shared, as by the host functions.
        unsafe { self.host.0.as_ref() }.kept()
    }

    /// After a trap: none of the guest's calls has stack any more, and none gives back what it
    /// counted.
    pub(crate) fn forget_taken_stack(&self) -> Result<()> {
        let Some(name) = &self.shared.taken else { return Ok(()) };
        let action = "reset the count of the stack";
        let taken = self.instance().and_then(|instance| instance.global(name));
        let missing = Error::runtime(self.shared.engine, action);
        let taken = taken.ok_or_else(|| missing("it is not exported"))?;
        // SAFETY: the global is of the live instance, and holds a number of this type.
        let set = unsafe {
            let none = ffi::WasmEdge_ValueGenI32(0);
            ffi::WasmEdge_GlobalInstanceSetValue(taken.as_ptr(), none)
        };
        api::check(set).map_err(Error::runtime(self.shared.engine, action))
    }

    pub(crate) fn start_clock(&self) {
        // SAFETY: only shared, as by the host functions.
        unsafe { self.host.0.as_ref() }.start(Clock::start(self.shared.config.deadline));
    }

    pub(crate) fn take_stop(&self) -> Option<host::Stop> {
        // SAFETY: as above.
        unsafe { self.host.0.as_ref() }.take_stop()
    }
}
