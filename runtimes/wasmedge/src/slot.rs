//! Executor, store, host functions and Touchstone's memory of one instance after the other.

use crate::api::{self, Executor, Instance, NewMemory, Store};
use crate::host::{self, Host, Import};
use crate::module::SharedModule;
use crate::rewrite::HOST;
use crate::sizes::GrownPages;
use std::ptr::NonNull;
use std::sync::Arc;
use touchstone_executor::adapter::{Clock, HostState};
use touchstone_executor::guest::MEMORY;
use touchstone_executor::{Error, Result, Trap};

/// The action that fails if the system has no addresses or no memory left.
pub(crate) const MAKE_MEMORY: &str = "make a memory";

/// Fields are dropped in this order, pointers before their targets.
pub(crate) struct Slot {
    instance: Option<Instance>,
    store: Store,
    pub(crate) executor: Executor,
    /// The host functions, and Touchstone's memory.
    imports: Instance,
    _provided: Box<[Import]>,
    host: OwnedHost,
    pub(crate) shared: Arc<SharedModule>,
}

// SAFETY: the pointers lead to parts of the slot, which only its owner uses.
unsafe impl Send for Slot {}

/// The host functions' data, to which no reference exists while a guest runs.
struct OwnedHost(NonNull<Host>);

impl Drop for OwnedHost {
    fn drop(&mut self) {
        // SAFETY: it was a box, and all that points to it was dropped before.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl Slot {
    pub(crate) fn new(shared: &Arc<SharedModule>) -> Result<Self> {
        let engine = shared.guest.engine;
        let failed = || Error::runtime(engine, "set up an instance");
        let executor = Executor::new(&shared.settings).map_err(failed())?;
        let store = Store::new().map_err(failed())?;
        let imports = Instance::collection(HOST).map_err(failed())?;
        let info = shared.info();
        // Machine code checks no bounds.
        let closed = shared.code.executable > 0;
        let kept =
            GrownPages::new(closed, shared.guest.config.region.is_some(), info.memory.is_some())?;
        let state = shared.guest.new_host();
        let host = Host { state, stopped: None, clock: Clock::default(), kept };
        let host = OwnedHost(NonNull::from(Box::leak(Box::new(host))));
        // SAFETY: both are fields of this slot, dropped after all that can call them.
        let provided = unsafe {
            host::provide(engine, &imports, &shared.guest.functions, &shared.added, host.0)
        }?;
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

    /// Makes a new instance in the place of an old one. No code of the guest runs.
    pub(crate) fn instantiate(&mut self) -> Result<()> {
        self.instance = None;
        if !self.shared.changes.memory_of_ours {
            // The next one has another memory.
            self.grown_pages().forget();
        }
        let module = self.shared.code.module().ok_or(Error::Misuse("the module is gone"))?;
        // SAFETY: what the store offers is dropped after the instance.
        match unsafe { self.executor.instantiate(&self.store, module) } {
            Ok(instance) => {
                self.instance = Some(instance);
                Ok(())
            }
            Err(failure) => {
                let engine = self.shared.guest.engine;
                if let (Some(limits), false) =
                    (self.shared.info().memory, self.shared.changes.memory_of_ours)
                {
                    // No segment fits into a memory that could not be made: that is no trap.
                    NewMemory::new(limits).map_err(Error::runtime(engine, MAKE_MEMORY))?;
                }
                Err(Error::of_instantiation(crate::trap::sort(engine, failure, None)))
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.instance = None;
    }

    pub(crate) fn instance(&self) -> Option<&Instance> {
        self.instance.as_ref()
    }

    /// Touchstone's memory that instances import.
    pub(crate) fn memory_of_ours(&self) -> Option<api::Memory> {
        self.imports.memory(MEMORY)
    }

    pub(crate) fn host(&mut self) -> &mut HostState {
        // SAFETY: no guest, and so no host function, runs while this slot is borrowed mutably.
        &mut unsafe { self.host.0.as_mut() }.state
    }

    pub(crate) fn grown_pages(&self) -> &GrownPages {
        // SAFETY: shared only, as in the host functions.
        unsafe { &(*self.host.0.as_ptr()).kept }
    }

    pub(crate) fn start_clock(&mut self) {
        // SAFETY: as in `host`.
        let host = unsafe { self.host.0.as_mut() };
        host.clock = host.state.start_clock();
    }

    /// The trap by which a host function stopped the guest.
    pub(crate) fn take_stop(&mut self) -> Option<Trap> {
        // SAFETY: as in `host`.
        unsafe { self.host.0.as_mut() }.stopped.take()
    }
}
