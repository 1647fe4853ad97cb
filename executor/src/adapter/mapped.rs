//! An instance over whose memory its clean content is mapped.

use super::{CleanContent, Disposable, Live, LoadedGuest, Resident};
use crate::error::{Error, Result};
use crate::guest::ModuleInfo;
use crate::host::CleanHost;
use crate::memory::{Resetter, ResetterMut};
use std::sync::Arc;

/// An instance with a memory of the runtime's that a [`Resetter`] can look after.
///
/// # Safety
///
/// The memory of a new instance is page-aligned and private, and stays at its place as long as the
/// instance lives. Only the instance has it, and nobody writes it after the instance is dropped.
pub unsafe trait InPlace: Stateful + Disposable {
    /// The guest, and the content of its clean memories.
    fn parts(shared: &Self::Shared) -> (&LoadedGuest, &CleanContent);

    /// Resets the memory to its clean content of `size` bytes, a region included. There is no
    /// resetter for a memory without pages. `false` if something grew that cannot shrink.
    fn reset_memory(&mut self, size: usize, resetter: Option<&mut Resetter>) -> Result<bool>;
}

/// Such an instance with its clean state.
pub struct Mapped<L: InPlace> {
    // Dropped before the instance, which has its memory.
    resetter: Option<Resetter>,
    live: L,
    snapshot: Snapshot<L>,
    /// Bytes of the clean memory, with its region.
    size: usize,
}

impl<L: InPlace> Resident for Mapped<L> {
    type Shared = L::Shared;
    type Live = L;

    fn new(shared: &Arc<L::Shared>) -> Result<Self> {
        let (guest, content) = L::parts(shared);
        let mut live = L::new(shared, None)?;
        let snapshot = Snapshot::take(&mut live, guest.info())?;
        let (mut resetter, mut size) = (None, 0);
        let memory = live.memory();
        if !memory.is_empty() {
            let (template, base) = (content.template(guest.engine, memory)?, memory.as_mut_ptr());
            // SAFETY: by the contract of `InPlace`, and as `template` checks, this is a private
            // memory of the template's size, of which no slice is alive any more. All that is not
            // zero in it is part of the content. It is dropped after the resetter.
            resetter = Some(unsafe { template.install(base) }?);
            content.check(guest, &template, base as usize)?;
            size = template.whole_size();
        }
        Ok(Self { resetter, live, snapshot, size })
    }

    #[inline]
    fn live(&mut self) -> &mut L {
        &mut self.live
    }

    #[inline]
    fn with_resetter<T>(&mut self, work: impl FnOnce(ResetterMut<'_>) -> T) -> Option<T> {
        self.resetter.as_mut().map(|resetter| work(resetter.into()))
    }

    fn reset(&mut self) -> Result<bool> {
        Ok(self.live.reset_memory(self.size, self.resetter.as_mut())?
            && self.snapshot.restore(&mut self.live)?)
    }
}

/// The error for state that rewriting should have exported.
pub const NOT_EXPORTED: Error = Error::Misuse("mutable state that is not exported");

/// An instance whose globals and tables can be saved by name and restored. Fails with
/// [`NOT_EXPORTED`] for a name that the instance does not have, or when the runtime fails.
pub trait Stateful: Live {
    /// A global with its value.
    type Global: Send;
    /// A table with its entries.
    type Table: Send;

    /// Saves a global.
    fn save_global(&mut self, name: &str) -> Result<Self::Global>;

    /// Gives a global its saved value.
    fn restore_global(&mut self, saved: &Self::Global) -> Result<()>;

    /// Saves a table.
    fn save_table(&mut self, name: &str) -> Result<Self::Table>;

    /// Gives a table its saved entries. `false` if it has grown: nothing shrinks a table.
    fn restore_table(&mut self, saved: &Self::Table) -> Result<bool>;
}

/// Globals, tables and the host's allocator of a clean instance.
pub struct Snapshot<L: Stateful> {
    globals: Vec<L::Global>,
    tables: Vec<L::Table>,
    host: CleanHost,
}

impl<L: Stateful> Snapshot<L> {
    /// Saves all that the guest can change. Fails as [`Stateful`] does.
    pub fn take(live: &mut L, info: &ModuleInfo) -> Result<Self> {
        let exports = info.mutable_globals.iter().filter_map(|global| global.export.as_deref());
        let globals = exports.map(|name| live.save_global(name)).collect::<Result<_>>()?;
        Ok(Self { globals, ..Self::without_globals(live, info)? })
    }

    /// The same for instances whose globals come back by other means.
    pub fn without_globals(live: &mut L, info: &ModuleInfo) -> Result<Self> {
        let written = info.tables.iter().filter(|_| info.writes_tables);
        let exports = written.filter_map(|table| table.export.as_deref());
        let tables = exports.map(|name| live.save_table(name)).collect::<Result<_>>()?;
        Ok(Self { globals: Vec::new(), tables, host: live.host().save() })
    }

    /// Restores everything but the memory. `false` if a table has grown.
    #[inline]
    pub fn restore(&self, live: &mut L) -> Result<bool> {
        for global in &self.globals {
            live.restore_global(global)?;
        }
        for table in &self.tables {
            if !live.restore_table(table)? {
                return Ok(false);
            }
        }
        live.host().reset_to(&self.host);
        Ok(true)
    }
}
