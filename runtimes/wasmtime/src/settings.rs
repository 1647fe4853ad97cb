//! Wasmtime's settings for each strategy, in one place.

use crate::engine::Compiler;
use crate::memory::Memories;
use std::sync::Arc;
use touchstone_executor::guest::ModuleInfo;
use touchstone_executor::memory::{KEEP_RESIDENT, Reset};
use touchstone_executor::{CodeFrom, Config, EffectiveConfig, InstanceFrom, MemoryFrom, Strategy};
use wasmtime::{Enabled, InstanceAllocationStrategy, PoolingAllocationConfig};

/// Artifact class: data segments are copied in at instantiation.
pub(crate) const SEGMENTS: &str = "segment-initialised";
/// Artifact class: Wasmtime maps an image copy-on-write.
pub(crate) const IMAGE: &str = "copy-on-write";
/// Artifact class: the memory brings its content along.
pub(crate) const OWN_IMAGE: &str = "pre-initialised";
/// Artifact class: the same, and it may move when it grows.
pub(crate) const MOVING_IMAGE: &str = "pre-initialised and movable";

/// Whether the memory brings its content along.
pub(crate) fn has_own_image(strategy: Strategy) -> bool {
    matches!(class(strategy), OWN_IMAGE | MOVING_IMAGE)
}

/// Whether memories that are reset in this way move when they grow.
pub(crate) fn moves(reset: Reset) -> bool {
    matches!(reset, Reset::Tracked { .. })
}

/// What 32 bits can address, and Wasmtime's own guard for offsets behind it.
const MOVING_GUARD: u64 = (1 << 32) + (32 << 20);
/// Bytes of a table that `pooling_cow_resident` keeps mapped.
const TABLE_KEEP_RESIDENT: usize = 64 << 10;
/// Entries that a pool reserves for a table that names no maximum.
const TABLE_ELEMENTS: u64 = 20_000;

/// Strategies of one class share an artifact: whether memories are initialised
/// copy-on-write is compiled into it.
pub(crate) fn class(strategy: Strategy) -> &'static str {
    match (strategy.instance, strategy.memory) {
        (InstanceFrom::Reuse, _) | (_, MemoryFrom::Segments) => SEGMENTS,
        (InstanceFrom::Recreate, MemoryFrom::Resident) => OWN_IMAGE,
        (InstanceFrom::Recreate, MemoryFrom::Tracked) => MOVING_IMAGE,
        _ => IMAGE,
    }
}

/// What decides about the code: the same for compiling and for loading.
pub(crate) fn for_compiling(
    compiler: Compiler,
    strategy: Strategy,
    config: &Config,
) -> wasmtime::Result<wasmtime::Config> {
    let mut settings = wasmtime::Config::new();
    match compiler {
        Compiler::Cranelift => settings.strategy(wasmtime::Strategy::Cranelift),
        Compiler::Winch => settings.strategy(wasmtime::Strategy::Winch),
        Compiler::Pulley => settings.strategy(wasmtime::Strategy::Cranelift).target("pulley64")?,
    };
    settings.parallel_compilation(config.parallel_compilation);
    settings.memory_init_cow(class(strategy) == IMAGE);
    if class(strategy) == MOVING_IMAGE {
        // The code then asks where a memory lies after each call that may have moved it;
        // a guard of more than 32 bits can address spares the bounds checks as a
        // reservation does.
        settings.memory_reservation(0);
        settings.memory_guard_size(MOVING_GUARD);
    }
    // Each costs a little in every store or call and serves nothing here.
    settings.concurrency_support(false);
    settings.epoch_interruption(config.deadline.is_some());
    Ok(settings)
}

/// What is needed to run: the instance allocator and the memories on top.
pub(crate) fn for_running(
    compiler: Compiler,
    strategy: Strategy,
    config: &Config,
    info: &ModuleInfo,
    memories: Option<Arc<Memories>>,
) -> wasmtime::Result<wasmtime::Config> {
    let mut settings = for_compiling(compiler, strategy, config)?;
    if strategy.instance == InstanceFrom::Pooling {
        settings
            .allocation_strategy(InstanceAllocationStrategy::Pooling(pool(strategy, config, info)));
    }
    if let Some(memories) = memories {
        settings.with_host_memory(memories);
    }
    Ok(settings)
}

fn pool(strategy: Strategy, config: &Config, info: &ModuleInfo) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::default();
    let tables = info.tables.len().max(1) as u32;
    let elements = info
        .tables
        .iter()
        .map(|table| table.maximum.unwrap_or(TABLE_ELEMENTS.max(table.minimum)))
        .max()
        .unwrap_or(TABLE_ELEMENTS);
    pool.total_core_instances(config.instances)
        .total_memories(config.instances)
        .total_tables(config.instances * tables)
        .max_tables_per_module(tables)
        .table_elements(elements.min(10_000_000) as usize);
    if strategy.memory == MemoryFrom::Resident {
        // Without PAGEMAP_SCAN, keeping pages means clearing all of them on
        // every call, from address 0.
        pool.linear_memory_keep_resident(KEEP_RESIDENT)
            .table_keep_resident(TABLE_KEEP_RESIDENT)
            .pagemap_scan(Enabled::Yes);
    }
    pool
}

/// The same in words.
pub(crate) fn describe(compiler: Compiler, strategy: Strategy, config: &Config) -> EffectiveConfig {
    let reset = match (strategy.instance, strategy.memory) {
        (InstanceFrom::Recreate, MemoryFrom::Segments | MemoryFrom::CopyOnWrite) => {
            "memory unmapped, a new one mapped".to_owned()
        }
        (InstanceFrom::Pooling, MemoryFrom::Resident) => format!(
            "written pages found with PAGEMAP_SCAN, restored in place up to {} MiB",
            KEEP_RESIDENT >> 20
        ),
        (_, memory) => Reset::of(memory).to_string(),
    };
    let words = EffectiveConfig::new()
        .with(
            "execution",
            if compiler == Compiler::Pulley { "interpreted (Pulley)" } else { "compiled" },
        )
        .with(
            "compiler",
            match compiler {
                Compiler::Cranelift => "Cranelift, optimised for speed",
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
                _ => "allocated on demand".to_owned(),
            },
        )
        .with("reset", reset)
        .with(
            "bounds checks",
            // Pulley does without signals, and so without guard pages.
            if compiler == Compiler::Pulley {
                "explicit"
            } else {
                "by a 4 GiB reservation and guard pages"
            },
        )
        .with("fuel", "off")
        .with("epoch interruption", if config.deadline.is_some() { "on (deadline)" } else { "off" })
        .with(
            "code",
            match strategy.code {
                CodeFrom::InProcess => "compiled in this process, handed over in memory",
                CodeFrom::Precompiled => "mapped from an ahead-of-time artifact in a file",
            },
        );
    if strategy.instance == InstanceFrom::Reuse {
        words
            .with("grown memory", "what has grown is made zero and closed again")
            .with("grown table", "the instance is replaced by a new one")
    } else {
        words
    }
}
