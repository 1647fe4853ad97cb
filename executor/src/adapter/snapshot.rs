//! The state of a clean instance beside its memory.

use super::Live;
use crate::error::{Error, Result};
use crate::guest::ModuleInfo;
use crate::host::CleanHost;

/// The error for state that rewriting should have exported.
pub const NOT_EXPORTED: Error = Error::Misuse("mutable state that is not exported");

/// An instance whose globals and tables can be saved by name and restored.
///
/// # Errors
///
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
