//! Adapts a script's module to the contract. Imports from `spectest` become definitions. Functions
//! with vectors or references are called through added functions.
//!
//! An added function takes each vector as two integers, passes null for each reference, and returns
//! each vector as two integers and each reference as the answer of `ref.is_null`. The code of the
//! module stays byte for byte.

use super::spectest::{self, Item};
use std::collections::{BTreeMap, HashSet};
use touchstone_executor::guest::{self, Layout, Patch};
use wasm_encoder::{
    CodeSection, ExportKind, Function, FunctionSection, InstructionSink, MemorySection, SectionId,
    TableSection, ValType,
};
use wasmparser::{ExternalKind, FuncType, Parser, Payload, TypeRef};

/// Prefix of added exports.
const ADDED: &str = "touchstone:";

/// A module with its imports defined and functions added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Adapted {
    pub wasm: Vec<u8>,
    /// The entries of exported functions, by name.
    pub functions: BTreeMap<String, Entry>,
    /// The entries of functions that return exported globals, by name.
    pub globals: BTreeMap<String, Entry>,
}

/// An export that is called in place of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub export: String,
    /// Types of the values that the script passes.
    pub params: Vec<ValType>,
    /// Types of the values that the script expects.
    pub results: Vec<ValType>,
}

/// Adapts a module. `called` and `read` are the names of the functions and globals that the script
/// uses. A malformed module is returned unchanged. Fails with the reason if the module imports from
/// another module of the script.
pub fn adapt(
    wasm: Vec<u8>,
    called: &HashSet<&str>,
    read: &HashSet<&str>,
) -> Result<Adapted, String> {
    let unchanged = |wasm| Ok(Adapted { wasm, ..Adapted::default() });
    let Ok(layout) = Layout::of(&wasm) else { return unchanged(wasm) };
    let Some(imports) = imports(&wasm, &layout).transpose()? else { return unchanged(wasm) };
    let mut adapted = Adapted::default();
    let rewritten = match rewritten(&wasm, imports, called, read, &mut adapted) {
        Ok(rewritten) => rewritten,
        Err(_) => return unchanged(wasm),
    };
    adapted.wasm = rewritten.unwrap_or(wasm);
    Ok(adapted)
}

/// The module with imports defined and functions added; `None` where it needs neither.
fn rewritten(
    wasm: &[u8],
    imports: Vec<Item>,
    called: &HashSet<&str>,
    read: &HashSet<&str>,
    adapted: &mut Adapted,
) -> guest::Result<Option<Vec<u8>>> {
    let mut patch = Patch::of(wasm)?;
    let is_changed = !imports.is_empty();
    define(&mut patch, imports)?;
    let mut added = 0;
    for (name, kind, index) in patch.layout().exports.clone() {
        match kind {
            ExternalKind::Func if called.contains(name.as_str()) => {
                let ty = patch.layout().function(index).and_then(types);
                let Some((params, results)) = ty else { continue };
                let export = if params.iter().chain(&results).all(is_number) {
                    name.clone()
                } else {
                    add_function(&mut patch, &mut added, &name, &params, &results, |code| {
                        code.call(index);
                    })
                };
                adapted.functions.insert(name, Entry { export, params, results });
            }
            ExternalKind::Global if read.contains(name.as_str()) => {
                let global = patch.layout().globals.get(index as usize);
                let Some(ty) = global.and_then(|ty| simple(ty.content_type)) else { continue };
                let export = add_function(&mut patch, &mut added, &name, &[], &[ty], |code| {
                    code.global_get(index);
                });
                let entry = Entry { export, params: Vec::new(), results: vec![ty] };
                adapted.globals.insert(name, entry);
            }
            _ => {}
        }
    }
    if is_changed || added > 0 { patch.finish().map(Some) } else { Ok(None) }
}

fn is_number(ty: &ValType) -> bool {
    matches!(ty, ValType::I32 | ValType::I64 | ValType::F32 | ValType::F64)
}

