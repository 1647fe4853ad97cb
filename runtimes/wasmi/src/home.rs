//! A store, and Touchstone's memory that is lent to it. With `record.rs`, all unsafe code of this
//! crate.
//!
//! wasmi takes a memory only as `&'static mut [u8]` and keeps it, as a raw pointer and a length,
//! until its store is dropped. Touchstone remaps and resets that memory, and sets its length, while
//! the store is alive. Three rules make this sound:
//!
//! 1. **The mapping outlives the store.** Both are private fields of [`Home`], the store is
//!    declared (so dropped) first, and [`Home::store`] returns a context, which cannot be swapped
//!    for another.
//! 2. **No slice is alive during a change.** Slices that wasmi returns borrow from a context, so
//!    from `&mut Home`; all that remaps or resets takes `&mut Home` or `Home`.
//! 3. **All access goes through one pointer.** After the memory is lent, this side uses only the
//!    pointer that wasmi keeps (`Memory::data_ptr`), never one derived from the mapping. The memory
//!    never moves: a static buffer grows only in place.

use crate::record::Record;
use touchstone_executor::adapter::{Clock, HostState};
use touchstone_executor::guest::{MemoryLimits, WASM_PAGE};
use touchstone_executor::memory::{Mapping, MemoryTemplate, Resetter, ResetterMut};
use touchstone_executor::{Error, Limits, Result};
use wasmi::{
    AsContextMut, Memory, MemoryType, Store, StoreContextMut, StoreLimits, StoreLimitsBuilder,
};

/// The data of a store, for the host functions.
pub(crate) struct StoreState {
    pub(crate) host: HostState,
    /// The guest's memory, once it is instantiated or lent.
    pub(crate) memory: Option<Memory>,
    pub(crate) clock: Clock,
    /// Fuel that the running call has left, if it is limited.
    pub(crate) fuel: Option<u64>,
    /// Limits of growth in the running call, once a call had some.
    growth: Option<StoreLimits>,
}

impl StoreState {
    pub(crate) fn new(host: HostState) -> Self {
        Self { host, memory: None, clock: Clock::default(), fuel: None, growth: None }
    }
}

/// A store with the memory that is lent to it, if one is.
pub(crate) struct Home {
    // Dropped in this order (rule 1). In a box, because it is large and homes are moved.
    store: Box<Store<StoreState>>,
    lent: Option<Lent>,
}

struct Lent {
    /// `None` before a template is installed. Dropped before the mapping.
    resetter: Option<Resetter>,
    mapping: Mapping,
    memory: Memory,
    /// Leads into this store. `None` if lending failed.
    record: Option<Record>,
}

impl Home {
    /// A store without a memory of Touchstone's.
    pub(crate) fn new(engine: &wasmi::Engine, host: HostState) -> Self {
        Self { store: Box::new(Store::new(engine, StoreState::new(host))), lent: None }
    }

    /// Lends the store a memory of Touchstone's, once. wasmi would write zeros to all of the
    /// initial size, so it gets a memory without pages, whose record then gets the size.
    pub(crate) fn lend(&mut self, engine: &'static str, limits: MemoryLimits) -> Result<Memory> {
        if self.lent.is_some() {
            return Err(Error::Misuse("a store is lent one memory only"));
        }
        let bytes = limits.largest() as usize * WASM_PAGE;
        let mapping = Mapping::new(bytes, bytes)?;
        // SAFETY: the first `bytes` bytes of the mapping are readable, writable and initialised by
        // the kernel, and no other reference to them exists. They do not live for 'static, but
        // longer than the store, which alone can use the reference (rule 1).
        let buffer: &'static mut [u8] =
            unsafe { std::slice::from_raw_parts_mut(mapping.base(), bytes) };
        let ty = MemoryType::new(0, limits.maximum);
        let memory = Memory::new_static(&mut *self.store, ty, buffer)
            .map_err(Error::runtime(engine, "take a memory"))?;
        // From now on the store points to the mapping.
        let record = Record::of_first(&mut self.store);
        let lent = self.lent.insert(Lent { resetter: None, mapping, memory, record });
        let Some(record) = &mut lent.record else {
            return Err(Error::runtime(engine, "take a memory")("its record is not found"));
        };
        // SAFETY: the store is this value's, and no slice is alive (rule 2). The buffer is at least
        // as large, and zero.
        unsafe { record.set_size(limits.initial_bytes()) };
        self.store.data_mut().memory = Some(memory);
        Ok(memory)
    }

    /// Sets the clean content of the lent memory. Consumes `self`, because after a failure the
    /// memory may be closed.
    pub(crate) fn install(mut self, template: &MemoryTemplate) -> Result<Self> {
        let Some(lent) = &mut self.lent else {
            return Err(Error::Misuse("a template needs a lent memory"));
        };
        let open = lent.mapping.accessible();
        if template.size() > open {
            return Err(Error::Misuse("the template is for a larger memory"));
        }
        // An old one must not reset the new mappings.
        lent.resetter = None;
        // Closing drops all pages; the opened memory is zero and not resident.
        lent.mapping.resize(0)?;
        lent.mapping.resize(open)?;
        // SAFETY: the pointer is the page-aligned start of a private mapping of at least
        // `template.size()` bytes, all zero and untouched; no slice of it is alive (rule 2). It is
        // mapped until `lent` is dropped, after the store.
        let resetter = unsafe { template.install(lent.memory.data_ptr(&*self.store)) }?;
        lent.resetter = Some(resetter);
        Ok(self)
    }

    /// Resets the lent memory to the template's content and size. After an error it must not be
    /// used.
    pub(crate) fn reset(&mut self) -> Result<()> {
        let Some(Lent { resetter: Some(resetter), memory, record: Some(record), .. }) =
            &mut self.lent
        else {
            return Ok(());
        };
        let open = memory.data_size(&*self.store);
        // SAFETY: no slice of the memory is alive and nothing runs (rule 2), and `open` bytes of
        // the mapping are open. wasmi zeroes what it opens when the memory grows.
        unsafe { resetter.reset_shrunk(open) }?;
        let clean = resetter.template().size();
        if open != clean {
            // SAFETY: as above, and the store is this value's. `clean` bytes of the buffer are
            // open.
            unsafe { record.set_size(clean) };
        }
        Ok(())
    }

    /// Resets the lent memory; `None` before a template is installed.
    pub(crate) fn resetter(&mut self) -> Option<ResetterMut<'_>> {
        self.lent.as_mut()?.resetter.as_mut().map(ResetterMut::from)
    }

    pub(crate) fn store(&mut self) -> StoreContextMut<'_, StoreState> {
        self.store.as_context_mut()
    }

    /// Holds growth to these limits.
    pub(crate) fn limit_growth(&mut self, limits: &Limits) {
        let mut builder = StoreLimitsBuilder::new();
        if let Some(pages) = limits.pages {
            builder = builder.memory_size(pages as usize * WASM_PAGE);
        }
        if let Some(entries) = limits.table_entries {
            builder = builder.table_elements(entries as usize);
        }
        if self.state().growth.replace(builder.build()).is_none() {
            self.store.limiter(|state| state.growth.get_or_insert_default());
        }
    }

    pub(crate) fn end_limits(&mut self) {
        self.state().fuel = None;
        if let Some(growth) = &mut self.state().growth {
            *growth = StoreLimits::default();
        }
    }

    pub(crate) fn state(&mut self) -> &mut StoreState {
        self.store.data_mut()
    }
}
