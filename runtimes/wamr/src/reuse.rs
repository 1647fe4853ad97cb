//! One instance for all calls, reset in place.

use crate::ID;
use crate::api::sizes_of;
use crate::module::ModuleData;
use crate::running::{Kept, Running};
use std::ffi::CString;
use std::sync::Arc;
use touchstone_executor::adapter::{CleanHost, Live, Resident};
use touchstone_executor::guest::ShortName;
use touchstone_executor::memory::{MemoryPool, PooledMemory, ResetterMut};
use touchstone_executor::{Error, Result};

/// An instance with its clean state.
pub(crate) struct ReusedInstance {
    running: Running,
    saved: Saved,
    /// Size of the clean memory, bytes.
    size: usize,
}

/// The clean state beside the memory. The pointers lead into the instance.
struct Saved {
    globals: Vec<(*mut u8, Vec<u8>)>,
    tables: Vec<(*mut usize, Vec<usize>)>,
    host: CleanHost,
}

// SAFETY: the pointers are used only with the instance beside them.
unsafe impl Send for Saved {}

impl Resident for ReusedInstance {
    type Shared = ModuleData;
    type Live = Running;

    fn new(shared: &Arc<ModuleData>) -> Result<Self> {
        let mut running = Running::instantiate(shared, Kept::new(shared))?;
        if shared.pool.is_none() && shared.guest.info().memory.is_some() {
            let template = shared.content.template(ID, running.memory())?;
            let size = template.size();
            let pool = Arc::new(MemoryPool::new(Some(template), 1).staying_open(true));
            let reserved = shared.reserved().max(size);
            running.install(PooledMemory::new(&pool, size, reserved, false)?, size);
        }
        let size = running.memory().len();
        let saved = Saved::of(&mut running, shared)?;
        Ok(Self { running, saved, size })
    }

    fn live(&mut self) -> &mut Running {
        &mut self.running
    }

    fn with_resetter<T>(&mut self, work: impl FnOnce(ResetterMut<'_>) -> T) -> Option<T> {
        self.running.state().lease.as_mut()?.resetter().map(work)
    }

    fn reset(&mut self) -> Result<bool> {
        let state = self.running.state();
        if let Some(mut lease) = state.lease.take() {
            let moved = lease.reset()?;
            // SAFETY: the fields of the instance, which does not run.
            let grown = unsafe { (*state.memory).place().1 != self.size };
            match moved || grown {
                true => self.running.install(lease, self.size),
                false => state.lease = Some(lease),
            }
        } else if self.running.shared().pool.is_some() {
            // A reset that panicked has dropped it.
            return Ok(false);
        }
        // SAFETY: the pointers are those of this instance, which does not run.
        unsafe { self.saved.restore() };
        self.running.host().reset_to(&self.saved.host);
        Ok(true)
    }
}

impl Saved {
    fn of(running: &mut Running, shared: &ModuleData) -> Result<Self> {
        let info = shared.guest.info();
        let missing = || Error::runtime(ID, "save an instance")("an export is missing");
        let mut globals = Vec::new();
        for global in &info.mutable_globals {
            let found = running.instance.global(&CString::from(ShortName::Global(global.index)));
            let (place, size) = found.ok_or_else(missing)?;
            // SAFETY: so many bytes of the instance, which does not run.
            globals.push((place, unsafe { std::slice::from_raw_parts(place, size) }.to_vec()));
        }
        let mut tables = Vec::new();
        for table in info.tables.iter().filter(|_| info.writes_tables) {
            let found = running.instance.table(&CString::from(ShortName::Table(table.index)));
            let (entries, size) = found.ok_or_else(missing)?;
            // SAFETY: so many entries of the instance, which does not run.
            let saved = unsafe { std::slice::from_raw_parts(entries, size as usize) }.to_vec();
            tables.push((entries, saved));
        }
        Ok(Self { globals, tables, host: running.host().save() })
    }

    /// Restores globals and tables, with their sizes: what lies behind a table's end is written
    /// when it grows.
    ///
    /// # Safety
    ///
    /// The instance is alive and does not run.
    unsafe fn restore(&self) {
        // SAFETY: places of the instance, which never move: a table has room for its largest size.
        unsafe {
            for (place, bytes) in &self.globals {
                place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            }
            for (entries, saved) in &self.tables {
                entries.copy_from_nonoverlapping(saved.as_ptr(), saved.len());
                (*sizes_of(*entries)).cur_size = saved.len() as u32;
            }
        }
    }
}
