//! A store that serves one new instance after the other.
//!
//! Wasmtime keeps an instance for as long as its store, so that a new instance for each call is
//! usually a new store for each call. About a fifth of what that takes is the store's own: making
//! it, registering the module in it, dropping both. Here the next instance moves into the store of
//! the last one, which nobody can reach any more: no handle to it is left, it shared nothing, and
//! its memories were taken from it. What is left of it, globals and tables, goes with the store,
//! after a few instances or a trap. In a process with many such stores, it goes after each
//! instance. Between calls the store waits with its clean memory, until the instance is trimmed.

use crate::data::StoreData;
use crate::loan::{Loan, noting};
use std::sync::{Arc, LazyLock};
use touchstone_executor::adapter::HostState;
use touchstone_executor::guest::ModuleInfo;
use wasmtime::{Engine, Store};

/// Instances that a store serves at most, and at least where they are not very large. An
/// empty call on a new instance of `json_module` took 1310, 1140, 1080, 1040 and 1040 ns
/// with 1, 2, 4, 8 and 16, on one of `json_component` 2400, 2210, 2060, 2120 and 2210 (the
/// fastest of six times 0.12 s of `touchstone repeat`, median of three): what is left
/// behind is not in the processor's caches, which a new store on the same bytes is.
const MOST: u64 = 8;
const FEW: u64 = 4;
/// Bytes that are likely to stay in a first-level cache.
const CACHED: u64 = 64 << 10;
/// Bytes that instances which are done may take until their store is dropped.
const LEFT_BEHIND: u64 = 1 << 20;
/// Bytes that an instance takes beside its functions and tables: a guess on the safe side.
const INSTANCE: u64 = 4096;
/// Instances, memories and tables that a store allows, each (`DEFAULT_INSTANCE_LIMIT` and others in
/// `runtime/limits.rs`).
const ALLOWED: u32 = 10_000;
/// Bytes of what refers to a function, of which each function that is exported or in a
/// table may have one (`VMFuncRef`), and of an entry of a table.
const FUNCTION: u64 = 32;
const ENTRY: u64 = 8;

/// How many instances of a guest a store may serve, if their memories can be taken back.
pub(crate) fn tenants(info: &ModuleInfo) -> u32 {
    let Some(each) = left_behind(info) else { return 1 };
    let most = (LEFT_BEHIND / each).min(MOST).min(u64::from(within_limits(info)));
    (CACHED / each).clamp(FEW, MOST).min(most).max(1) as u32
}

/// Instances of a guest that the limits of a store allow: it counts those that are done, too.
fn within_limits(info: &ModuleInfo) -> u32 {
    let needs = info.component.as_ref().and_then(|component| component.needs);
    let each = needs.map_or(1, |needs| needs.instances.max(needs.memories).max(needs.tables));
    ALLOWED / each.max(1)
}

/// Bytes that an instance leaves behind; `None` where the guest decides about that.
fn left_behind(info: &ModuleInfo) -> Option<u64> {
    let sum = |all: &mut dyn Iterator<Item = u64>| all.fold(0, u64::saturating_add);
    if let Some(component) = &info.component {
        let modules = &component.modules;
        let instances = component.needs?.instances.max(1).into();
        // Handles that are left behind count against the store's limit.
        let has_handles = component.has_resources() || component.preview2().is_some();
        if has_handles || modules.iter().any(|module| module.grows_tables) {
            return None;
        }
        let entries = sum(&mut modules.iter().map(|module| module.table_elements));
        let largest = INSTANCE.saturating_add(entries.saturating_mul(ENTRY + FUNCTION));
        return Some(largest.saturating_mul(instances));
    }
    if info.tables.iter().any(|table| table.grown) {
        return None;
    }
    let entries = sum(&mut info.tables.iter().map(|table| table.minimum));
    let functions = (info.functions as u64).saturating_mul(FUNCTION);
    Some(INSTANCE.saturating_add(entries.saturating_mul(ENTRY)).saturating_add(functions))
}

/// Held by each place of this process in which one instance follows the other.
static PLACES: LazyLock<Arc<()>> = LazyLock::new(Arc::default);

/// Places from which on each instance has a store of its own: memory beside what is left behind is
/// in no cache by then. A call on a random one of 10, 100, 300, 1,000 and 10,000 places took 1.8,
/// 2.6, 3.7, 4.9 and 14.5 µs with eight instances in a store and 3.2, 3.2, 3.9, 4.9 and 8.8 µs with
/// one (`touchstone density 'wasmtime_recreate_instance_tracked$'`, Xeon, family 6, model 207).
const CROWDED: usize = 256;

/// A store, the memories of the instance in it, and how many more may follow.
pub(crate) struct Tenancy {
    pub(crate) store: Store<StoreData>,
    loans: Vec<Arc<Loan>>,
    left: u32,
    place: Arc<()>,
}

/// The parts of an instance that the next one reuses.
#[expect(clippy::large_enum_variant, reason = "moved once for each instance; a box would allocate")]
pub(crate) enum Kept {
    /// A store with room for it.
    Store(Tenancy),
    /// Parts for a new store: the host's buffers, mostly.
    Parts(HostState, Vec<Arc<Loan>>, Arc<()>),
}

impl Tenancy {
    /// A new store for a number of instances.
    pub(crate) fn new(engine: &Engine, host: HostState, tenants: u32) -> Self {
        let store = Store::new(engine, StoreData::new(host));
        Self { store, loans: Vec::new(), left: tenants, place: Arc::clone(&PLACES) }
    }

    /// The store of the last instance, with a clean host, or a new one.
    #[inline]
    pub(crate) fn next(
        kept: Option<Kept>,
        engine: &Engine,
        tenants: u32,
        host: impl FnOnce() -> HostState,
    ) -> Self {
        match kept {
            Some(Kept::Store(mut tenancy)) => {
                let data = tenancy.store.data_mut();
                data.memory = None;
                data.reset();
                tenancy
            }
            Some(Kept::Parts(mut host, loans, place)) => {
                host.reset();
                let store = Store::new(engine, StoreData::new(host));
                Self { store, loans, left: tenants, place }
            }
            None => Self::new(engine, host(), tenants),
        }
    }

    /// Makes an instance in the store. The one before must have ended.
    ///
    /// # Errors
    ///
    /// Those of `instantiate`; the store is not used any more then.
    #[inline]
    pub(crate) fn instantiate<T>(
        &mut self,
        instantiate: impl FnOnce(&mut Store<StoreData>) -> wasmtime::Result<T>,
    ) -> wasmtime::Result<T> {
        self.left = self.left.saturating_sub(1);
        noting(&mut self.loans, || instantiate(&mut self.store))
    }

    /// Ends the instance. After one that did not end `well`, by a trap or half made, after the
    /// last one, and where there are many places, the store goes too.
    #[inline]
    pub(crate) fn end(self, well: bool) -> Kept {
        self.loans.iter().for_each(|loan| loan.end());
        if well && self.left > 0 && Arc::strong_count(&PLACES) < CROWDED {
            return Kept::Store(self);
        }
        Kept::Parts(self.store.into_data().host, self.loans, self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_are_many_places_no_store_waits_for_a_next_instance() {
        let engine = Engine::default();
        let waits = || {
            let host = HostState::new(None, &touchstone_executor::Config::default());
            matches!(Tenancy::new(&engine, host, 8).end(true), Kept::Store(_))
        };
        assert!(waits());
        let crowd = vec![Arc::clone(&PLACES); CROWDED];
        assert!(!waits());
        drop(crowd);
        assert!(waits());
    }
}
