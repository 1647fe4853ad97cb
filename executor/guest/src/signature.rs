//! Types and values at the boundary between host and guest.

use std::fmt;

/// A type of values that a host can pass to a guest and get from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are WebAssembly's own")]
pub enum ValueType {
    I32,
    I64,
    F32,
    F64,
    V128,
    FuncRef,
    ExternRef,
}

impl ValueType {
    /// The type; `None` for references of other types than `funcref` and `externref`.
    pub(crate) fn of(ty: wasmparser::ValType) -> Option<Self> {
        Some(match ty {
            wasmparser::ValType::I32 => Self::I32,
            wasmparser::ValType::I64 => Self::I64,
            wasmparser::ValType::F32 => Self::F32,
            wasmparser::ValType::F64 => Self::F64,
            wasmparser::ValType::V128 => Self::V128,
            wasmparser::ValType::FUNCREF => Self::FuncRef,
            wasmparser::ValType::EXTERNREF => Self::ExternRef,
            wasmparser::ValType::Ref(_) => return None,
        })
    }

    /// `true` for integers and floats.
    pub const fn is_number(self) -> bool {
        matches!(self, Self::I32 | Self::I64 | Self::F32 | Self::F64)
    }

    /// Size in bytes, in inputs and outputs. A reference takes one: see [`Reference`].
    pub const fn size(self) -> usize {
        match self {
            Self::FuncRef | Self::ExternRef => 1,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
            Self::V128 => 16,
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
            Self::V128 => "v128",
            Self::FuncRef => "funcref",
            Self::ExternRef => "externref",
        })
    }
}

/// A reference, as far as a host sees it. A host can pass only null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// Null. The byte 0 in inputs and outputs.
    Null,
    /// A reference to a function or an object. The byte 1 in outputs.
    Opaque,
}

/// A value that is passed into or out of a guest. Floats are passed as bits, so the payload of a
/// NaN is kept. The first lane of a vector is its lowest bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are WebAssembly's own")]
pub enum Value {
    I32(i32),
    I64(i64),
    F32(u32),
    F64(u64),
    V128(u128),
    FuncRef(Reference),
    ExternRef(Reference),
}

impl Value {
    /// A zero of the type, or null.
    #[inline]
    pub const fn zero(ty: ValueType) -> Self {
        match ty {
            ValueType::I32 => Self::I32(0),
            ValueType::I64 => Self::I64(0),
            ValueType::F32 => Self::F32(0),
            ValueType::F64 => Self::F64(0),
            ValueType::V128 => Self::V128(0),
            ValueType::FuncRef => Self::FuncRef(Reference::Null),
            ValueType::ExternRef => Self::ExternRef(Reference::Null),
        }
    }

    /// Its type.
    #[inline]
    pub const fn ty(self) -> ValueType {
        match self {
            Self::I32(_) => ValueType::I32,
            Self::I64(_) => ValueType::I64,
            Self::F32(_) => ValueType::F32,
            Self::F64(_) => ValueType::F64,
            Self::V128(_) => ValueType::V128,
            Self::FuncRef(_) => ValueType::FuncRef,
            Self::ExternRef(_) => ValueType::ExternRef,
        }
    }

    /// `true` for a reference that is not null, which no host can pass.
    #[inline]
    pub const fn is_opaque(self) -> bool {
        matches!(self, Self::FuncRef(Reference::Opaque) | Self::ExternRef(Reference::Opaque))
    }

    /// Reads a value from little-endian bytes of exactly the type's size. `None` for another size,
    /// and for a reference that is neither 0 nor 1.
    #[inline]
    pub fn from_le_bytes(ty: ValueType, bytes: &[u8]) -> Option<Self> {
        Some(match ty {
            ValueType::I32 => Self::I32(i32::from_le_bytes(bytes.try_into().ok()?)),
            ValueType::I64 => Self::I64(i64::from_le_bytes(bytes.try_into().ok()?)),
            ValueType::F32 => Self::F32(u32::from_le_bytes(bytes.try_into().ok()?)),
            ValueType::F64 => Self::F64(u64::from_le_bytes(bytes.try_into().ok()?)),
            ValueType::V128 => Self::V128(u128::from_le_bytes(bytes.try_into().ok()?)),
            ValueType::FuncRef => Self::FuncRef(Reference::of(bytes)?),
            ValueType::ExternRef => Self::ExternRef(Reference::of(bytes)?),
        })
    }

    /// Its little-endian bytes, of which the first [`ValueType::size`] are the value's.
    #[inline]
    pub const fn to_le_bytes(self) -> [u8; 16] {
        let bits = match self {
            Self::I32(value) => value.cast_unsigned() as u128,
            Self::I64(value) => value.cast_unsigned() as u128,
            Self::F32(bits) => bits as u128,
            Self::F64(bits) => bits as u128,
            Self::V128(bits) => bits,
            Self::FuncRef(reference) | Self::ExternRef(reference) => reference as u128,
        };
        bits.to_le_bytes()
    }
}

impl Reference {
    /// The reference that is null in this case.
    #[inline]
    pub const fn null_if(is_null: bool) -> Self {
        if is_null { Self::Null } else { Self::Opaque }
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0] => Some(Self::Null),
            [1] => Some(Self::Opaque),
            _ => None,
        }
    }
}

/// Type of a function whose parameters and results a host can pass and get.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Signature {
    /// Types of the parameters.
    pub params: Vec<ValueType>,
    /// Types of the results.
    pub results: Vec<ValueType>,
}

impl Signature {
    /// A signature from its parts.
    pub fn new(params: &[ValueType], results: &[ValueType]) -> Self {
        Self { params: params.to_vec(), results: results.to_vec() }
    }

    /// `true` if parameters and results have its types.
    #[inline]
    pub fn fits(&self, params: &[Value], results: &[Value]) -> bool {
        self.takes(params) && self.gives(results)
    }

    /// `true` if parameters have its types.
    #[inline]
    pub fn takes(&self, params: &[Value]) -> bool {
        are(params, &self.params)
    }

    /// `true` if results have its types.
    #[inline]
    pub fn gives(&self, results: &[Value]) -> bool {
        are(results, &self.results)
    }

    /// The type of a function; `None` if it has a reference of another type than `funcref` and
    /// `externref`.
    pub(crate) fn of(ty: &wasmparser::FuncType) -> Option<Self> {
        let all = |types: &[_]| types.iter().map(|ty| ValueType::of(*ty)).collect::<Option<_>>();
        Some(Self { params: all(ty.params())?, results: all(ty.results())? })
    }
}

/// `true` if each value has the type in its place.
#[inline]
fn are(values: &[Value], types: &[ValueType]) -> bool {
    values.iter().map(|value| value.ty()).eq(types.iter().copied())
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |types: &[ValueType]| {
            types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        write!(f, "({}) -> ({})", list(&self.params), list(&self.results))
    }
}
