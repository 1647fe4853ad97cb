//! Adapts a script's module to the contract. Imports from `spectest` become definitions. Functions
//! with vectors or references are called through added functions.
//!
//! An added function takes each vector as two integers, passes null for each reference, and returns
//! each vector as two integers and each reference as the answer of `ref.is_null`. The code of the
//! module stays byte for byte.

use super::spectest::{self, Item};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::convert::Infallible;
use std::ops::Range;
use wasm_encoder::reencode::{self, Reencode};
use wasm_encoder::{
    CodeSection, ConstExpr, DataSection, ElementSection, ExportKind, ExportSection, Function,
    FunctionSection, GlobalSection, GlobalType, Instruction, MemorySection, Module, RawSection,
    RefType, Section, SectionId, TableSection, TypeSection, ValType,
};
use wasmparser::{ExternalKind, Operator, Parser, Payload, TypeRef};

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
    let seen = match Seen::of(&wasm) {
        Ok(seen) => seen,
        Err(Stop::Unreadable) => return Ok(Adapted { wasm, ..Adapted::default() }),
        Err(Stop::NotDriven(reason)) => return Err(reason),
    };
    let mut adapted = Adapted::default();
    let mut added = Added::default();
    for (name, kind, index) in &seen.exports {
        let index_in = *index as usize;
        match kind {
            ExternalKind::Func if called.contains(name.as_str()) => {
                let ty = seen.functions.get(index_in).and_then(|ty| seen.types.get(*ty as usize));
                let Some(Some((params, results))) = ty else { continue };
                let plain = params.iter().chain(results).all(is_number);
                let export = if plain {
                    name.clone()
                } else {
                    added.function(name, params, results, Instruction::Call(*index))
                };
                let (params, results) = (params.clone(), results.clone());
                adapted.functions.insert(name.clone(), Entry { export, params, results });
            }
            ExternalKind::Global if read.contains(name.as_str()) => {
                let Some(Some(ty)) = seen.globals.get(index_in) else { continue };
                let export = added.function(name, &[], &[*ty], Instruction::GlobalGet(*index));
                let entry = Entry { export, params: Vec::new(), results: vec![*ty] };
                adapted.globals.insert(name.clone(), entry);
            }
            _ => {}
        }
    }
    adapted.wasm = if added.functions.is_empty() && seen.imports.is_empty() {
        wasm
    } else {
        match rewritten(&wasm, &seen, &added) {
            Ok(rewritten) => rewritten,
            Err(_) => return Ok(Adapted { wasm, ..Adapted::default() }),
        }
    };
    Ok(adapted)
}

fn is_number(ty: &ValType) -> bool {
    matches!(ty, ValType::I32 | ValType::I64 | ValType::F32 | ValType::F64)
}

fn simple(ty: wasmparser::ValType) -> Option<ValType> {
    Some(match ty {
        wasmparser::ValType::I32 => ValType::I32,
        wasmparser::ValType::I64 => ValType::I64,
        wasmparser::ValType::F32 => ValType::F32,
        wasmparser::ValType::F64 => ValType::F64,
        wasmparser::ValType::V128 => ValType::V128,
        wasmparser::ValType::FUNCREF => ValType::Ref(RefType::FUNCREF),
        wasmparser::ValType::EXTERNREF => ValType::Ref(RefType::EXTERNREF),
        wasmparser::ValType::Ref(_) => return None,
    })
}

/// The reason why a module is not adapted.
enum Stop {
    /// Malformed, or with unknown sections.
    Unreadable,
    NotDriven(String),
}

impl From<wasmparser::BinaryReaderError> for Stop {
    fn from(_: wasmparser::BinaryReaderError) -> Self {
        Self::Unreadable
    }
}

/// The parts of a module that adapting needs. Indices count imports first.
#[derive(Default)]
struct Seen {
    types: Vec<Option<(Vec<ValType>, Vec<ValType>)>>,
    functions: Vec<u32>,
    globals: Vec<Option<ValType>>,
    exports: Vec<(String, ExternalKind, u32)>,
    imports: Vec<Import>,
}

enum Import {
    /// Becomes a function of this type that does nothing.
    Function(u32),
    Item(Item),
}

