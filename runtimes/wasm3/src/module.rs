//! A guest made ready for Wasm3, and what all instances of a loaded one share.

use crate::blocks;
use crate::machine::Machine;
use crate::reuse::SavedMachine;
use crate::rewrite::{Added, Changes, Rewritten, rewrite};
use std::ffi::CString;
use std::sync::Arc;
use touchstone_executor::adapter::{CleanContent, LoadedGuest, LoadedModule};
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

/// `true` if the memory is one of Touchstone's.
fn lends(strategy: Strategy) -> bool {
    strategy.instance != InstanceFrom::Interpreted
}

/// `true` if the memory comes with its content, so that Wasm3 copies no data segment.
fn brings_content(strategy: Strategy, info: &ModuleInfo) -> bool {
    lends(strategy) && info.image_refusal().is_none()
}

/// The reason why Wasm3 cannot instantiate a module that others can.
pub(crate) fn refusal(strategy: Strategy, info: &ModuleInfo) -> Option<String> {
    let is_negative = |segment: &Segment| segment.offset.is_some_and(|at| at > i32::MAX as u32);
    let copies = !brings_content(strategy, info) && info.segment_trap.is_none();
    (copies && info.segments.iter().any(is_negative)).then(|| {
        "a data segment lies behind 2 GiB, and Wasm3 takes its address for a negative number"
            .to_owned()
    })
}

/// The changes that a guest needs.
fn changes(guest: &GuestModule, strategy: Strategy, config: &Config) -> Changes {
    Changes {
        growth: lends(strategy) && guest.info().grows_memory,
        clock: config.is_interruptible(),
        empty_memory: brings_content(strategy, guest.info()),
    }
}

/// Strategies of one class share an artifact.
pub(crate) fn class_of(strategy: Strategy) -> &'static str {
    if lends(strategy) { "memory lent" } else { "memory of its own" }
}

/// Rewrites a guest for Wasm3.
pub(crate) fn prepare(
    engine: &'static str,
    eager: bool,
    guest: &GuestModule,
    strategy: Strategy,
    config: &Config,
) -> Result<Arc<Program>> {
    let changes = changes(guest, strategy, config);
    let Rewritten { wasm, functions, added } = rewrite(guest, changes)?;
    let info = guest.info();
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

impl SharedModule {
    pub(crate) fn new(
        program: &Arc<Program>,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Arc<Self>> {
        let content = match lends(strategy) {
            true => CleanContent::of(guest, strategy)?,
            false => CleanContent::unknown(strategy),
        };
        let guest = LoadedGuest::new(program.engine, guest, strategy, config)?;
        Ok(Arc::new(Self { program: Arc::clone(program), guest, content }))
    }

    pub(crate) fn info(&self) -> &ModuleInfo {
        self.guest.info()
    }

    /// The module under its strategy.
    pub(crate) fn loaded(self: &Arc<Self>) -> LoadedModule<Self> {
        let strategy = self.guest.strategy;
        let (guest, effective) = (&self.guest, self.effective());
        let loaded = match strategy.instance {
            InstanceFrom::Reuse => LoadedModule::reused::<SavedMachine>(guest, self, effective),
            _ => LoadedModule::fresh::<Machine>(guest, self, effective),
        };
        if lends(strategy) { loaded.probing_memory() } else { loaded }
    }

    fn effective(&self) -> EffectiveConfig {
        let (info, strategy) = (self.info(), self.guest.strategy);
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
        if !lends(strategy) {
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