/// A type that an added function can have inside.
fn simple(ty: wasmparser::ValType) -> Option<ValType> {
    let own = [wasmparser::ValType::FUNCREF, wasmparser::ValType::EXTERNREF];
    let is_simple = own.contains(&ty) || !matches!(ty, wasmparser::ValType::Ref(_));
    ValType::try_from(ty).ok().filter(|_| is_simple)
}

fn types(ty: &FuncType) -> Option<(Vec<ValType>, Vec<ValType>)> {
    let list = |types: &[wasmparser::ValType]| types.iter().map(|ty| simple(*ty)).collect();
    Option::zip(list(ty.params()), list(ty.results()))
}

/// The imports and their definitions, or the reason why there is none for one of them; `None` for
/// a malformed module.
fn imports(wasm: &[u8], layout: &Layout) -> Option<Result<Vec<Item>, String>> {
    let mut imports = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        let Payload::ImportSection(section) = payload.ok()? else { continue };
        for import in section.into_imports() {
            let import = import.ok()?;
            if import.module != spectest::MODULE {
                return Some(Err("its module imports from another module".to_owned()));
            }
            let definition = match import.ty {
                TypeRef::Func(ty) => {
                    let ty_of = layout.types.get(ty as usize).and_then(Option::as_ref);
                    let is_known = spectest::is_function(import.name)
                        && ty_of.is_some_and(|ty| ty.results().is_empty());
                    is_known.then_some(Item::Function(ty))
                }
                _ => spectest::item(import.name, &import.ty),
            };
            let Some(definition) = definition else {
                let reason = "its module imports from spectest what this host does not have";
                return Some(Err(reason.to_owned()));
            };
            imports.push(definition);
        }
    }
    Some(Ok(imports))
}

/// Puts definitions in the place of the imports.
fn define(patch: &mut Patch<'_>, imports: Vec<Item>) -> guest::Result<()> {
    let (mut functions, mut code) = (FunctionSection::new(), CodeSection::new());
    let (mut tables, mut memories) = (TableSection::new(), MemorySection::new());
    let mut globals = Vec::new();
    for import in imports {
        match import {
            Item::Function(ty) => {
                functions.function(ty);
                let mut nothing = Function::new([]);
                nothing.instructions().end();
                code.function(&nothing);
            }
            Item::Global(value) => globals.push(value),
            Item::Table(ty) => drop(tables.table(ty)),
            Item::Memory(ty) => drop(memories.memory(ty)),
        }
    }
    patch.remove(SectionId::Import);
    patch.define_globals(globals)?;
    patch.prepend(SectionId::Function, &functions);
    patch.prepend(SectionId::Code, &code);
    patch.prepend(SectionId::Table, &tables);
    patch.prepend(SectionId::Memory, &memories);
    Ok(())
}

