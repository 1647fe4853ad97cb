//! Wasmtime's settings for each strategy, in one place.

use crate::deadline::code::is_stopped_by_signal;
use crate::engine::Compiler;
use crate::memory::Use;
use crate::{collected, meter, nearcore, tenancy};
use std::sync::Arc;
use touchstone_executor::guest::{ModuleInfo, Needs, Table};
use touchstone_executor::memory::{KEEP_RESIDENT, ResetMethod};
use touchstone_executor::{
    CodeFrom, Config, EffectiveConfig, Error, InstanceFrom, MemoryFrom, Result, Strategy,
};
use wasmtime::{
    Enabled, Engine, InstanceAllocationStrategy, MemoryCreator, PoolingAllocationConfig,
};

/// Artifact class: data segments are copied in at instantiation.
pub(crate) const SEGMENTS: &str = "segment-initialised";
/// Artifact class: Wasmtime maps an image copy-on-write.
pub(crate) const IMAGE: &str = "copy-on-write";
/// Artifact class: Touchstone's memories.
pub(crate) const OWN: &str = "own memories";
/// Artifact class: the same, and the memory has its content before instantiation.
pub(crate) const OWN_IMAGE: &str = "pre-initialised own memories";

/// `true` if memories of a guest that are reset in this way move when they grow.
pub(crate) fn moves(reset: ResetMethod, info: &ModuleInfo) -> bool {
    matches!(reset, ResetMethod::Tracked { .. }) && may_grow(info)
}

/// `true` if the guest's own code may grow a memory of Touchstone's. It then finds out where the
/// memory lies after each call that may have moved it. Other code has the address in a register.
/// Where a host function grows the memory, it grows in place, by a system call.
fn may_grow(info: &ModuleInfo) -> bool {
    let is_fixed = info.memory.is_some_and(|memory| memory.maximum == Some(memory.minimum));
    info.component.is_some() || info.grows_memory && !is_fixed
}

/// The reach of 32 bits, and Wasmtime's own guard for offsets behind it.
const MOVING_GUARD: u64 = (1 << 32) + (32 << 20);
/// Bytes of a table that `pooling_cow_resident` keeps mapped.
const TABLE_KEEP_RESIDENT: usize = 64 << 10;
/// Entries that a pool reserves for a table that names no maximum.
const TABLE_ELEMENTS: u64 = 20_000;

/// Strategies of one class share an artifact: whether memories are initialised
/// copy-on-write is compiled into it.
pub(crate) fn class(strategy: Strategy) -> &'static str {
    match (strategy.instance, strategy.memory) {
        (InstanceFrom::Reuse, _) => OWN,
        (_, MemoryFrom::Segments) => SEGMENTS,
        (InstanceFrom::Recreate, memory) if memory.restores_in_place() => OWN_IMAGE,
        _ => IMAGE,
    }
}

/// `true` if instances that are reset in place are called by their
/// [entries](touchstone_executor::guest::entry), which take operators of their own.
pub(crate) fn enters(config: &Config) -> bool {
    !config.metered
}

