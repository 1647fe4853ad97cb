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
#[cfg(feature = "preview2")]
mod preview2;
#[cfg(not(feature = "preview2"))]
#[path = "preview2_absent.rs"]
mod preview2;
mod probe;
mod shape;

pub(crate) use loaded::LoadedComponent;

use touchstone_executor::guest::{ComponentInfo, ModuleInfo};
use touchstone_executor::{InstanceFrom, MemoryFrom, Strategy, wasi};

/// Why a strategy is unsupported for a component; `None` if it is supported.
pub(crate) fn refusal(
    strategy: Strategy,
    info: &ModuleInfo,
    component: &ComponentInfo,
) -> Option<String> {
    program_refusal(info).or_else(|| match (strategy.instance, strategy.memory) {
        (InstanceFrom::Reuse, memory) => {
            let has_image = memory != MemoryFrom::Segments;
            handles_refusal(component)
                .or_else(|| component.reset_refusal())
                .or_else(|| component.scattered().filter(|_| has_image))
        }
        (InstanceFrom::Recreate, memory) if memory.restores_in_place() => component.image_refusal(),
        (InstanceFrom::Pooling, _) if component.needs.is_none() => Some(
            "the component instantiates what it is given at run time: how large a slot has to be \
             is not known"
                .to_owned(),
        ),
        _ => None,
    })
}

/// Why this build runs no programs of WASI preview 2. What a component exports beside can be
/// called.
fn program_refusal(info: &ModuleInfo) -> Option<String> {
    let command = info.program().filter(|_| !cfg!(feature = "preview2"))?;
    let is_all = info.exports.iter().all(|export| wasi::is_command(&export.name));
    is_all.then(|| format!("it is a program of WASI preview 2 ({command}): {PREVIEW2}"))
}

/// How to get it.
const PREVIEW2: &str = "this build runs none; build with the feature preview2";

/// Why handles of the host's objects are in the way of a reset in place.
fn handles_refusal(component: &ComponentInfo) -> Option<String> {
    let imported = |name: &&String| preview2::answers(name);
    let interface = component.interfaces.iter().find(imported)?;
    Some(format!(
        "it uses WASI preview 2 ({interface}), and the handles of the host's objects cannot be \
         brought back in place"
    ))
}