/// Adds a function around one instruction and returns the name of its export.
fn add_function(
    patch: &mut Patch<'_>,
    added: &mut usize,
    name: &str,
    params: &[ValType],
    results: &[ValType],
    inside: impl FnOnce(&mut InstructionSink<'_>),
) -> String {
    let flat = |types: &[ValType], reference: &[ValType]| -> Vec<ValType> {
        let flat = types.iter().flat_map(|ty| match ty {
            ValType::V128 => vec![ValType::I64; 2],
            ValType::Ref(_) => reference.to_vec(),
            number => vec![*number],
        });
        flat.collect()
    };
    let flat_params = flat(params, &[]);
    let mut body = Function::new_with_locals_types(results.iter().copied());
    let mut code = body.instructions();
    let mut local = 0;
    for ty in params {
        match ty {
            ValType::V128 => {
                code.local_get(local).i64x2_splat();
                code.local_get(local + 1).i64x2_replace_lane(1);
                local += 2;
            }
            ValType::Ref(ty) => drop(code.ref_null(ty.heap_type)),
            _ => {
                code.local_get(local);
                local += 1;
            }
        }
    }
    inside(&mut code);
    let locals = flat_params.len() as u32..(flat_params.len() + results.len()) as u32;
    for local in locals.clone().rev() {
        code.local_set(local);
    }
    for (local, ty) in locals.zip(results) {
        code.local_get(local);
        match ty {
            ValType::V128 => {
                code.i64x2_extract_lane(0).local_get(local).i64x2_extract_lane(1);
            }
            ValType::Ref(_) => drop(code.ref_is_null()),
            _ => {}
        }
    }
    code.end();
    let export = format!("{ADDED}{added}:{name}");
    *added += 1;
    let ty = patch.ty(&flat_params, &flat(results, &[ValType::I32]));
    let function = patch.function(ty, &body);
    patch.export(&export, ExportKind::Func, function);
    export
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapted(text: &str) -> Result<Adapted, String> {
        let wasm = wat::parse_str(text).unwrap();
        let called = ["f", "g", "plain"].into_iter().collect();
        adapt(wasm, &called, &["value"].into_iter().collect())
    }

    fn valid(adapted: &Adapted) {
        let features = wasmparser::WasmFeatures::WASM2;
        wasmparser::Validator::new_with_features(features).validate_all(&adapted.wasm).unwrap();
    }

    #[test]
    fn a_module_that_needs_nothing_stays_as_it_is() {
        let text = r#"(module (func (export "plain") (param f32) (result i64) (i64.const 1)))"#;
        let adapted = adapted(text).unwrap();
        assert_eq!(adapted.wasm, wat::parse_str(text).unwrap());
        let entry = &adapted.functions["plain"];
        assert_eq!(entry.export, "plain");
        assert_eq!(
            (&entry.params[..], &entry.results[..]),
            (&[ValType::F32][..], &[ValType::I64][..])
        );
    }

    #[test]
    fn imports_of_spectest_become_definitions_in_their_place() {
        let adapted = adapted(
            r#"(module
                 (import "spectest" "print_i32" (func $print (param i32)))
                 (import "spectest" "global_i32" (global $at i32))
                 (import "spectest" "memory" (memory 1))
                 (import "spectest" "table" (table 5 funcref))
                 (global $copy i32 (global.get $at))
                 (elem (i32.const 1) $f)
                 (data (offset (global.get $at)) "x")
                 (func $f (export "f") (result i32) (call $print (i32.const 1)) (global.get $copy)))"#,
        )
        .unwrap();
        valid(&adapted);
        let text = wasmprinter::print_bytes(&adapted.wasm).unwrap();
        assert!(!text.contains("import"), "{text}");
        assert!(text.contains("i32.const 666") && text.contains("10 20 funcref"), "{text}");
    }

    #[test]
    fn what_is_no_number_goes_through_functions() {
        let adapted = adapted(
            r#"(module
                 (global (export "value") v128 (v128.const i64x2 1 2))
                 (func (export "f") (param i32 v128 externref) (result v128 externref f64)
                   (local.get 1) (local.get 2) (f64.const 1)))"#,
        )
        .unwrap();
        valid(&adapted);
        let entry = &adapted.functions["f"];
        assert_ne!(entry.export, "f");
        assert_eq!(entry.params.len(), 3);
        let text = wasmprinter::print_bytes(&adapted.wasm).unwrap();
        assert!(text.contains("(param i32 i64 i64) (result i64 i64 i32 f64)"), "{text}");
        assert_eq!(adapted.globals["value"].results, [ValType::V128]);
    }

    #[test]
    fn imports_of_other_modules_are_not_driven() {
        assert!(adapted(r#"(module (import "other" "f" (func)))"#).is_err());
        assert!(adapted(r#"(module (import "spectest" "none" (func)))"#).is_err());
        assert!(adapted(r#"(module (import "spectest" "print" (func (result i32))))"#).is_err());
    }
}
