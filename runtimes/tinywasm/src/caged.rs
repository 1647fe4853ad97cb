//! A store and the instance in it, kept together so that they can move to another thread.
//!
//! tinywasm counts references without atomics: its stores are not `Send`. Here, one value owns the
//! store, the instance and the host's side, and lends them out for one call at a time. No counted
//! reference leaves this module.

use crate::engine::ID;
use crate::imports::{Desk, Host};
use crate::memory::{Made, bytes, grow_by_host, resize};
use crate::module::ModuleData;
use crate::trap::carry;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use tinywasm::types::WasmValue;
use tinywasm::{Engine, ExecProgress, FuncContext, Function, ModuleInstance, Store};
use touchstone_executor::adapter::{Clock, HostState};
use touchstone_executor::guest::MEMORY;
use touchstone_executor::{Error, Result, Trap, TrapKind};

/// Between two looks at the clock: fuel of about a millisecond, and time.
const SLICE: u64 = 250_000;
const BETWEEN: Duration = Duration::from_millis(1);
const PANICKED: &str = "the runtime panicked";

/// A store with its instance and the host's side.
pub(crate) struct Caged {
    store: Store,
    instance: ModuleInstance,
    /// Holds `host` while the guest runs.
    desk: Desk,
    /// `None` while the guest runs, and after a panic.
    host: Option<Host>,
    /// Pages that the memory may grow to where the host sizes it.
    largest: Option<u32>,
    made: Made,
    /// `true` if calls may be stopped by time.
    interruptible: bool,
    /// Fuel that the running call has left, if it is limited.
    fuel: Option<u64>,
}

// SAFETY: what is not `Send` in the fields is `Rc`s (instances, host functions, the desk), trait
// objects that do not say whether they are (host functions and memories), and an address. All
// owners of each `Rc` lie inside the fields of one value: no method returns one, and what they do
// return (`Function`, `Table`, `Global`, `WasmValue`) holds none; so all counting happens on the
// thread that has the value. The host functions are those of `imports.rs`, which capture the desk,
// numbers and the configuration's host functions (`Send` and `Sync`); the memories are `Lent`, with
// a `PooledMemory`. The address is that of the memory in the store.
unsafe impl Send for Caged {}

impl Caged {
    /// Instantiates without running the start function. `made` belongs to the engine's backend.
    pub(crate) fn new(
        engine: &Engine,
        made: &Made,
        shared: &ModuleData,
        state: HostState,
    ) -> Result<Self> {
        let mut store = Store::new(engine.clone());
        let largest = shared.imports.largest;
        let desk = Desk::default();
        let imports = shared.imports.define(&mut store, &desk);
        let instance =
            ModuleInstance::instantiate_no_start(&mut store, &shared.module, Some(imports))
                .map_err(crate::trap::of_instantiation)?;
        let memory = shared.guest.info().memory.and_then(|_| instance.memory(MEMORY).ok());
        let memory = memory.map(|memory| (memory, made.address()));
        let host = Some(Host { state, memory, clock: Clock::default() });
        let (made, interruptible) = (made.clone(), shared.guest.config.is_interruptible());
        made.limit(None);
        Ok(Self { store, instance, desk, host, largest, made, interruptible, fuel: None })
    }

    pub(crate) fn function(&self, name: &str) -> Result<Function> {
        self.instance.func_untyped(&self.store, name).map_err(Error::runtime(ID, "find an export"))
    }

    /// The module's start function, where it has one.
    pub(crate) fn start(&self) -> Result<Option<Function>> {
        self.instance.start_func(&self.store).map_err(Error::runtime(ID, "find the start function"))
    }

