//! Types and values at the boundary between host and guest.

use std::fmt;

/// A number type of WebAssembly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are WebAssembly's own")]
pub enum ValueType {
    I32,
    I64,
    F32,
    F64,
}

impl ValueType {
    /// The type, if it is a number's.
    #[must_use]
    pub fn of(ty: wasmparser::ValType) -> Option<Self> {
        Some(match ty {
            wasmparser::ValType::I32 => Self::I32,
            wasmparser::ValType::I64 => Self::I64,
            wasmparser::ValType::F32 => Self::F32,
            wasmparser::ValType::F64 => Self::F64,
            _ => return None,
        })
    }

    /// Size in bytes.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        })
    }
}

/// A number that is passed into or out of a guest. Floats are passed as bits, so the payload of a
/// NaN is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are WebAssembly's own")]
pub enum Value {
    I32(i32),
    I64(i64),
    F32(u32),
    F64(u64),
}

impl Value {
    /// A zero of the type.
    #[must_use]
    pub const fn zero(ty: ValueType) -> Self {
        match ty {
            ValueType::I32 => Self::I32(0),
            ValueType::I64 => Self::I64(0),
            ValueType::F32 => Self::F32(0),
            ValueType::F64 => Self::F64(0),
        }
    }

    /// Its type.
    #[must_use]
    pub const fn ty(self) -> ValueType {
        match self {
            Self::I32(_) => ValueType::I32,
            Self::I64(_) => ValueType::I64,
            Self::F32(_) => ValueType::F32,
            Self::F64(_) => ValueType::F64,
        }
    }

    /// Reads a value from little-endian bytes of exactly the type's size.
    #[must_use]
    pub fn from_le_bytes(ty: ValueType, bytes: &[u8]) -> Option<Self> {
        Some(match ty {
            ValueType::I32 => Self::I32(i32::from_le_bytes(bytes.try_into().ok()?)),
            ValueType::I64 => Self::I64(i64::from_le_bytes(bytes.try_into().ok()?)),
            ValueType::F32 => Self::F32(u32::from_le_bytes(bytes.try_into().ok()?)),
            ValueType::F64 => Self::F64(u64::from_le_bytes(bytes.try_into().ok()?)),
        })
    }

    /// Appends the value's little-endian bytes.
    pub fn append_le_bytes(self, output: &mut Vec<u8>) {
        match self {
            Self::I32(value) => output.extend(value.to_le_bytes()),
            Self::I64(value) => output.extend(value.to_le_bytes()),
            Self::F32(bits) => output.extend(bits.to_le_bytes()),
            Self::F64(bits) => output.extend(bits.to_le_bytes()),
        }
    }
}

/// Type of a function with only number types.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Signature {
    /// Types of the parameters.
    pub params: Vec<ValueType>,
    /// Types of the results.
    pub results: Vec<ValueType>,
}

impl Signature {
    /// A signature from its parts.
    #[must_use]
    pub fn new(params: &[ValueType], results: &[ValueType]) -> Self {
        Self { params: params.to_vec(), results: results.to_vec() }
    }

    /// The type of a function, if all of it are numbers.
    #[must_use]
    pub fn of(ty: &wasmparser::FuncType) -> Option<Self> {
        let numbers =
            |types: &[_]| types.iter().map(|ty| ValueType::of(*ty)).collect::<Option<_>>();
        Some(Self { params: numbers(ty.params())?, results: numbers(ty.results())? })
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |types: &[ValueType]| {
            types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        write!(f, "({}) -> ({})", list(&self.params), list(&self.results))
    }
}
