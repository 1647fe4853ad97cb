//! The module that WasmEdge is given.
//!
//! * Imports become `host.0`, `host.1`, …: WasmEdge finds them by name only, and a module may
//!   import one name with two types.
//! * Tables, references and exports hold, instead of an import, a function that calls it.
//!   WasmEdge's compiled code takes 16 bytes of the thread's stack for each call of an import
//!   through a table, and gives them back only when the caller returns.
//! * `memory.grow` is a call of the host (`sizes.rs`).
//! * The start function is exported and called by the host, which first checks that WasmEdge could
//!   make the memory.
//! * A memory that Touchstone resets is imported, and data segments with known content are left
//!   out.
//! * Under a deadline, every function and every loop counts down, and calls the host now and then.
//!
//! All other code is carried over byte for byte. Nothing limits recursion.

use std::borrow::Cow;
use std::collections::BTreeSet;
use touchstone_executor::Error;
use touchstone_executor::guest::{self, ADDED, Check, GuestModule, HostCalls, MEMORY, Patch};
use wasm_encoder::{
    EntityType, ExportKind, ExportSection, Function, ImportSection, SectionId, ValType,
};
use wasmparser::{
    BinaryReaderError, ElementItems, ElementKind, ExternalKind, Operator, OperatorsReader, Parser,
    Payload,
};

/// Module part of every import's name.
pub(crate) const HOST: &str = "host";
/// Functions and turns of loops between two looks at the clock.
const SLICE: i32 = 10_000;

/// Changes that a strategy and a configuration need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Changes {
    /// The memory is imported, and data segments with known content are left out: WasmEdge keeps a
    /// copy of them in each instance.
    pub(crate) memory_of_ours: bool,
    /// The host looks at the clock.
    pub(crate) clock: bool,
}

/// A guest as WasmEdge is given it.
pub(crate) struct Rewritten {
    pub(crate) wasm: Vec<u8>,
    /// The host's own imports, which come after the guest's.
    pub(crate) added: Vec<Added>,
    /// The start function is exported under the name of [`start`], and not run by WasmEdge.
    pub(crate) has_start: bool,
}

/// An import that rewriting adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Added {
    /// Looks at the clock: `() -> ()`.
    Clock,
    /// `memory.grow`: `(i32) -> (i32)`.
    Grow,
}

/// Name of the exported start function.
pub(crate) fn start() -> String {
    format!("{ADDED}start")
}

pub(crate) fn rewrite(guest: &GuestModule, changes: Changes) -> Result<Rewritten, Error> {
    let info = guest.info();
    let has_code = info.functions > info.imports.len();
    let mut added = Vec::new();
    added.extend((changes.clock && has_code).then_some(Added::Clock));
    added.extend(info.grows_memory.then_some(Added::Grow));
    let (wasm, start) = match guest.without_start()? {
        // It may write to the memory: the segments stay.
        Some((wasm, start)) => (Cow::Owned(wasm), Some(start)),
        None if changes.memory_of_ours && info.image_refusal().is_none() => {
            (Cow::Owned(guest.without_data()?), None)
        }
        None => (Cow::Borrowed(guest.wasm()), None),
    };
    let mut patch = Patch::of(&wasm)?;
    patch.replace(SectionId::Import, &imports(guest, &patch, changes));
    let mut calls = HostCalls::default();
    for (name, kind) in (info.imports.len()..).zip(&added) {
        let name = name.to_string();
        match kind {
            Added::Clock => {
                let function = patch.import(HOST, &name, &[], &[]);
                calls.check = Some(Check { function, period: SLICE });
            }
            Added::Grow => {
                let i32 = [ValType::I32];
                calls.grow = Some(patch.import(HOST, &name, &i32, &i32));
            }
        }
    }
    for import in held_imports(guest).map_err(guest::Error::from)? {
        let ty = patch.layout().functions[import as usize];
        let params = patch.layout().function(import).map_or(0, |ty| ty.params().len());
        let mut body = Function::new([]);
        for param in 0..params as u32 {
            body.instructions().local_get(param);
        }
        body.instructions().call(import).end();
        let wrapper = patch.function(ty, &body);
        patch.redirect(import, wrapper);
    }
    if changes.memory_of_ours {
        patch.remove(SectionId::Memory);
    }
    let exports = exports(guest, &patch);
    patch.replace(SectionId::Export, &exports);
    if let Some(function) = start {
        let function = patch.function_index(function);
        patch.export(&self::start(), ExportKind::Func, function);
    }
    // WasmEdge would only carry custom sections along.
    patch.remove(SectionId::Custom);
    patch.call_host(calls)?;
    Ok(Rewritten { wasm: patch.finish()?, added, has_start: start.is_some() })
}