/// Settings of the code, the same for compiling and for loading.
pub(crate) fn for_compiling(
    compiler: Compiler,
    strategy: Strategy,
    config: &Config,
    info: &ModuleInfo,
) -> wasmtime::Result<wasmtime::Config> {
    let mut settings = wasmtime::Config::new();
    match compiler {
        Compiler::Cranelift | Compiler::Nearcore => {
            settings.strategy(wasmtime::Strategy::Cranelift)
        }
        Compiler::Winch => settings.strategy(wasmtime::Strategy::Winch),
        Compiler::Pulley => settings.strategy(wasmtime::Strategy::Cranelift).target("pulley64")?,
    };
    settings.parallel_compilation(config.parallel_compilation);
    settings.memory_init_cow(class(strategy) == IMAGE);
    if Use::of(strategy).is_some() {
        if may_grow(info) {
            // A guard of more than 32 bits can address spares the bounds checks as a reservation
            // does.
            settings.memory_reservation(0);
            settings.memory_guard_size(MOVING_GUARD);
        } else {
            settings.memory_may_move(false);
        }
    }
    // Each costs a little in every store or call and serves nothing here.
    settings.concurrency_support(false);
    if is_stopped_by_signal(compiler, strategy, config, info) {
        // Wasmtime would walk a stack that the program counter does not belong to.
        settings.wasm_backtrace_max_frames(None);
    } else {
        settings.epoch_interruption(config.is_interruptible());
    }
    collected::tune(&mut settings, info);
    if config.metered {
        meter::tune(&mut settings);
    }
    if compiler == Compiler::Nearcore {
        nearcore::tune(&mut settings, info);
    }
    Ok(settings)
}

/// Settings to run code: the instance allocator and the memories on top.
pub(crate) fn for_running(
    compiler: Compiler,
    strategy: Strategy,
    config: &Config,
    info: &ModuleInfo,
    memories: Option<Arc<dyn MemoryCreator>>,
) -> wasmtime::Result<wasmtime::Config> {
    let mut settings = for_compiling(compiler, strategy, config, info)?;
    if strategy.instance == InstanceFrom::Pooling {
        let pool = match compiler {
            Compiler::Nearcore => nearcore::pool(info),
            _ => pool(strategy, config, info),
        };
        settings.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    if let Some(memories) = memories {
        settings.with_host_memory(memories);
    }
    Ok(settings)
}

/// Number of instances that a store serves, one after the other: more than one where the memories
/// are Touchstone's and can be taken back.
pub(crate) fn tenants(strategy: Strategy, info: &ModuleInfo) -> u32 {
    if class(strategy) == OWN_IMAGE { tenancy::tenants(info) } else { 1 }
}

/// An engine with the settings.
pub(crate) fn start(
    id: &'static str,
    compiler: Compiler,
    strategy: Strategy,
    settings: &wasmtime::Config,
) -> Result<Engine> {
    let engine = Engine::new(settings).map_err(Error::runtime(id, "start"))?;
    if engine.is_pulley() != (compiler == Compiler::Pulley) {
        let reason = "the code is for the other kind of execution".to_owned();
        return Err(Error::WrongMode { engine: id, strategy, reason });
    }
    Ok(engine)
}

fn pool(strategy: Strategy, config: &Config, info: &ModuleInfo) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::default();
    let size = SlotSize::of(info, TABLE_ELEMENTS);
    size.reserve(&mut pool, config.instances, config.instances);
    if strategy.memory == MemoryFrom::Resident {
        // Without PAGEMAP_SCAN, keeping pages means clearing all of them on
        // every call, from address 0.
        pool.linear_memory_keep_resident(KEEP_RESIDENT)
            .table_keep_resident(TABLE_KEEP_RESIDENT)
            .pagemap_scan(Enabled::Yes);
    }
    pool
}

pub(crate) struct SlotSize {
    /// Of one instance, of a component or of a module.
    needs: Needs,
    /// Tables of the module with the most.
    tables: u32,
    /// Entries of the largest table.
    elements: u64,
}

impl SlotSize {
    /// `elements` are reserved for a table that names no maximum.
    pub(crate) fn of(info: &ModuleInfo, elements: u64) -> Self {
        let Some(component) = &info.component else {
            let tables = info.tables.len().max(1) as u32;
            let largest = |table: &Table| table.maximum.unwrap_or(elements.max(table.minimum));
            let elements = info.tables.iter().map(largest).max().unwrap_or(elements);
            // The collector's heap takes a slot for a memory.
            let memories = 1 + u32::from(collected::needs_collector(info));
            return Self { needs: Needs { instances: 1, memories, tables }, tables, elements };
        };
        let modules = &component.modules;
        let largest = modules.iter().map(|module| module.table_elements).max().unwrap_or(0);
        Self {
            needs: component.needs.unwrap_or_default(),
            tables: modules.iter().map(|module| module.tables).max().unwrap_or(0).max(1),
            elements: elements.max(largest),
        }
    }

