//! Components behind the contract: the same steps and strategies as for modules, as far as
//! Wasmtime gives a host access to the inside of a component.

mod codec;
mod in_place;
mod instance;
mod json;
mod json_text;
mod linker;
mod loaded;
mod memories;
mod plan;
mod probe;
mod shape;

pub(crate) use loaded::Loaded;

use touchstone_executor::guest::ComponentInfo;
use touchstone_executor::{InstanceFrom, MemoryFrom, Strategy};

/// Why a strategy is unsupported for a component; `None` if it is supported.
pub(crate) fn refusal(strategy: Strategy, component: &ComponentInfo) -> Option<String> {
    match (strategy.instance, strategy.memory) {
        (InstanceFrom::Reuse | InstanceFrom::PoolingLate, _)
        | (InstanceFrom::Pooling, MemoryFrom::Tracked) => component.reset_refusal(),
        (InstanceFrom::Recreate, memory) if memory.restores_in_place() => component.image_refusal(),
        (InstanceFrom::Pooling, _) if component.needs.is_none() => Some(
            "the component instantiates what it is given at run time: how large a slot has to be \
             is not known"
                .to_owned(),
        ),
        _ => None,
    }
}
