//! A guest made ready for Wasm3, and what all instances of a loaded one share.

use crate::blocks;
use crate::machine::Machine;
use crate::reuse::SavedMachine;
use crate::rewrite::{Added, Rewritten, rewrite};
use std::ffi::CString;
use std::sync::Arc;
use touchstone_executor::adapter::{Changes, CleanContent, LoadedGuest, LoadedModule, MemoryClass};
use touchstone_executor::guest::{GuestModule, ModuleInfo, Segment};
use touchstone_executor::{Config, EffectiveConfig, InstanceFrom, Result, Strategy};

/// The facts about a module that a machine needs.
pub(crate) struct Program {
    pub(crate) engine: &'static str,
    pub(crate) eager: bool,
    pub(crate) wasm: Vec<u8>,
    /// The imports that follow the guest's.
    pub(crate) added: Vec<Added>,
    /// Name of the function behind each export handle.
    pub(crate) functions: Vec<CString>,
    /// The deepest nesting of blocks.
    pub(crate) nesting: u32,
    /// Mutable globals, by index.
    pub(crate) globals: Vec<u32>,
    /// Number of tables that a reset brings back.
    pub(crate) tables: usize,
    /// The most pages that the memory may have.
    pub(crate) largest: u32,
}

/// The reason why Wasm3 cannot instantiate a module that others can.
pub(crate) fn refusal(strategy: Strategy, info: &ModuleInfo) -> Option<String> {
    let is_negative = |segment: &Segment| segment.offset.is_some_and(|at| at > i32::MAX as u32);
    // A clock plays no part in them.
    let changes = Changes::of(info, strategy, &Config::default());
    let copies = !changes.empty_memory && info.segment_trap.is_none();
    (copies && info.segments.iter().any(is_negative)).then(|| {
        "a data segment lies behind 2 GiB, and Wasm3 takes its address for a negative number"
            .to_owned()
    })
}

/// Rewrites a guest for Wasm3.
pub(crate) fn prepare(
    engine: &'static str,
    eager: bool,
    guest: &GuestModule,
    strategy: Strategy,
    config: &Config,
) -> Result<Arc<Program>> {
    let info = guest.info();
    let changes = Changes::of(info, strategy, config);
    let Rewritten { wasm, functions, added } = rewrite(guest, changes)?;
    let program = Program {
        engine,
        eager,
        wasm,
        added,
        functions,
        nesting: info.nesting + u32::from(changes.clock),
        globals: info.mutable_globals.iter().map(|global| global.index).collect(),
        tables: if info.writes_tables { info.tables.len() } else { 0 },
        largest: info.memory.map_or(0, |limits| limits.largest()),
    };
    Ok(Arc::new(program))
}

/// The parts that all instances of a loaded module share.
pub(crate) struct SharedModule {
    pub(crate) program: Arc<Program>,
    pub(crate) guest: LoadedGuest,
    /// Of Touchstone's memories, where they are lent.
    pub(crate) content: CleanContent,
}

pub(crate) fn load(
    program: &Arc<Program>,
    guest: LoadedGuest,
) -> Result<LoadedModule<SharedModule>> {
    let content = CleanContent::of(&guest.guest, guest.strategy)?;
    let shared = Arc::new(SharedModule { program: Arc::clone(program), guest, content });
    let (guest, effective) = (&shared.guest, shared.effective());
    let loaded = LoadedModule::by_strategy::<Machine, SavedMachine>(guest, &shared, effective);
    let is_own = MemoryClass::of(guest.strategy).is_own();
    Ok(if is_own { loaded.probing_memory() } else { loaded })
}

impl SharedModule {
    fn effective(&self) -> EffectiveConfig {
        let (info, strategy) = (self.guest.info(), self.guest.strategy);
        let effective = EffectiveConfig::new()
            .with("execution", "interpreted")
            .with(
                "compilation to Wasm3's code",
                if self.program.eager {
                    "eager: all functions when an instance is made (m3_CompileModule)"
                } else {
                    "lazy: each function when it is first called"
                },
            )
            .with(
                "deadline",
                if self.guest.config.is_interruptible() {
                    "on: functions and loops call the host, which asks the clock in every 256th \
                     call; so do instructions on ranges after 4 KiB, and growth"
                } else {
                    "off"
                },
            )
            .with(
                "stack",
                format!(
                    "{} KiB of values, at most {} KiB of the machine's",
                    crate::machine::VALUE_STACK >> 10,
                    crate::machine::stack::BUDGET >> 10
                ),
            )
            .with("nested blocks", format!("up to {}", blocks::accepted()))
            .with(
                "tail calls",
                if wasm3::has_guaranteed_tail_calls() {
                    "guaranteed by the C compiler"
                } else {
                    "left to the C compiler's optimiser"
                },
            );
        let instance = match strategy.instance {
            InstanceFrom::Reuse => {
                let (globals, tables) = (self.program.globals.len(), self.program.tables);
                format!("one, reset in place: {globals} globals, {tables} tables")
            }
            _ => "new runtime each call; the module is parsed, linked and compiled again for it, \
                  because Wasm3 loads a parsed module once"
                .to_owned(),
        };
        let effective = effective.with("instance", instance);
        if !MemoryClass::of(strategy).is_own() {
            return effective
                .with("memory", "Wasm3's own, allocated and zeroed by it for each call")
                .with("reset", "everything is dropped but code pages and function types")
                .with("grown memory", "dropped with the instance");
        }
        let grown = if info.grows_memory {
            "memory.grow is a call to the host; the grown part is made zero and stays mapped"
        } else {
            "grown only by the host; the grown part is made zero and stays mapped"
        };
        self.content.describe(info, effective).with("grown memory", grown)
    }
}