    /// Reserves slots for a number of instances. Of memories and tables, `parts` times the number
    /// of one instance are reserved: a component has many. Core instances take no slot: Wasmtime
    /// adds some to components that call each other.
    pub(crate) fn reserve(&self, pool: &mut PoolingAllocationConfig, instances: u32, parts: u32) {
        let all = |each: u32| each.max(1).saturating_mul(parts);
        pool.total_component_instances(instances)
            .total_core_instances(u32::MAX)
            .total_gc_heaps(instances)
            .total_memories(all(self.needs.memories))
            .total_tables(all(self.needs.tables))
            .max_tables_per_module(self.tables)
            .table_elements(self.elements.min(10_000_000) as usize);
    }
}

pub(crate) fn describe(
    compiler: Compiler,
    strategy: Strategy,
    config: &Config,
    info: &ModuleInfo,
) -> EffectiveConfig {
    let reset = match (strategy.instance, strategy.memory) {
        (InstanceFrom::Recreate, MemoryFrom::Segments | MemoryFrom::CopyOnWrite) => {
            "memory unmapped, a new one mapped".to_owned()
        }
        (InstanceFrom::Pooling, MemoryFrom::Resident) => format!(
            "written pages found with PAGEMAP_SCAN, restored in place up to {} MiB",
            KEEP_RESIDENT >> 20
        ),
        (_, memory) => memory.reset_method().to_string(),
    };
    let words = EffectiveConfig::new()
        .with(
            "execution",
            if compiler == Compiler::Pulley { "interpreted (Pulley)" } else { "compiled" },
        )
        .with(
            "compiler",
            match compiler {
                Compiler::Cranelift | Compiler::Nearcore => "Cranelift, optimised for speed",
                Compiler::Winch => "Winch, single pass",
                Compiler::Pulley => "Cranelift, optimised for speed, for Pulley",
            },
        )
        .with("compilation", if config.parallel_compilation { "parallel" } else { "one thread" })
        .with(
            "instances",
            match strategy.instance {
                InstanceFrom::Pooling => format!("pool of {} slots", config.instances),
                InstanceFrom::Reuse => "one, reset in place".to_owned(),
                _ => match tenants(strategy, info) {
                    1 => "allocated on demand".to_owned(),
                    most => format!("allocated on demand, up to {most} in turn in one store"),
                },
            },
        )
        .with("reset", reset)
        .with(
            "bounds checks",
            if compiler.checks_bounds() {
                "explicit"
            } else {
                "by 4 GiB of reserved addresses and guard pages"
            },
        )
        .with("fuel", if config.metered { "on (operators are counted)" } else { "off" })
        .with(
            "epoch interruption",
            match config.is_interruptible() {
                false => "off",
                true if is_stopped_by_signal(compiler, strategy, config, info) => {
                    "off (a signal at the deadline)"
                }
                true => "on (deadline)",
            },
        )
        .with(
            "code",
            match strategy.code {
                CodeFrom::InProcess => "compiled in this process, handed over in memory",
                CodeFrom::Precompiled => "mapped from an ahead-of-time artifact in a file",
            },
        );
    if compiler == Compiler::Nearcore {
        nearcore::describe(words)
    } else if strategy.instance == InstanceFrom::Reuse {
        let words = words
            .with("grown memory", "the grown part is zeroed and closed again")
            .with("grown table", "the instance is replaced by a new one");
        match &info.component {
            Some(component) if component.has_resources() => words.with(
                "handles",
                "numbered as at first; where some are left, the instance is replaced by a new one",
            ),
            _ => words,
        }
    } else {
        words
    }
}
