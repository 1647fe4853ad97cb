//! Constant expressions that compute or read a global, turned into constants: not every
//! engine computes them, and the place of a data segment is known afterwards.

use crate::error::Result;
use crate::signature::Value;
use wasm_encoder::reencode::{Error as ReencodeError, Reencode, utils};
use wasm_encoder::{ConstExpr, Ieee32, Ieee64};
use wasmparser::{Operator, Parser, Payload};

/// A value that is known before instantiation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Constant {
    /// A number or a vector.
    Number(Value),
    Null(wasmparser::HeapType),
    Function(u32),
}

impl Constant {
    /// The expression of it; `None` for a type that the encoder does not know.
    pub(super) fn encoded(self) -> Option<ConstExpr> {
        Some(match self {
            Self::Number(Value::I32(value)) => ConstExpr::i32_const(value),
            Self::Number(Value::I64(value)) => ConstExpr::i64_const(value),
            Self::Number(Value::F32(bits)) => ConstExpr::f32_const(Ieee32::new(bits)),
            Self::Number(Value::F64(bits)) => ConstExpr::f64_const(Ieee64::new(bits)),
            Self::Number(Value::V128(bits)) => ConstExpr::v128_const(bits.cast_signed()),
            Self::Number(Value::FuncRef(_) | Value::ExternRef(_)) => return None,
            Self::Function(index) => ConstExpr::ref_func(index),
            Self::Null(ty) => ConstExpr::ref_null(ty.try_into().ok()?),
        })
    }
}

/// Values of the immutable globals, as far as they are known; by index.
pub(super) struct Values(Vec<Option<Constant>>);

impl Values {
    /// Those of a module whose imported globals have these values.
    pub(super) fn of(wasm: &[u8], imported: Vec<Constant>) -> Result<Self> {
        let mut values = Self(imported.into_iter().map(Some).collect());
        for payload in Parser::new(0).parse_all(wasm) {
            let Payload::GlobalSection(section) = payload? else { continue };
            for global in section {
                let global = global?;
                let value = values.evaluate(&global.init_expr);
                values.0.push(value.filter(|_| !global.ty.mutable));
            }
        }
        Ok(values)
    }

    /// The value of an expression; `None` if it is not known.
    fn evaluate(&self, expression: &wasmparser::ConstExpr<'_>) -> Option<Constant> {
        use Constant::Number;
        let mut stack = Vec::new();
        for operator in expression.get_operators_reader() {
            let value = match operator.ok()? {
                Operator::I32Const { value } => Number(Value::I32(value)),
                Operator::I64Const { value } => Number(Value::I64(value)),
                Operator::F32Const { value } => Number(Value::F32(value.bits())),
                Operator::F64Const { value } => Number(Value::F64(value.bits())),
                Operator::V128Const { value } => Number(Value::V128(value.i128().cast_unsigned())),
                Operator::RefNull { hty } => Constant::Null(hty),
                Operator::RefFunc { function_index } => Constant::Function(function_index),
                Operator::GlobalGet { global_index } => (*self.0.get(global_index as usize)?)?,
                Operator::End => break,
                operator => match (stack.pop()?, stack.pop()?) {
                    (Number(b), Number(a)) => Number(computed(&operator, a, b)?),
                    _ => return None,
                },
            };
            stack.push(value);
        }
        stack.pop().filter(|_| stack.is_empty())
    }
}

fn computed(operator: &Operator<'_>, a: Value, b: Value) -> Option<Value> {
    Some(match (operator, a, b) {
        (Operator::I32Add, Value::I32(a), Value::I32(b)) => Value::I32(a.wrapping_add(b)),
        (Operator::I32Sub, Value::I32(a), Value::I32(b)) => Value::I32(a.wrapping_sub(b)),
        (Operator::I32Mul, Value::I32(a), Value::I32(b)) => Value::I32(a.wrapping_mul(b)),
        (Operator::I64Add, Value::I64(a), Value::I64(b)) => Value::I64(a.wrapping_add(b)),
        (Operator::I64Sub, Value::I64(a), Value::I64(b)) => Value::I64(a.wrapping_sub(b)),
        (Operator::I64Mul, Value::I64(a), Value::I64(b)) => Value::I64(a.wrapping_mul(b)),
        _ => return None,
    })
}

/// Encodes sections with constants in the place of expressions of known value.
pub(super) struct Folder(pub(super) Values);

impl Reencode for Folder {
    type Error = std::convert::Infallible;

    fn const_expr(
        &mut self,
        expression: wasmparser::ConstExpr<'_>,
    ) -> std::result::Result<ConstExpr, ReencodeError> {
        match self.0.evaluate(&expression).and_then(Constant::encoded) {
            Some(constant) => Ok(constant),
            None => utils::const_expr(self, expression),
        }
    }
}
