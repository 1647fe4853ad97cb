//! Why the executor cannot run a module under any strategy, told from its bytes.

use crate::host;
use touchstone_executor::guest::{FunctionImport, ModuleInfo};
use touchstone_executor::host::HostFunction;
use touchstone_executor::{Signature, ValueType};

/// The reason; `None` when it can. What else it does not take (anything newer than
/// WebAssembly's first version) shows when it compiles.
pub(crate) fn of(info: &ModuleInfo) -> Option<String> {
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
    let FunctionImport { module, name, signature } = import;
    if module != "env" {
        return Some(format!(
            "the module imports {module}.{name}; it links functions of the module env only"
        ));
    }
    let function = host::OFFERED.into_iter().find(|function| function.name() == name)?;
    if signature.as_ref() != Some(&function.signature()) {
        return Some(format!(
            "the module imports env.{name} with another type than the host function's; it links \
             by name alone"
        ));
    }
    // Its allocator is there only during calls; without it, it panics.
    let allocates = matches!(function, HostFunction::Malloc | HostFunction::Free);
    (has_start && allocates).then(|| {
        format!("the module has a start function and imports env.{name}, which works in calls only")
    })
}
