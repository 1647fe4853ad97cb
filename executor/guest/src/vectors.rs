//! Which modules use vectors of 128 bits, which not every runtime has.

use wasmparser::{Operator, ValType};

/// `true` if an operator is one of those that work on vectors, of the simd or the relaxed-simd
/// proposal.
pub(super) fn is_vector(operator: &Operator<'_>) -> bool {
    macro_rules! of_proposal {
        (simd) => {
            true
        };
        (relaxed_simd) => {
            true
        };
        ($other:ident) => {
            false
        };
    }
    macro_rules! select {
        ($( @$proposal:ident $op:ident $({ $($arg:ident: $type:ty),* })? => $visit:ident $arity:tt )*) => {
            match operator {
                $( Operator::$op { .. } => of_proposal!($proposal), )*
                _ => false,
            }
        };
    }
    wasmparser::for_each_operator!(select)
}

/// `true` if one of these types is a vector.
pub(super) fn have_vector(types: &[ValType]) -> bool {
    types.contains(&ValType::V128)
}
