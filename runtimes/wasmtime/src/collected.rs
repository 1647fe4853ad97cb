//! Features for which Wasmtime needs its garbage collector: `externref`, typed function
//! references, structures and arrays, exceptions.
//!
//! The collector is on only for modules with such a feature. All others get the configuration,
//! and so the code, of a build without it.

use touchstone_executor::guest::ModuleInfo;
use touchstone_executor::{Feature, Features, InstanceFrom, Strategy};

pub(crate) const COLLECTED: Features = Features::NONE
    .with(Feature::HostReferences)
    .with(Feature::FunctionReferences)
    .with(Feature::GarbageCollection)
    .with(Feature::Exceptions);

/// `true` if the module needs the collector.
pub(crate) fn needs_collector(info: &ModuleInfo) -> bool {
    uses(info).next().is_some()
}

fn uses(info: &ModuleInfo) -> impl Iterator<Item = Feature> {
    info.features.iter().filter(|feature| COLLECTED.has(*feature))
}

/// Turns the collector on for modules that need it, and off for others.
pub(crate) fn tune(settings: &mut wasmtime::Config, info: &ModuleInfo) {
    let needed = needs_collector(info);
    settings.gc_support(needed);
    settings.wasm_exceptions(info.features.has(Feature::Exceptions));
}

/// Why a strategy is refused for a module with a heap of Wasmtime's. Wasmtime asks for the
/// heap's memory in the same way as for the module's, so Touchstone's memories cannot tell them
/// apart; and nothing restores the heap.
pub(crate) fn refusal(strategy: Strategy, info: &ModuleInfo) -> Option<String> {
    let is_in_place = strategy.instance == InstanceFrom::Reuse;
    let is_ours =
        strategy.instance == InstanceFrom::Recreate && strategy.memory.restores_in_place();
    if !is_in_place && !is_ours {
        return None;
    }
    let feature = uses(info).find(|feature| {
        // Functions are no objects of the heap. What a table of them holds is.
        *feature != Feature::FunctionReferences || (is_in_place && info.writes_tables)
    })?;
    Some(format!(
        "it uses {feature}, whose objects lie in a heap of Wasmtime's that cannot be restored in \
         place"
    ))
}
