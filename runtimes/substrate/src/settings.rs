//! The executor's settings for each strategy, in one place.

use sc_executor_common::wasm_runtime::HeapAllocStrategy;
use sc_executor_wasmtime::{Config as Settings, InstantiationStrategy, Semantics};
use touchstone_executor::guest::{GuestModule, ModuleInfo};
use touchstone_executor::host::HostFunction;
use touchstone_executor::{
    CodeFrom, Config, EffectiveConfig, Error, InstanceFrom, MemoryFrom, Result, Signature,
    Strategy, Support, ValueType,
};

/// Name of the engine.
pub(crate) const ID: &str = "substrate";

/// Slots of its pools, and instances that may live at once: its own constant.
const SLOTS: u32 = 64;

/// Which of the executor's four strategies it is, or why none.
fn instantiation(strategy: Strategy) -> Result<InstantiationStrategy, &'static str> {
    use InstanceFrom::{Interpreted, Pooling, Recreate, Reuse};
    use MemoryFrom::{CopyOnWrite, Resident, Segments};
    match (strategy.instance, strategy.memory) {
        (Recreate, Segments) => Ok(InstantiationStrategy::RecreateInstance),
        (Recreate, CopyOnWrite) => Ok(InstantiationStrategy::RecreateInstanceCopyOnWrite),
        (Pooling, Segments) => Ok(InstantiationStrategy::Pooling),
        (Pooling, CopyOnWrite) => Ok(InstantiationStrategy::PoolingCopyOnWrite),
        (Interpreted, _) => Err("a new instance each call is called recreate_instance here"),
        (Reuse, _) => Err("it makes a new instance for each call; reuse in place was removed \
                           from it"),
        (Recreate | Pooling, Resident) => {
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

/// What the executor is configured with.
///
/// # Errors
///
/// [`Error::Unsupported`] where it has no such strategy.
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
    let maximum_pages = guest.info().memory.and_then(|limits| limits.maximum);
    HeapAllocStrategy::Dynamic { maximum_pages }
}

/// Why the executor cannot run a module under any strategy, told from its bytes.
pub(crate) fn refusal(info: &ModuleInfo) -> Option<String> {
    let callable = Signature::new(&[ValueType::I32, ValueType::I32], &[ValueType::I64]);
    if !info.exports.iter().any(|export| export.signature.as_ref() == Some(&callable)) {
        return Some(format!(
            "the module exports no function of the type {callable}, the only one \
                             that this executor calls"
        ));
    }
    if info.memory.is_none() {
        return Some("the module has no memory, which this executor needs".to_owned());
    }
    // Its allocator rounds the address up without a look at the end of it.
    if info.heap_base.and_then(|base| base.checked_next_multiple_of(8)).is_none() {
        return Some(
            "the module exports no usable `__heap_base`, which this executor needs".to_owned(),
        );
    }
    for import in &info.imports {
        let name = import.name.as_str();
        if import.module != "env" {
            return Some(format!(
                "the module imports {}.{name}; this executor links functions of \
                                 the module env only",
                import.module
            ));
        }
        let host = HostFunction::ALL.into_iter().find(|host| host.name() == name);
        if host.is_some_and(|host| import.signature.as_ref() != Some(&host.signature())) {
            return Some(format!(
                "the module imports env.{name} with another type than the host \
                                 function's, which this executor does not link"
            ));
        }
        // Its host state is there only during calls; without it, it panics.
        let allocates = matches!(host, Some(HostFunction::Malloc | HostFunction::Free));
        if info.has_start && allocates {
            return Some(
                "the module has a start function and the host's allocator, which this \
                         executor does not offer before the call"
                    .to_owned(),
            );
        }
    }
    None
}

/// Whether the strategy can be had for the module.
pub(crate) fn support(strategy: Strategy, guest: Option<&GuestModule>) -> Support {
    match (instantiation(strategy), guest.and_then(|guest| refusal(guest.info()))) {
        (Err(reason), _) => Support::unsupported(reason),
        (Ok(_), Some(reason)) => Support::unsupported(reason),
        (Ok(_), None) => Support::Native,
    }
}

/// The settings in words.
pub(crate) fn describe(
    strategy: Strategy,
    heap: HeapAllocStrategy,
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
            match heap {
                HeapAllocStrategy::Static { extra_pages } => {
                    format!("static, {extra_pages} pages more than the module's")
                }
                HeapAllocStrategy::Dynamic { maximum_pages: Some(pages) } => {
                    format!("dynamic, the module's pages at first, at most {pages}")
                }
                HeapAllocStrategy::Dynamic { maximum_pages: None } => {
                    "dynamic, the module's pages at first, no limit".to_owned()
                }
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