impl Seen {
    fn of(wasm: &[u8]) -> Result<Self, Stop> {
        let mut seen = Self::default();
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::TypeSection(section) => {
                    for group in section {
                        for ty in group?.into_types() {
                            seen.types.push(match &ty.composite_type.inner {
                                wasmparser::CompositeInnerType::Func(ty) => {
                                    let list = |types: &[wasmparser::ValType]| {
                                        types.iter().map(|ty| simple(*ty)).collect::<Option<_>>()
                                    };
                                    list(ty.params()).zip(list(ty.results()))
                                }
                                _ => None,
                            });
                        }
                    }
                }
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        seen.import(&import?)?;
                    }
                }
                Payload::FunctionSection(section) => {
                    for ty in section {
                        seen.functions.push(ty?);
                    }
                }
                Payload::GlobalSection(section) => {
                    for global in section {
                        seen.globals.push(simple(global?.ty.content_type));
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        let export = export?;
                        seen.exports.push((export.name.to_owned(), export.kind, export.index));
                    }
                }
                _ => {}
            }
        }
        Ok(seen)
    }

    fn import(&mut self, import: &wasmparser::Import<'_>) -> Result<(), Stop> {
        let not_driven = |reason: &str| Err(Stop::NotDriven(reason.to_owned()));
        if import.module != spectest::MODULE {
            return not_driven("its module imports from another module");
        }
        if let TypeRef::Func(ty) = import.ty {
            let results = self.types.get(ty as usize).and_then(Option::as_ref);
            if !spectest::is_function(import.name) || results.is_none_or(|ty| !ty.1.is_empty()) {
                return not_driven("its module imports from spectest what this host does not have");
            }
            self.functions.push(ty);
            self.imports.push(Import::Function(ty));
            return Ok(());
        }
        let Some(item) = spectest::item(import.name, &import.ty) else {
            return not_driven("its module imports from spectest what this host does not have");
        };
        if let Item::Global(ty, _) = &item {
            self.globals.push(Some(*ty));
        }
        self.imports.push(Import::Item(item));
        Ok(())
    }
}

#[derive(Default)]
struct Added {
    functions: Vec<AddedFunction>,
}

struct AddedFunction {
    export: String,
    params: Vec<ValType>,
    results: Vec<ValType>,
    body: Function,
}

impl Added {
    /// Adds a function around one instruction and returns the name of its export.
    fn function(
        &mut self,
        name: &str,
        params: &[ValType],
        results: &[ValType],
        inside: Instruction<'_>,
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
        let mut local = 0;
        for ty in params {
            match ty {
                ValType::V128 => {
                    body.instruction(&Instruction::LocalGet(local));
                    body.instruction(&Instruction::I64x2Splat);
                    body.instruction(&Instruction::LocalGet(local + 1));
                    body.instruction(&Instruction::I64x2ReplaceLane(1));
                    local += 2;
                }
                ValType::Ref(ty) => {
                    body.instruction(&Instruction::RefNull(ty.heap_type));
                }
                _ => {
                    body.instruction(&Instruction::LocalGet(local));
                    local += 1;
                }
            }
        }
        body.instruction(&inside);
        let locals = flat_params.len() as u32..(flat_params.len() + results.len()) as u32;
        for local in locals.clone().rev() {
            body.instruction(&Instruction::LocalSet(local));
        }
        for (local, ty) in locals.zip(results) {
            body.instruction(&Instruction::LocalGet(local));
            match ty {
                ValType::V128 => {
                    body.instruction(&Instruction::I64x2ExtractLane(0));
                    body.instruction(&Instruction::LocalGet(local));
                    body.instruction(&Instruction::I64x2ExtractLane(1));
                }
                ValType::Ref(_) => {
                    body.instruction(&Instruction::RefIsNull);
                }
                _ => {}
            }
        }
        body.instruction(&Instruction::End);
        let export = format!("{ADDED}{}:{name}", self.functions.len());
        self.functions.push(AddedFunction {
            export: export.clone(),
            params: flat_params,
            results: flat(results, &[ValType::I32]),
            body,
        });
        export
    }
}

