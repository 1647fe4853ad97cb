//! An export with vectors or references, called with numbers only.
//!
//! Hosts here pass numbers. A function of the guest takes the place of the export: it makes vectors
//! of their halves and null references, calls the export, and takes the results apart.

use super::core_reset::Shape;
use super::info::unhostable;
use super::rewrite::{Sections, unreadable};
use crate::error::{Error, Result};
use crate::signature::{Signature, ValueType};
use std::fmt;
use wasm_encoder::{
    CodeSection, ElementSection, Elements, ExportKind, ExportSection, Function, FunctionSection,
    HeapType, Instruction, SectionId, TypeSection, ValType,
};
use wasmparser::{CompositeInnerType, ExternalKind, FuncType, Parser, Payload};

/// The form in which a value of an export is passed in the plain convention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passed {
    /// A number, as it is.
    Number(ValueType),
    /// A vector, as two i64: first the lower half.
    Vector,
    /// A reference of this type. As a parameter it is null and not passed; as a result it is an
    /// i32, which is 0 for null.
    Reference(String),
}

impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(ty) => ty.fmt(f),
            Self::Vector => f.write_str("v128"),
            Self::Reference(ty) => f.write_str(ty),
        }
    }
}

impl Passed {
    fn of(ty: wasmparser::ValType) -> Self {
        match (ValueType::of(ty), ty) {
            (Some(number), _) => Self::Number(number),
            (None, wasmparser::ValType::V128) => Self::Vector,
            (None, ty) => Self::Reference(ty.to_string()),
        }
    }

    /// The types of numbers as which a result is passed.
    #[must_use]
    pub fn result(&self) -> &[ValueType] {
        match self {
            Self::Number(ty) => std::slice::from_ref(ty),
            Self::Reference(_) => &[ValueType::I32],
            Self::Vector => &[ValueType::I64; 2],
        }
    }

    /// The types of numbers as which a parameter is passed.
    fn param(&self) -> &[ValueType] {
        match self {
            Self::Reference(_) => &[],
            other => other.result(),
        }
    }
}

/// The values of an export, as they are passed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PassedValues {
    /// The parameters.
    pub params: Vec<Passed>,
    /// The results.
    pub results: Vec<Passed>,
}

impl PassedValues {
    /// The numbers as which they are passed.
    #[must_use]
    pub fn signature(&self) -> Signature {
        let of = |all: &[Passed], types: fn(&Passed) -> &[ValueType]| -> Vec<ValueType> {
            all.iter().flat_map(types).copied().collect()
        };
        Signature {
            params: of(&self.params, Passed::param),
            results: of(&self.results, Passed::result),
        }
    }
}

impl From<&Signature> for PassedValues {
    fn from(signature: &Signature) -> Self {
        let of = |types: &[ValueType]| types.iter().copied().map(Passed::Number).collect();
        Self { params: of(&signature.params), results: of(&signature.results) }
    }
}

impl fmt::Display for PassedValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list =
            |all: &[Passed]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        write!(f, "({}) -> ({})", list(&self.params), list(&self.results))
    }
}

/// The module with an exported function that is called with numbers only, in the place of this
/// export, and how its values are passed.
///
/// # Errors
///
/// When there is no such function, it is an import, or a parameter is a reference that cannot be
/// null.
pub fn wrapped(wasm: &[u8], export: &str) -> Result<(Vec<u8>, PassedValues)> {
    let shape = Shape::of(wasm)?;
    let (mut types, mut exports, mut found) = (Vec::new(), ExportSection::new(), None);
    let own = shape.functions.len() as u32;
    let imported = own.saturating_sub(own_functions(wasm)?);
    for payload in Parser::new(0).parse_all(wasm) {
        match payload.map_err(unreadable)? {
            Payload::TypeSection(section) => {
                for group in section {
                    types.extend(group.map_err(unreadable)?.into_types().map(|ty| {
                        match ty.composite_type.inner {
                            CompositeInnerType::Func(ty) => Some(ty),
                            _ => None,
                        }
                    }));
                }
            }
            Payload::ExportSection(section) => {
                for other in section {
                    let other = other.map_err(unreadable)?;
                    let kind = match other.kind {
                        ExternalKind::Func | ExternalKind::FuncExact => ExportKind::Func,
                        ExternalKind::Table => ExportKind::Table,
                        ExternalKind::Memory => ExportKind::Memory,
                        ExternalKind::Global => ExportKind::Global,
                        ExternalKind::Tag => ExportKind::Tag,
                    };
                    let is_meant = kind == ExportKind::Func && other.name == export;
                    let index = if is_meant { own } else { other.index };
                    if is_meant {
                        found = Some(other.index);
                    }
                    exports.export(other.name, kind, index);
                }
            }
            _ => {}
        }
    }
    let named = |name: &str| Error::NoSuchExport { name: name.to_owned(), candidates: Vec::new() };
    let index = found.ok_or_else(|| named(export))?;
    if index < imported {
        return Err(Error::ExportImported { name: export.to_owned() });
    }
    let ty = shape.functions.get(index as usize).and_then(|ty| types.get(*ty as usize)?.as_ref());
    let ty = ty.ok_or_else(|| named(export))?;
    let (body, values) = wrapper(ty, index)?;
    let number = |ty: &ValueType| match ty {
        ValueType::I32 => ValType::I32,
        ValueType::I64 => ValType::I64,
        ValueType::F32 => ValType::F32,
        ValueType::F64 => ValType::F64,
    };
    let (Signature { params, results }, mut added) = (values.signature(), TypeSection::new());
    added.ty().function(params.iter().map(number), results.iter().map(number));
    let mut sections = Sections::of(wasm)?;
    sections.append_all(SectionId::Type, &added);
    let mut functions = FunctionSection::new();
    functions.function(shape.types.len() as u32);
    sections.append_all(SectionId::Function, &functions);
    let mut code = CodeSection::new();
    code.function(&body);
    sections.append_all(SectionId::Code, &code);
    sections.replace(SectionId::Export, &exports);
    // As long as it was exported, code could refer to the function.
    let mut declared = ElementSection::new();
    declared.declared(Elements::Functions(vec![index].into()));
    sections.append_all(SectionId::Element, &declared);
    Ok((sections.finish(), values))
}

