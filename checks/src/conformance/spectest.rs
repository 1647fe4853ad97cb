//! The module `spectest`, which scripts import, as in the specification's reference interpreter.

use touchstone_executor::Value;
use wasm_encoder::{MemoryType, RefType, TableType};
use wasmparser::{TypeRef, ValType};

pub(super) const MODULE: &str = "spectest";

/// `true` if `spectest` has this function. All return nothing.
pub(super) fn is_function(name: &str) -> bool {
    let types = ["", "_i32", "_i64", "_f32", "_f64", "_i32_f32", "_f64_f64"];
    name.strip_prefix("print").is_some_and(|types_of| types.contains(&types_of))
}

/// A definition that replaces an import.
pub(super) enum Item {
    /// A function of this type that does nothing.
    Function(u32),
    /// A constant.
    Global(Value),
    Table(TableType),
    Memory(MemoryType),
}

/// The definition of an import of `spectest` that is no function, if it has one of this type.
pub(super) fn item(name: &str, ty: &TypeRef) -> Option<Item> {
    match ty {
        TypeRef::Global(ty) if !ty.mutable => {
            let value = match (name, ty.content_type) {
                ("global_i32", ValType::I32) => Value::I32(666),
                ("global_i64", ValType::I64) => Value::I64(666),
                ("global_f32", ValType::F32) => Value::F32(666.6_f32.to_bits()),
                ("global_f64", ValType::F64) => Value::F64(666.6_f64.to_bits()),
                _ => return None,
            };
            Some(Item::Global(value))
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