/// The guest's imports under new names, and the memory if Touchstone resets it.
fn imports(guest: &GuestModule, patch: &Patch<'_>, changes: Changes) -> ImportSection {
    let mut section = ImportSection::new();
    if let (Some(limits), true) = (guest.info().memory, changes.memory_of_ours) {
        let ty = wasm_encoder::MemoryType {
            minimum: limits.minimum.into(),
            maximum: limits.maximum.map(Into::into),
            memory64: false,
            shared: false,
            page_size_log2: None,
        };
        section.import(HOST, MEMORY, ty);
    }
    let types = &patch.layout().functions[..guest.info().imports.len()];
    for (index, ty) in types.iter().enumerate() {
        section.import(HOST, &index.to_string(), EntityType::Function(*ty));
    }
    section
}

/// The exports that the host calls or resets; a name costs at every instantiation.
fn exports(guest: &GuestModule, patch: &Patch<'_>) -> ExportSection {
    let mut exports = ExportSection::new();
    for (name, kind, index) in &patch.layout().exports {
        let is_kept = match kind {
            ExternalKind::Func | ExternalKind::FuncExact | ExternalKind::Table => true,
            ExternalKind::Memory => name == MEMORY,
            // In the order of their indices; there may be a million of each.
            ExternalKind::Global => {
                let globals = &guest.info().mutable_globals;
                globals.binary_search_by_key(index, |global| global.index).is_ok()
            }
            ExternalKind::Tag => false,
        };
        if is_kept {
            exports.export(name, ExportKind::from(*kind), *index);
        }
    }
    exports
}

/// The imports that a table, a global or a reference may come to hold, in ascending order.
fn held_imports(guest: &GuestModule) -> Result<BTreeSet<u32>, BinaryReaderError> {
    let mut held = BTreeSet::new();
    for payload in Parser::new(0).parse_all(guest.wasm()) {
        match payload? {
            Payload::GlobalSection(section) => {
                for global in section {
                    references(global?.init_expr.get_operators_reader(), &mut held)?;
                }
            }
            Payload::ElementSection(section) => {
                for element in section {
                    let element = element?;
                    match element.items {
                        // Only `ref.func` uses them, which is looked for in the code.
                        _ if matches!(element.kind, ElementKind::Declared) => {}
                        ElementItems::Functions(functions) => {
                            for function in functions {
                                held.insert(function?);
                            }
                        }
                        ElementItems::Expressions(_, expressions) => {
                            for expression in expressions {
                                references(expression?.get_operators_reader(), &mut held)?;
                            }
                        }
                    }
                }
            }
            Payload::CodeSectionEntry(body) => {
                references(body.get_operators_reader()?, &mut held)?;
            }
            _ => {}
        }
    }
    let imported = guest.info().imports.len();
    let has_code = guest.info().functions > imported;
    held.retain(|function| has_code && (*function as usize) < imported);
    Ok(held)
}

/// Adds the functions that `ref.func` names.
fn references(
    mut operators: OperatorsReader<'_>,
    held: &mut BTreeSet<u32>,
) -> Result<(), BinaryReaderError> {
    while !operators.eof() {
        if let Operator::RefFunc { function_index } = operators.read()? {
            held.insert(function_index);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
