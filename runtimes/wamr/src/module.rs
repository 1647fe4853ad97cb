//! A translated guest, and a loaded one.

use crate::ID;
use crate::api::Code;
use crate::reuse::ReusedInstance;
use crate::rewrite::{Added, Rewritten, rewrite};
use crate::running::Running;
use std::ffi::CString;
use std::sync::Arc;
use touchstone_executor::adapter::{Changes, CleanContent, LoadedGuest, LoadedModule};
use touchstone_executor::guest::{GuestModule, WASM_PAGE};
use touchstone_executor::memory::MemoryPool;
use touchstone_executor::{Config, EffectiveConfig, Error, InstanceFrom, Result, Strategy};

/// Bytes of a guest's stack: frames, locals and operands.
pub(crate) const STACK: u32 = 1 << 20;

/// A guest as it is translated.
pub(crate) struct Program {
    pub(crate) code: Arc<Code>,
    /// The imports that follow the guest's.
    pub(crate) added: Vec<Added>,
    /// Name of the function behind each export handle.
    pub(crate) functions: Vec<CString>,
    pub(crate) has_start: bool,
}

/// Translates a guest.
pub(crate) fn prepare(
    guest: &GuestModule,
    strategy: Strategy,
    config: &Config,
) -> Result<Arc<Program>> {
    let changes = Changes::of(guest.info(), strategy, config);
    let Rewritten { wasm, functions, added, has_start } = rewrite(guest, changes)?;
    let imports = guest.info().imports.len() + added.len();
    let code = Code::load(&wasm, imports).map_err(Error::runtime(ID, "translate the module"))?;
    Ok(Arc::new(Program { code: Arc::new(code), added, functions, has_start }))
}

/// The parts that all instances of a loaded module share.
pub(crate) struct ModuleData {
    pub(crate) guest: LoadedGuest,
    pub(crate) program: Arc<Program>,
    pub(crate) content: CleanContent,
    /// Touchstone's memories, where the module's bytes tell their content.
    pub(crate) pool: Option<Arc<MemoryPool>>,
}

impl ModuleData {
    /// The most pages that the memory may have.
    pub(crate) fn largest(&self) -> u32 {
        self.guest.info().memory.map_or(0, |limits| limits.largest())
    }

    /// Bytes of addresses for a memory.
    pub(crate) fn reserved(&self) -> usize {
        self.largest() as usize * WASM_PAGE
    }

    /// Bytes of a memory whose content is known.
    pub(crate) fn size(&self) -> usize {
        self.guest.info().memory.map_or(0, |limits| limits.initial_bytes())
    }
}

pub(crate) fn load(program: &Arc<Program>, guest: LoadedGuest) -> Result<LoadedModule<ModuleData>> {
    let content = CleanContent::of(&guest.guest, guest.strategy)?;
    let pool = content.known().map(|template| {
        let pool = MemoryPool::new(Some(template.clone()), guest.config.instances as usize);
        // WAMR compares each access with the size.
        Arc::new(pool.staying_open(true))
    });
    let shared = Arc::new(ModuleData { guest, program: Arc::clone(program), content, pool });
    let (guest, effective) = (&shared.guest, describe(&shared));
    let loaded = LoadedModule::by_strategy::<Running, ReusedInstance>(guest, &shared, effective);
    Ok(loaded.probing_memory())
}

fn describe(shared: &ModuleData) -> EffectiveConfig {
    let LoadedGuest { strategy, config, .. } = &shared.guest;
    let deadline = if config.is_interruptible() {
        "on: functions and loops count down, and call the host, which asks the clock"
    } else {
        "off"
    };
    let words = EffectiveConfig::new()
        .with("execution", "interpreted")
        .with(
            "interpreter",
            "WAMR's fast one, of code that is translated when the module is loaded",
        )
        .with("bounds checks", "by comparison")
        .with("stack", format!("{} KiB", STACK >> 10))
        .with("deadline", deadline);
    match strategy.instance {
        InstanceFrom::Reuse => words
            .with("instances", "one, reset in place")
            .with("memory", "Touchstone's, in the place of WAMR's")
            .with("reset", shared.content.reset().to_string())
            .with("grown memory", "zeroed, the first size restored; memory.grow calls the host")
            .with("grown table", "the first size restored"),
        InstanceFrom::Recreate => words
            .with("instances", "new instance each call")
            .with("memory", "Touchstone's, in the place of WAMR's")
            .with("reset", shared.content.reset().to_string()),
        _ => words
            .with("instances", "new instance each call")
            .with("memory", "WAMR's own, mapped for each call")
            .with("reset", "everything is dropped but the stack"),
    }
}
