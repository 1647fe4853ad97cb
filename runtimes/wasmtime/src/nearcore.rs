//! A peer: the settings by which nearcore runs contracts in Wasmtime.
//!
//! Taken from its Wasmtime runner. The one that Wasmtime 48 does not take is left
//! out: a `max_wasm_stack` of 1 GiB needs asynchronous calls.

use crate::engine::Compiler;
use crate::image;
use crate::settings::SlotSize;
use touchstone_executor::guest::{ModuleInfo, WASM_PAGE};
use touchstone_executor::{EffectiveConfig, InstanceFrom, MemoryFrom, Strategy, Support};
use wasmtime::PoolingAllocationConfig;

/// Pages that a contract's memory has at most.
const MEMORY_PAGES: u64 = 2048;
/// Entries that a contract's tables have at most, and bytes of them kept mapped.
const TABLE_ELEMENTS: u64 = 10_000;
/// Instances that may live at the same time.
const INSTANCES: u32 = 1000;

pub(crate) fn support(strategy: Strategy) -> Support {
    match (strategy.instance, strategy.memory) {
        (InstanceFrom::Pooling, MemoryFrom::CopyOnWrite) => Support::Native,
        _ => Support::unsupported(
            "this engine stands for nearcore's set-up, which is pooling copy-on-write",
        ),
    }
}

/// Bytes of a memory at most: nearcore's limit, or more if the guest starts with more.
fn largest_memory(info: &ModuleInfo) -> u64 {
    let component = info.component.iter().flat_map(|component| component.with_memory());
    let memories = component.map(|(_, memory)| memory).chain(info.memory);
    let pages = memories.map(|memory| u64::from(memory.minimum)).max().unwrap_or(0);
    pages.max(MEMORY_PAGES) * WASM_PAGE as u64
}

/// Settings of the code and of memories.
pub(crate) fn tune(settings: &mut wasmtime::Config, info: &ModuleInfo) {
    settings
        .native_unwind_info(false)
        .wasm_backtrace_max_frames(None)
        .generate_address_map(false)
        .memory_init_cow(true)
        .force_memory_init_memfd(true)
        .memory_guaranteed_dense_image_size(image::always(Compiler::Nearcore))
        .guard_before_linear_memory(false)
        .memory_guard_size(0)
        .memory_may_move(false)
        .memory_reservation(largest_memory(info))
        .memory_reservation_for_growth(0)
        .signals_based_traps(true)
        .cranelift_nan_canonicalization(true);
}

/// Memories whose pages are dropped together.
pub(crate) const BATCH: usize = 500;

pub(crate) fn pool(info: &ModuleInfo) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::default();
    let size = SlotSize::of(info, TABLE_ELEMENTS);
    size.reserve(&mut pool, INSTANCES, INSTANCES);
    pool.decommit_batch_size(BATCH)
        .max_memory_size(largest_memory(info) as usize)
        .max_memories_per_module(1)
        .table_keep_resident(TABLE_ELEMENTS as usize);
    pool
}

pub(crate) fn describe(words: EffectiveConfig) -> EffectiveConfig {
    words
        .with("compiler", "Cranelift, optimised for speed, NaNs canonicalised, no address map")
        .with(
            "instances",
            format!("pool of {INSTANCES} slots; up to {BATCH} memories cleaned at once"),
        )
        .with(
            "bounds checks",
            "explicit: a reservation of 128 MiB (or the guest's first size), no guard pages",
        )
        .with(
            "settings",
            "nearcore's (its max_wasm_stack of 1 GiB is left out: Wasmtime 48 takes it only with \
             asynchronous calls)",
        )
}
