//! The data of a store: the host's state, and what limits the running call.

use crate::meter;
use std::ops::{Deref, DerefMut};
use touchstone_executor::adapter::{Clock, EnforcedLimits, HostState};
use touchstone_executor::guest::WASM_PAGE;
use touchstone_executor::{Result, Trap, TrapKind};
use wasmtime::{Memory, ResourceLimiter, Store, UpdateDeadline};

pub(crate) struct StoreData {
    pub(crate) host: HostState,
    /// The memory of the store's instance, once a host function has asked for it.
    pub(crate) memory: Option<Memory>,
    /// Of a call that can be interrupted.
    pub(crate) clock: Clock,
    /// Fuel of the store beside what the running call may use.
    fuel: Option<Fuel>,
    has_limiter: bool,
    has_callback: bool,
}

struct Fuel {
    /// The store's at the beginning of the call.
    before: u64,
    /// The call's.
    given: u64,
}

impl StoreData {
    pub(crate) fn new(host: HostState) -> Self {
        let (memory, clock, fuel) = (None, Clock::default(), None);
        Self { host, memory, clock, fuel, has_limiter: false, has_callback: false }
    }
}

impl Deref for StoreData {
    type Target = HostState;

    #[inline]
    fn deref(&self) -> &HostState {
        &self.host
    }
}

impl DerefMut for StoreData {
    #[inline]
    fn deref_mut(&mut self) -> &mut HostState {
        &mut self.host
    }
}

/// The limits that calls in such a store can have.
pub(crate) fn enforced(interruptible: bool, metered: bool) -> EnforcedLimits {
    EnforcedLimits { deadline: interruptible, fuel: metered, pages: true, table_entries: true }
}

/// Begins a call with limits.
pub(crate) fn begin(id: &'static str, store: &mut Store<StoreData>) -> Result<()> {
    let limits = store.data().limits();
    let has_growth = limits.pages.is_some() || limits.table_entries.is_some();
    if has_growth && !std::mem::replace(&mut store.data_mut().has_limiter, true) {
        store.limiter(|data| data);
    }
    if store.data().can_be_interrupted() {
        let data = store.data_mut();
        data.clock = data.host.start_clock();
    }
    if let Some(given) = limits.fuel {
        let before = meter::left(id, store)?;
        meter::set(id, store, given)?;
        store.data_mut().fuel = Some(Fuel { before, given });
    }
    Ok(())
}

/// Has each epoch look at the clock of a call that can be interrupted.
pub(crate) fn look_in_epochs(store: &mut Store<StoreData>) {
    if std::mem::replace(&mut store.data_mut().has_callback, true) {
        return;
    }
    store.epoch_deadline_callback(|mut store| {
        // A call that cannot be interrupted has one epoch, which is its deadline.
        let data = store.data_mut();
        if !data.can_be_interrupted() {
            return Err(Trap::from(TrapKind::DeadlineExceeded).into());
        }
        data.clock.check()?;
        Ok(UpdateDeadline::Continue(1))
    });
}

/// Ends a call with limits.
pub(crate) fn end(id: &'static str, store: &mut Store<StoreData>) {
    store.data_mut().clock = Clock::default();
    if let Some(Fuel { before, given }) = store.data_mut().fuel.take() {
        // The store was found to have fuel when the call began.
        let used = given.saturating_sub(meter::left(id, store).unwrap_or(0));
        let _ = meter::set(id, store, before.saturating_sub(used));
    }
}

impl ResourceLimiter for StoreData {
    fn memory_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(self.limits().pages.is_none_or(|pages| desired <= pages as usize * WASM_PAGE))
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(self.limits().table_entries.is_none_or(|entries| desired <= entries as usize))
    }
}