/// Replaces reads of imported globals in constant expressions by their values: a constant
/// expression may only read imported globals, and these are now defined.
#[derive(Default)]
struct Constants(HashMap<u32, Instruction<'static>>);

impl Reencode for Constants {
    type Error = Infallible;

    fn instruction<'a>(
        &mut self,
        operator: Operator<'a>,
    ) -> Result<Instruction<'a>, reencode::Error<Infallible>> {
        if let Operator::GlobalGet { global_index } = &operator
            && let Some(value) = self.0.get(global_index)
        {
            return Ok(value.clone());
        }
        reencode::utils::instruction(self, operator)
    }
}

/// The module with imports defined and functions added.
fn rewritten(
    wasm: &[u8],
    seen: &Seen,
    added: &Added,
) -> Result<Vec<u8>, reencode::Error<Infallible>> {
    let (mut types, mut functions) = (TypeSection::new(), FunctionSection::new());
    let (mut tables, mut memories) = (TableSection::new(), MemorySection::new());
    let (mut globals, mut exports) = (GlobalSection::new(), ExportSection::new());
    let (mut elements, mut code) = (ElementSection::new(), CodeSection::new());
    let mut data = DataSection::new();
    let (mut tags, mut start, mut data_count) = (None, None, None);
    let mut constants = Constants::default();
    for import in &seen.imports {
        match import {
            Import::Function(ty) => {
                functions.function(*ty);
                let mut nothing = Function::new([]);
                nothing.instruction(&Instruction::End);
                code.function(&nothing);
            }
            Import::Item(Item::Global(ty, value)) => {
                let ty = GlobalType { val_type: *ty, mutable: false, shared: false };
                constants.0.insert(globals.len(), value.clone());
                globals.global(ty, &ConstExpr::extended([value.clone()]));
            }
            Import::Item(Item::Table(ty)) => drop(tables.table(*ty)),
            Import::Item(Item::Memory(ty)) => drop(memories.memory(*ty)),
        }
    }
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            Payload::TypeSection(section) => constants.parse_type_section(&mut types, section)?,
            Payload::FunctionSection(section) => {
                constants.parse_function_section(&mut functions, section)?;
            }
            Payload::TableSection(section) => {
                constants.parse_table_section(&mut tables, section)?;
            }
            Payload::MemorySection(section) => {
                constants.parse_memory_section(&mut memories, section)?;
            }
            Payload::GlobalSection(section) => {
                constants.parse_global_section(&mut globals, section)?;
            }
            Payload::ExportSection(section) => {
                constants.parse_export_section(&mut exports, section)?;
            }
            Payload::ElementSection(section) => {
                constants.parse_element_section(&mut elements, section)?;
            }
            Payload::DataSection(section) => constants.parse_data_section(&mut data, section)?,
            Payload::CodeSectionEntry(body) => drop(code.raw(&wasm[body.range()])),
            Payload::TagSection(section) => tags = Some(section.range()),
            Payload::StartSection { range, .. } => start = Some(range),
            Payload::DataCountSection { range, .. } => data_count = Some(range),
            _ => {}
        }
    }
    let (first_type, first) = (seen.types.len() as u32, seen.functions.len() as u32);
    for (index, one) in (0..).zip(&added.functions) {
        types.ty().function(one.params.iter().copied(), one.results.iter().copied());
        functions.function(first_type + index);
        code.function(&one.body);
        exports.export(&one.export, ExportKind::Func, first + index);
    }
    let mut module = Module::HEADER.to_vec();
    let mut put = |section: &dyn Section, empty: bool| {
        if !empty {
            section.append_to(&mut module);
        }
    };
    let raw = |id: SectionId, range: Option<Range<usize>>| {
        (
            RawSection { id: id.into(), data: &wasm[range.clone().unwrap_or_default()] },
            range.is_none(),
        )
    };
    put(&types, types.is_empty());
    put(&functions, functions.is_empty());
    put(&tables, tables.is_empty());
    put(&memories, memories.is_empty());
    let (tags, none) = raw(SectionId::Tag, tags);
    put(&tags, none);
    put(&globals, globals.is_empty());
    put(&exports, exports.is_empty());
    let (start, none) = raw(SectionId::Start, start);
    put(&start, none);
    put(&elements, elements.is_empty());
    let (data_count, none) = raw(SectionId::DataCount, data_count);
    put(&data_count, none);
    put(&code, code.is_empty());
    put(&data, data.is_empty());
    Ok(module)
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
