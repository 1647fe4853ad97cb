//! Values in the slots of Wasm3's stack.

use touchstone_executor::{Reference, Value, ValueType};

/// The content of a slot for a value.
#[inline]
pub(super) fn bits(value: Value) -> u64 {
    match value {
        Value::I32(value) => u64::from(value as u32),
        Value::I64(value) => value as u64,
        Value::F32(bits) => u64::from(bits),
        Value::F64(bits) => bits,
        // The engine has no vectors, and the contract passes no reference but null.
        Value::V128(_) | Value::FuncRef(_) | Value::ExternRef(_) => 0,
    }
}

/// The value in a slot. The upper half of a slot with 32 bits is undefined.
#[inline]
pub(super) fn value(ty: ValueType, bits: u64) -> Value {
    match ty {
        ValueType::I32 => Value::I32(bits as u32 as i32),
        ValueType::I64 => Value::I64(bits as i64),
        ValueType::F32 => Value::F32(bits as u32),
        ValueType::F64 => Value::F64(bits),
        ValueType::V128 => Value::V128(bits.into()),
        ValueType::FuncRef => Value::FuncRef(Reference::null_if(bits == 0)),
        ValueType::ExternRef => Value::ExternRef(Reference::null_if(bits == 0)),
    }
}