    /// Runs a function until it returns or a limit of the call ends it. A panic, as in
    /// `memory.init` with a negative length, is a trap; the host is lost then, so the instance
    /// makes no further call.
    pub(crate) fn call(
        &mut self,
        function: &Function,
        params: &[WasmValue],
    ) -> tinywasm::Result<Vec<WasmValue>> {
        let panicked = || Err(carry(Trap::with_detail(TrapKind::Other, PANICKED)));
        let Some(mut host) = self.host.take() else { return panicked() };
        let limited = self.interruptible || self.fuel.is_some();
        let clock = limited.then(|| {
            host.clock = host.state.start_clock();
            host.clock.clone()
        });
        self.desk.replace(Some(host));
        let (store, fuel) = (&mut self.store, &mut self.fuel);
        let ended = catch_unwind(AssertUnwindSafe(|| match clock {
            None => function.call(store, params),
            Some(clock) => limited_call(function, store, params, &clock, fuel),
        }));
        let host = self.desk.take();
        let Ok(ended) = ended else { return panicked() };
        self.host = host;
        ended
    }

    pub(crate) fn begin_limits(&mut self) {
        let limits = self.host().map(|host| host.limits()).unwrap_or_default();
        self.made.limit(limits.pages);
        self.fuel = limits.fuel;
    }

    pub(crate) fn end_limits(&mut self) {
        self.made.limit(None);
        self.fuel = None;
    }

    /// For globals and tables.
    pub(crate) fn instance_and_store(&mut self) -> (&ModuleInstance, &mut Store) {
        (&self.instance, &mut self.store)
    }

    pub(crate) fn host(&mut self) -> Option<&mut HostState> {
        Some(&mut self.host.as_mut()?.state)
    }

    pub(crate) fn memory_and_host(&mut self) -> Option<(&mut [u8], &mut HostState)> {
        let host = self.host.as_mut()?;
        let memory = match &host.memory {
            Some((memory, base)) => {
                let size = memory.len(&self.store).ok()?;
                // SAFETY: base and size are those of the memory in the store; it
                // is not running, and the result borrows all of `self`.
                unsafe { bytes(*base, size) }
            }
            None => &mut [],
        };
        Some((memory, &mut host.state))
    }

    pub(crate) fn grow_memory(&mut self, pages: u32) -> bool {
        let memory = self.host.as_ref().and_then(|host| host.memory);
        memory.is_some_and(|(memory, _)| grow_by_host(memory, &mut self.store, pages, self.largest))
    }

    /// Puts back the size of a memory that the host sizes. Whether that was done.
    pub(crate) fn shrink_memory(&mut self, size: usize) -> bool {
        let memory = self.host.as_ref().and_then(|host| host.memory);
        memory.is_some_and(|(memory, _)| {
            self.largest.is_some() && resize(memory, &mut self.store, size)
        })
    }

    /// Drops store and instance; what the host kept is given back, to be used again.
    pub(crate) fn into_host(self) -> Option<HostState> {
        self.host.map(|host| host.state)
    }
}

/// Calls in slices, and looks at the clock between them. Slices are of fuel where the call has a
/// limit of it, which tinywasm counts in steps of 128 instructions, and else of time: an
/// instruction that fills megabytes takes no more fuel than another one.
fn limited_call(
    function: &Function,
    store: &mut Store,
    params: &[WasmValue],
    clock: &Clock,
    fuel: &mut Option<u64>,
) -> tinywasm::Result<Vec<WasmValue>> {
    clock.check().map_err(carry)?;
    let mut call = function.call_resumable(store, params)?;
    loop {
        let Some(left) = *fuel else {
            if let ExecProgress::Completed(results) = call.resume_with_time_budget(BETWEEN)? {
                return Ok(results);
            }
            clock.check().map_err(carry)?;
            continue;
        };
        let slice = left.min(SLICE);
        if let ExecProgress::Completed(results) = call.resume_with_fuel(slice as u32)? {
            // The address of a module plays no part.
            let rest = FuncContext::new(store, 0).remaining_fuel();
            *fuel = Some(left - slice.saturating_sub(rest.into()));
            return Ok(results);
        }
        *fuel = Some(left - slice);
        clock.check().map_err(carry)?;
        if left == slice {
            return Err(carry(TrapKind::OutOfFuel));
        }
    }
}
