//! Why the executor cannot run a module under any strategy, found in its bytes.

use crate::{code, host};
use touchstone_executor::guest::imports::{FREE, MALLOC};
use touchstone_executor::guest::{FunctionImport, GuestModule, ModuleInfo};
use touchstone_executor::{Feature, Features, Functions, Signature, ValueType};

/// The features that its Wasmtime is set to accept.
const FEATURES: Features = Features::WASM2.without(Feature::Vectors);

/// The reason; `None` when it can. Looks at the whole module.
pub(crate) fn of(guest: &GuestModule) -> Option<String> {
    of_known(guest.info()).or_else(|| code::blob(guest.wasm()).err().map(|error| error.to_string()))
}

/// The same for a module that the executor has compiled: of what is newer than
/// WebAssembly's first version there is nothing in it.
pub(crate) fn of_known(info: &ModuleInfo) -> Option<String> {
    if let Some(reason) = info.component_refusal().or_else(|| info.feature_refusal(FEATURES)) {
        return Some(reason);
    }
    let callable = Signature::new(&[ValueType::I32, ValueType::I32], &[ValueType::I64]);
    if !info.exports.iter().any(|export| export.signature.as_ref() == Some(&callable)) {
        return Some(format!("no export has the type {callable}, the only one that it calls"));
    }
    if info.memory.is_none() {
        return Some("the module has no memory, which it needs".to_owned());
    }
    // Its allocator rounds the address up without a look at the end of it.
    if info.heap_base.and_then(|base| base.checked_next_multiple_of(8)).is_none() {
        return Some("the module exports no usable `__heap_base`, which it needs".to_owned());
    }
    info.imports.iter().find_map(|import| of_import(import, info.has_start))
}

fn of_import(import: &FunctionImport, has_start: bool) -> Option<String> {
    let FunctionImport { module, name, .. } = import;
    if module != "env" {
        return Some(format!(
            "the module imports {module}.{name}; it links functions of the module env only"
        ));
    }
    let function = host::OFFERED.into_iter().find(|function| function == name)?;
    if Functions::standard().answer(import).is_none() {
        return Some(format!(
            "the module imports env.{name} with another type than the host function's; it links \
             by name alone"
        ));
    }
    // Its allocator is there only during calls; without it, it panics.
    let allocates = [MALLOC, FREE].contains(&function);
    (has_start && allocates).then(|| {
        format!("the module has a start function and imports env.{name}, which works in calls only")
    })
}
