//! Types and values of WasmEdge's interface.

use touchstone_executor::{Reference, Value, ValueType};
use wasmedge_sys::ffi;

pub(crate) fn types(types: &[ValueType]) -> Vec<ffi::WasmEdge_ValType> {
    types
        .iter()
        // SAFETY: each makes the number of a type.
        .map(|ty| unsafe {
            match ty {
                ValueType::I32 => ffi::WasmEdge_ValTypeGenI32(),
                ValueType::I64 => ffi::WasmEdge_ValTypeGenI64(),
                ValueType::F32 => ffi::WasmEdge_ValTypeGenF32(),
                ValueType::F64 => ffi::WasmEdge_ValTypeGenF64(),
                ValueType::V128 => ffi::WasmEdge_ValTypeGenV128(),
                ValueType::FuncRef => ffi::WasmEdge_ValTypeGenFuncRef(),
                ValueType::ExternRef => ffi::WasmEdge_ValTypeGenExternRef(),
            }
        })
        .collect()
}

pub(crate) fn to_wasmedge(value: Value) -> ffi::WasmEdge_Value {
    // SAFETY: makes values of numbers or null.
    unsafe {
        match value {
            Value::I32(value) => ffi::WasmEdge_ValueGenI32(value),
            Value::I64(value) => ffi::WasmEdge_ValueGenI64(value),
            // As bits, which keep the payload of a NaN.
            Value::F32(bits) => {
                ffi::WasmEdge_Value { Value: bits.into(), Type: ffi::WasmEdge_ValTypeGenF32() }
            }
            Value::F64(bits) => {
                ffi::WasmEdge_Value { Value: bits.into(), Type: ffi::WasmEdge_ValTypeGenF64() }
            }
            Value::V128(bits) => {
                ffi::WasmEdge_Value { Value: bits, Type: ffi::WasmEdge_ValTypeGenV128() }
            }
            // The contract passes none but null.
            Value::FuncRef(_) => ffi::WasmEdge_ValueGenFuncRef(std::ptr::null()),
            Value::ExternRef(_) => ffi::WasmEdge_ValueGenExternRef(std::ptr::null_mut()),
        }
    }
}

/// The content of a value of this type.
pub(crate) fn from_wasmedge(ty: ValueType, found: ffi::WasmEdge_Value) -> Value {
    match ty {
        ValueType::I32 => Value::I32(found.Value as i32),
        ValueType::I64 => Value::I64(found.Value as i64),
        ValueType::F32 => Value::F32(found.Value as u32),
        ValueType::F64 => Value::F64(found.Value as u64),
        ValueType::V128 => Value::V128(found.Value),
        ValueType::FuncRef => Value::FuncRef(seen(found)),
        ValueType::ExternRef => Value::ExternRef(seen(found)),
    }
}

fn seen(found: ffi::WasmEdge_Value) -> Reference {
    // SAFETY: only looks at the value.
    Reference::null_if(unsafe { ffi::WasmEdge_ValueIsNullRef(found) })
}
