//! The module `spectest`, which scripts import, as in the specification's reference interpreter.

use wasm_encoder::{Instruction, MemoryType, RefType, TableType, ValType};
use wasmparser::TypeRef;

pub(super) const MODULE: &str = "spectest";

/// `true` if `spectest` has this function. All return nothing.
pub(super) fn is_function(name: &str) -> bool {
    matches!(
        name,
        "print"
            | "print_i32"
            | "print_i64"
            | "print_f32"
            | "print_f64"
            | "print_i32_f32"
            | "print_f64_f64"
    )
}

/// A definition that replaces an import.
pub(super) enum Item {
    /// A constant of this type.
    Global(ValType, Instruction<'static>),
    Table(TableType),
    Memory(MemoryType),
}

/// The definition of an import of `spectest`, if it has one of this type.
pub(super) fn item(name: &str, ty: &TypeRef) -> Option<Item> {
    let number = |found: wasmparser::ValType| match (name, found) {
        ("global_i32", wasmparser::ValType::I32) => {
            Some((ValType::I32, Instruction::I32Const(666)))
        }
        ("global_i64", wasmparser::ValType::I64) => {
            Some((ValType::I64, Instruction::I64Const(666)))
        }
        ("global_f32", wasmparser::ValType::F32) => {
            Some((ValType::F32, Instruction::F32Const(666.6_f32.into())))
        }
        ("global_f64", wasmparser::ValType::F64) => {
            Some((ValType::F64, Instruction::F64Const(666.6_f64.into())))
        }
        _ => None,
    };
    match ty {
        TypeRef::Global(ty) if !ty.mutable => {
            let (ty, value) = number(ty.content_type)?;
            Some(Item::Global(ty, value))
        }
        TypeRef::Table(ty) if name == "table" && !ty.table64 => Some(Item::Table(TableType {
            element_type: RefType::FUNCREF,
            table64: false,
            minimum: 10,
            maximum: Some(20),
            shared: false,
        })),
        TypeRef::Memory(ty) if name == "memory" && !ty.memory64 && !ty.shared => {
            Some(Item::Memory(MemoryType {
                minimum: 1,
                maximum: Some(2),
                memory64: false,
                shared: false,
                page_size_log2: None,
            }))
        }
        _ => None,
    }
}
