//! Instances of components that are reset in place: memories from outside, globals and tables by
//! functions that were added to the component, handles by taking all that a call can have had.

use super::loaded::Function;
use super::memories::ComponentMemories;
use crate::data::StoreData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use touchstone_executor::memory::ResetMethod;
use touchstone_executor::{Error, Result};
use touchstone_wasmtime_memory::parts::{Restored, SavedState};
use wasmtime::Store;
use wasmtime::component::{ComponentExportIndex, Instance, TypedFunc};

/// Data that all such instances of a component share.
pub(super) struct ResetPlan {
    pub(super) id: &'static str,
    /// The functions that were added to the component.
    pub(super) functions: Vec<ComponentExportIndex>,
    /// How memories are reset.
    pub(super) reset: ResetMethod,
    pub(super) memories: Arc<ComponentMemories>,
    /// `true` if the component has handles.
    pub(super) has_handles: bool,
    /// The function that counts entries, if each function has an
    /// [entry](touchstone_executor::guest::ComponentInfo::entries): the next use then restores the
    /// state when it enters the component.
    pub(super) enters: Option<ComponentExportIndex>,
}

/// Handles that a call of a function may have at a time, of all tables together: as many
/// as the calls so far have needed. Each of them is taken and given back in each reset.
#[derive(Default)]
pub(super) struct Handles(AtomicU32);

impl Handles {
    /// Handles that are put in order at most. A function that needs more gets a new instance
    /// for each call.
    const MOST: u32 = 1000;

    /// `None`: more than can be put in order.
    fn limit(&self) -> Option<u32> {
        Some(self.0.load(Ordering::Relaxed)).filter(|limit| *limit <= Self::MOST)
    }

    /// A call has needed more than the limit was.
    fn raise(&self, limit: u32) {
        self.0.fetch_max(limit + 1 + limit / 8, Ordering::Relaxed);
    }
}

/// The reset of an instance.
pub(super) struct InPlace {
    memories: Vec<Restored>,
    state: SavedState,
    has_handles: bool,
    /// Counts the calls that came through entries, where there are any.
    entered: Option<TypedFunc<(), (u32,)>>,
    /// Such calls so far.
    count: u32,
    /// `true` if the next call must be that of an entry.
    is_due: bool,
    /// How many handles the store allows; `None`: as many as a store does at first.
    limit: Option<u32>,
    /// The same at first.
    unlimited: usize,
}

impl InPlace {
    /// For an instance that nobody has called.
    pub(super) fn new(
        plan: &ResetPlan,
        store: &mut Store<StoreData>,
        instance: Instance,
    ) -> Result<Self> {
        let failed = || Error::runtime(plan.id, "save the state of the component");
        let functions = plan.functions.iter();
        let functions = functions
            .map(|index| instance.get_typed_func(&mut *store, index))
            .collect::<wasmtime::Result<_>>()
            .map_err(failed())?;
        let (state, places) = SavedState::new(store, functions).map_err(failed())?;
        let mut memories = Vec::new();
        for place in places {
            // SAFETY: the instance runs only in calls on the store, none of which is on its
            // way now or in `reset` when it uses memories; nobody makes slices of them.
            let mut memory = unsafe { Restored::new(place, plan.reset) }?;
            // By the instance that this one is of.
            memory.with_resetter(|mut resetter| resetter.note_threads());
            if let Some(address) = memory.data() {
                plan.memories.note(address);
            }
            memories.push(memory);
        }
        let (has_handles, unlimited) = (plan.has_handles, store.max_component_handles());
        let entered = plan.enters.as_ref().map(|index| instance.get_typed_func(&mut *store, index));
        let entered = entered.transpose().map_err(failed())?;
        let (is_due, limit, count) = (false, None, 0);
        Ok(Self { memories, state, has_handles, entered, count, is_due, limit, unlimited })
    }

    /// Bounds the handles of a call. `is_first`: nothing was called since the instance was
    /// clean. Only such a call can be made again on another instance, when it needs more.
    #[inline]
    pub(super) fn bound(
        &mut self,
        store: &mut Store<StoreData>,
        handles: &Handles,
        is_first: bool,
    ) {
        if self.has_handles {
            let limit = if is_first { handles.limit() } else { None };
            if limit != self.limit {
                let most = limit.map_or(self.unlimited, |limit| limit as usize);
                store.set_max_component_handles(most);
                self.limit = limit;
            }
        }
    }

    /// `true` if the last call may have failed because it needed more handles than it was allowed.
    pub(super) fn is_bounded(&self) -> bool {
        self.limit.is_some()
    }

    /// The last call has needed more handles than it was allowed.
    pub(super) fn raise(&self, handles: &Handles) {
        if let Some(limit) = self.limit {
            handles.raise(limit);
        }
    }

    /// Makes the instance clean. `false` where that cannot be done: a table has grown,
    /// handles are left or there were too many. It must then not be used.
    /// Fails when the kernel refuses to reset a memory; the instance must then not be used.
    #[inline]
    pub(super) fn reset(&mut self, store: &mut Store<StoreData>) -> Result<bool> {
        let handles = match self.limit {
            Some(limit) => limit,
            None if self.has_handles => return Ok(false),
            None => 0,
        };
        for memory in &mut self.memories {
            memory.reset()?;
        }
        if self.entered.is_some() {
            self.is_due = true;
            return Ok(true);
        }
        Ok(self.state.restore(store, handles).unwrap_or(false))
    }

    /// Where a call of a function goes in.
    #[inline]
    pub(super) fn way(&self, function: &Function) -> ComponentExportIndex {
        function.entry.filter(|_| self.is_due).unwrap_or(function.index)
    }

    /// A call has returned.
    #[inline]
    pub(super) fn returned(&mut self) {
        self.count = self.count.wrapping_add(u32::from(self.is_due));
        self.is_due = false;
    }

    /// Before another call of a use in which one has failed. That one may have come so far as to
    /// bring the state back, and then changed it, or failed before.
    #[cold]
    pub(super) fn failed(&mut self, store: &mut Store<StoreData>) {
        if let Some(entered) = self.entered.as_ref().filter(|_| self.is_due)
            // After a trap, neither this nor the next call enters the component.
            && let Ok((count,)) = entered.call(store, ())
            && count != self.count
        {
            self.returned();
        }
    }

    /// Lets go of what the memories of a clean instance keep resident.
    /// Fails when the kernel refuses; the instance must then not be used.
    pub(super) fn trim(&mut self) -> Result<()> {
        Ok(self.memories.iter_mut().try_for_each(Restored::trim)?)
    }
}
