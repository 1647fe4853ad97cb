//! Which modules use vectors of 128 bits and references to the host's objects, which not every
//! runtime has.

use crate::feature::{Feature, Features};
use wasmparser::{Operator, ValType};

/// Whether an operator is one of those that work on vectors, of the simd or the relaxed-simd
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

/// Features of WebAssembly 2.0 that these types need.
pub(super) fn needed_by(types: &[ValType]) -> Features {
    let of = |ty: &ValType| match ty {
        ValType::V128 => Some(Feature::Vectors),
        ValType::Ref(ty) if ty.is_extern_ref() => Some(Feature::HostReferences),
        _ => None,
    };
    types.iter().filter_map(of).collect()
}