/// Number of functions that a module defines.
fn own_functions(wasm: &[u8]) -> Result<u32> {
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::FunctionSection(section) = payload.map_err(unreadable)? {
            return Ok(section.count());
        }
    }
    Ok(0)
}

/// The function that calls `index`, of this type.
fn wrapper(ty: &FuncType, index: u32) -> Result<(Function, PassedValues)> {
    let unknown = || Error::Unhostable { reason: "an export has values of unknown types".into() };
    let known = |ty: &wasmparser::ValType| ValType::try_from(*ty).map_err(|_| unknown());
    let all = |types: &[wasmparser::ValType]| types.iter().copied().map(Passed::of).collect();
    let values = PassedValues { params: all(ty.params()), results: all(ty.results()) };
    let first = values.params.iter().map(|param| param.param().len() as u32).sum::<u32>();
    let locals: Vec<ValType> = ty.results().iter().map(known).collect::<Result<_>>()?;
    let mut body = Function::new_with_locals_types(locals);
    let mut next = 0;
    for (number, (ty, passed)) in ty.params().iter().zip(&values.params).enumerate() {
        match passed {
            Passed::Number(_) => drop(body.instruction(&Instruction::LocalGet(next))),
            Passed::Vector => {
                body.instruction(&Instruction::LocalGet(next))
                    .instruction(&Instruction::I64x2Splat)
                    .instruction(&Instruction::LocalGet(next + 1))
                    .instruction(&Instruction::I64x2ReplaceLane(1));
            }
            Passed::Reference(_) => {
                let wasmparser::ValType::Ref(reference) = ty else { return Err(unknown()) };
                if !reference.is_nullable() {
                    return unhostable(format!(
                        "parameter {} of the export is a {ty}, which only the guest can make",
                        number + 1
                    ));
                }
                let heap = HeapType::try_from(reference.heap_type()).map_err(|_| unknown())?;
                body.instruction(&Instruction::RefNull(heap));
            }
        }
        next += passed.param().len() as u32;
    }
    body.instruction(&Instruction::Call(index));
    for local in (first..first + values.results.len() as u32).rev() {
        body.instruction(&Instruction::LocalSet(local));
    }
    for (local, passed) in (first..).zip(&values.results) {
        body.instruction(&Instruction::LocalGet(local));
        match passed {
            Passed::Number(_) => {}
            Passed::Vector => {
                body.instruction(&Instruction::I64x2ExtractLane(0))
                    .instruction(&Instruction::LocalGet(local))
                    .instruction(&Instruction::I64x2ExtractLane(1));
            }
            Passed::Reference(_) => {
                body.instruction(&Instruction::RefIsNull).instruction(&Instruction::I32Eqz);
            }
        }
    }
    body.instruction(&Instruction::End);
    Ok((body, values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::ModuleInfo;

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn vectors_and_references_are_passed_as_numbers() {
        let wasm = wat::parse_str(
            r#"(module
                (import "env" "f" (func $imported (param externref)))
                (func $f (param v128 externref i32) (result funcref v128 f32)
                    (ref.func $f) (local.get 0) (f32.const 1))
                (func (export "strict") (param (ref func)))
                (export "f" (func $f)) (export "imported" (func $imported)) (memory (export "m") 1))"#,
        )
        .unwrap();
        let (changed, values) = wrapped(&wasm, "f").unwrap();
        assert_eq!(values.to_string(), "(v128, externref, i32) -> (funcref, v128, f32)");
        let info = ModuleInfo::read(&changed).unwrap();
        let export = info.exports.iter().find(|export| export.name == "f").unwrap();
        let signature = export.signature.as_ref().unwrap().to_string();
        assert_eq!(signature, "(i64, i64, i32) -> (i32, i64, i64, f32)");
        let reason = wrapped(&wasm, "strict").unwrap_err().to_string();
        assert!(reason.contains("parameter 1 of the export is a (ref func)"), "{reason}");
        assert!(matches!(wrapped(&wasm, "imported"), Err(Error::ExportImported { .. })));
        assert!(matches!(wrapped(&wasm, "m"), Err(Error::NoSuchExport { .. })));
    }
}
