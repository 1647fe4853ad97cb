//! Values in the slots of host functions and in the cells of calls.

use touchstone_executor::{Reference, Value, ValueType};

/// WAMR's null reference to a function.
const NULL: u32 = u32::MAX;

/// The slot of a value. The contract passes no reference but null.
pub(crate) fn bits(value: Value) -> u64 {
    match value {
        Value::I32(value) => value.cast_unsigned().into(),
        Value::I64(value) => value.cast_unsigned(),
        Value::F32(bits) => bits.into(),
        Value::F64(bits) => bits,
        Value::FuncRef(_) => NULL.into(),
        // WAMR makes a null reference of the object with this address.
        Value::ExternRef(_) => u64::MAX,
        // The engine has no vectors.
        Value::V128(_) => 0,
    }
}

/// The value in a slot that a host function gets. A guest has no reference to an object but null,
/// and WAMR passes something else for it.
pub(crate) fn value(ty: ValueType, bits: u64) -> Value {
    match ty {
        ValueType::I32 => Value::I32((bits as u32).cast_signed()),
        ValueType::I64 => Value::I64(bits.cast_signed()),
        ValueType::F32 => Value::F32(bits as u32),
        ValueType::F64 => Value::F64(bits),
        ValueType::FuncRef => Value::FuncRef(Reference::null_if(bits as u32 == NULL)),
        ValueType::ExternRef => Value::ExternRef(Reference::null_if(true)),
        ValueType::V128 => Value::V128(bits.into()),
    }
}

/// Cells of 32 bits that a value takes in a call.
pub(crate) fn cells(ty: ValueType) -> usize {
    match ty {
        ValueType::I32 | ValueType::F32 | ValueType::FuncRef => 1,
        ValueType::I64 | ValueType::F64 | ValueType::ExternRef => 2,
        ValueType::V128 => 4,
    }
}

/// Appends the cells of a parameter.
pub(crate) fn push(all: &mut Vec<u32>, value: Value) {
    let bits = bits(value);
    all.push(bits as u32);
    if cells(value.ty()) > 1 {
        all.push((bits >> 32) as u32);
    }
}

/// Takes a result off the cells.
pub(crate) fn take(all: &mut &[u32], ty: ValueType) -> Value {
    let count = cells(ty);
    let low = all.first().copied().unwrap_or_default();
    let high = if count > 1 { all.get(1).copied().unwrap_or_default() } else { 0 };
    *all = all.get(count..).unwrap_or_default();
    let bits = u64::from(high) << 32 | u64::from(low);
    match ty {
        // The address of the object, which is 0 for null.
        ValueType::ExternRef => Value::ExternRef(Reference::null_if(bits == 0)),
        _ => value(ty, bits),
    }
}
