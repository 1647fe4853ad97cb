//! The executor's settings for each strategy, in one place.

use sc_executor_common::wasm_runtime::HeapAllocStrategy;
use sc_executor_wasmtime::{Config as Settings, InstantiationStrategy, Semantics};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{
    CodeFrom, Config, EffectiveConfig, Error, InstanceFrom, MemoryFrom, Result, Strategy, Support,
};

pub(crate) const ID: &str = "substrate";

/// Slots of its pools, and instances that may live at once: its own constant.
const SLOTS: u32 = 64;

/// Which of the executor's four strategies it is, or why none.
fn instantiation(strategy: Strategy) -> Result<InstantiationStrategy, &'static str> {
    use InstanceFrom::{Interpreted, Pooling, Recreate, Reuse};
    use MemoryFrom::{CopyOnWrite, Segments};
    match (strategy.instance, strategy.memory) {
        (Recreate, Segments) => Ok(InstantiationStrategy::RecreateInstance),
        (Recreate, CopyOnWrite) => Ok(InstantiationStrategy::RecreateInstanceCopyOnWrite),
        (Pooling, Segments) => Ok(InstantiationStrategy::Pooling),
        (Pooling, CopyOnWrite) => Ok(InstantiationStrategy::PoolingCopyOnWrite),
        (Interpreted, _) => Err("a new instance each call is called recreate_instance here"),
        (Reuse, _) => Err("it makes a new instance for each call; reuse in place was removed \
                           from it"),
        (Recreate | Pooling, _) => {
            Err("it neither takes a memory nor has a setting to keep pages resident")
        }
    }
}

/// Strategies of one class share an artifact: whether memories are initialised
/// copy-on-write is compiled into it.
pub(crate) fn class(strategy: Strategy) -> &'static str {
    match strategy.memory {
        MemoryFrom::Segments => "segment-initialised",
        _ => "copy-on-write",
    }
}

/// The settings of the executor.
pub(crate) fn settings(
    strategy: Strategy,
    heap: HeapAllocStrategy,
    config: &Config,
) -> Result<Settings> {
    let instantiation_strategy = instantiation(strategy).map_err(|reason| Error::Unsupported {
        engine: ID,
        strategy,
        reason: reason.to_owned(),
    })?;
    Ok(Settings {
        allow_missing_func_imports: true,
        cache_path: None,
        semantics: Semantics {
            instantiation_strategy,
            deterministic_stack_limit: None,
            canonicalize_nans: false,
            parallel_compilation: config.parallel_compilation,
            heap_alloc_strategy: heap,
            wasm_multi_value: false,
            wasm_bulk_memory: false,
            wasm_reference_types: false,
            wasm_simd: false,
        },
    })
}

/// Exactly the memory that the guest declares, which is raised by its heap pages
/// already. The executor's default, `Static`, grows each new memory by a system
/// call more; this is its faster way to the same size. The limit has to be given
/// here because the executor removes it from the module.
pub(crate) fn heap(guest: &GuestModule) -> HeapAllocStrategy {
    HeapAllocStrategy::Dynamic { maximum_pages: maximum(guest) }
}

fn maximum(guest: &GuestModule) -> Option<u32> {
    guest.info().memory.and_then(|limits| limits.maximum)
}

/// Supports the strategies that the executor has.
pub(crate) fn support(strategy: Strategy) -> Support {
    match instantiation(strategy) {
        Ok(_) => Support::Native,
        Err(reason) => Support::unsupported(reason),
    }
}

/// The settings in words.
pub(crate) fn describe(
    strategy: Strategy,
    guest: &GuestModule,
    config: &Config,
) -> EffectiveConfig {
    EffectiveConfig::new()
        .with("execution", "compiled")
        .with("compiler", "Cranelift, optimised for speed and size")
        .with("compilation", if config.parallel_compilation { "parallel" } else { "one thread" })
        .with(
            "instances",
            match strategy.instance {
                InstanceFrom::Pooling => format!("pool of {SLOTS} slots"),
                _ => format!("allocated on demand, at most {SLOTS}"),
            },
        )
        .with(
            "reset",
            match (strategy.instance, strategy.memory) {
                (InstanceFrom::Pooling, MemoryFrom::Segments) => {
                    "all pages dropped, segments copied in"
                }
                (InstanceFrom::Pooling, _) => "all pages dropped",
                _ => "memory unmapped, a new one mapped",
            },
        )
        .with(
            "heap",
            match maximum(guest) {
                Some(pages) => format!("dynamic, the module's pages at first, at most {pages}"),
                None => "dynamic, the module's pages at first, no limit".to_owned(),
            },
        )
        .with(
            "steps",
            "instantiation and drop are part of invoke, as is finding the export by name",
        )
        .with("allocator", "the executor's own (sc-allocator)")
        .with("bounds checks", "by a 4 GiB reservation and guard pages")
        .with("NaN canonicalisation", "off")
        .with("stack metering", "off")
        .with(
            "code",
            match strategy.code {
                CodeFrom::InProcess => "compiled in this process, handed over in memory",
                CodeFrom::Precompiled => "mapped from an ahead-of-time artifact in a file",
            },
        )
}
