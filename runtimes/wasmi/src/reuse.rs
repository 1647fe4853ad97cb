//! `instance_reuse…`: one instance, reset in place, in a memory of Touchstone's.

use crate::code::SharedCode;
use crate::home::Home;
use crate::module::SharedModule;
use crate::running::{Buffers, Running};
use std::sync::Arc;
use touchstone_executor::adapter::{Live, NOT_EXPORTED, Resident, Snapshot, Stateful};
use touchstone_executor::memory::ResetterMut;
use touchstone_executor::{EffectiveConfig, Error, Result};
use wasmi::{Global, Ref, Table, TableType, Val};

pub(crate) fn describe(shared: &SharedModule) -> EffectiveConfig {
    let info = shared.guest.info();
    let tables = if info.writes_tables { info.tables.len() } else { 0 };
    let globals = info.mutable_globals.len();
    let effective = shared
        .effective()
        .with("instance", format!("one, reset in place: {globals} globals, {tables} tables"))
        .with(
            "engine",
            "one for each thread that makes instances, because the instances of one engine share a \
             lock in every call. Each further thread translates the module again for its first one",
        )
        .with("grown table", "the instance is replaced by a new one");
    shared
        .content
        .describe(info, effective)
        .with("grown memory", "the first size is restored; wasmi zeroes pages that it opens")
}

/// An instance with its clean state.
pub(crate) struct ResetInstance {
    running: Running,
    snapshot: Snapshot<Running>,
    /// The code of `running`, counted until this is dropped, after that.
    _code: SharedCode,
}

impl Resident for ResetInstance {
    type Shared = SharedModule;
    type Live = Running;

    fn new(shared: &Arc<SharedModule>) -> Result<Self> {
        let (engine, info) = (shared.guest.engine, shared.guest.info());
        let code = shared.codes.take()?;
        let mut home = Home::new(&code.engine, shared.guest.new_host());
        if let Some(limits) = info.memory {
            home.lend(engine, limits)?;
        }
        let mut running = Running::instantiate(shared, &code.module, home, Buffers::default())?;
        let snapshot = Snapshot::take(&mut running, info)?;
        if info.memory.is_some() {
            let template = shared.content.template(engine, running.memory())?;
            running.home = running.home.install(&template)?;
            let base = running.memory().as_ptr() as usize;
            shared.content.check(&shared.guest, &template, base)?;
        }
        Ok(Self { running, snapshot, _code: code })
    }

    fn live(&mut self) -> &mut Running {
        &mut self.running
    }

    fn with_resetter<T>(&mut self, work: impl FnOnce(ResetterMut<'_>) -> T) -> Option<T> {
        self.running.home.resetter().map(work)
    }

    fn reset(&mut self) -> Result<bool> {
        self.running.home.reset()?;
        self.snapshot.restore(&mut self.running)
    }
}

impl Stateful for Running {
    type Global = (Global, Val);
    /// A table, and a copy of its first entries in the same store.
    type Table = (Table, Table);

    fn save_global(&mut self, name: &str) -> Result<Self::Global> {
        let instance = self.instance;
        let store = self.home.store();
        let global = instance.get_global(&store, name).ok_or(NOT_EXPORTED)?;
        Ok((global, global.get(&store)))
    }

    #[inline]
    fn restore_global(&mut self, (global, value): &Self::Global) -> Result<()> {
        let set = global.set(self.home.store(), value.clone());
        set.map_err(Error::runtime(self.engine(), "restore a global"))
    }

    fn save_table(&mut self, name: &str) -> Result<Self::Table> {
        let (instance, engine) = (self.instance, self.engine());
        let mut store = self.home.store();
        let table = instance.get_table(&store, name).ok_or(NOT_EXPORTED)?;
        let size = table.size(&store);
        let element = table.ty(&store).element();
        let ty = TableType::new(element, u32::try_from(size).unwrap_or(u32::MAX), None);
        let copy = Table::new(&mut store, ty, Ref::null(element))
            .map_err(|error| error.to_string())
            .and_then(|copy| {
                let copied = Table::copy(&mut store, &copy, 0, &table, 0, size);
                copied.map(|()| copy).map_err(|error| error.to_string())
            })
            .map_err(Error::runtime(engine, "save a table"))?;
        Ok((table, copy))
    }

    #[inline]
    fn restore_table(&mut self, (table, first): &Self::Table) -> Result<bool> {
        let engine = self.engine();
        let mut store = self.home.store();
        let size = first.size(&store);
        if table.size(&store) != size {
            return Ok(false);
        }
        Table::copy(&mut store, table, 0, first, 0, size)
            .map_err(Error::runtime(engine, "restore a table"))?;
        Ok(true)
    }
}
