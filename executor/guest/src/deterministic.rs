//! The deterministic profile of a module: the same module without the results that the
//! specification leaves open.
//!
//! Two engines may differ in the sign and the payload of a computed NaN, and in the results of
//! relaxed vector instructions. Here every computed NaN becomes the canonical one, and each relaxed
//! instruction becomes the one of WebAssembly 2.0 that it relaxes. Where two engines differ for the
//! module and agree for this form of it, they differed in what the specification allows.

use super::features;
use super::patch::{Body, Patch, Rewrite};
use crate::error::Result;
use crate::feature::Feature;
use wasm_encoder::{Instruction, ValType};
use wasmparser::Operator;

/// Bits of the canonical NaNs.
const NAN32: u32 = 0x7fc0_0000;
const NAN64: u64 = 0x7ff8_0000_0000_0000;

/// Largest function that a validator accepts, bytes (wasmparser's `limits.rs`).
const LARGEST: usize = 7_654_321;

/// Instructions of a module whose results the specification leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Open {
    /// Some compute floats, whose NaNs may have any sign and payload.
    pub nans: bool,
    /// Some are relaxed vector instructions.
    pub relaxed: bool,
}

/// The deterministic profile of a core module, and the instructions that are others in it; `None`
/// if there are none, or the module cannot be rewritten.
///
/// # Errors
///
/// When the bytes are no module.
pub fn deterministic(wasm: &[u8]) -> Result<Option<(Vec<u8>, Open)>> {
    let mut patch = Patch::of(wasm)?;
    let mut profile = Profile::default();
    patch.rewrite(&mut profile)?;
    if profile.open == Open::default() || profile.is_too_large {
        return Ok(None);
    }
    let wasm = patch.finish()?;
    // A validator limits the locals of a function. Nothing else is new, so all features may be on:
    // those of the module as it is before its rewriting are not known here.
    let is_valid = features::is_valid(&wasm, Feature::ALL.into_iter().collect());
    Ok(is_valid.then_some((wasm, profile.open)))
}

/// Adds code behind each operator whose result is open, or in its place.
#[derive(Default)]
struct Profile {
    open: Open,
    /// `true` if a function became too large to be valid.
    is_too_large: bool,
    /// `true` if the current function has vectors.
    has_vectors: bool,
}

impl Rewrite for Profile {
    fn enter(&mut self, _: &mut Body<'_>) {
        self.has_vectors = false;
    }

    fn operator(&mut self, body: &mut Body<'_>, operator: &Operator<'_>) -> bool {
        self.is_too_large |= body.size() > LARGEST;
        let scratch = Scratch(body.locals);
        let (instead, float) = (scratch.instead(operator), Float::of(operator));
        if self.is_too_large || (instead.is_none() && float.is_none()) {
            return false;
        }
        match &instead {
            Some(instead) => instead.iter().for_each(|one| body.emit(one)),
            None => body.keep(operator),
        }
        if let Some(float) = float {
            scratch.canonical(float).iter().for_each(|one| body.emit(one));
        }
        self.open.relaxed |= instead.is_some();
        self.open.nans |= float.is_some();
        // Not every engine has vectors: their locals are only where they are used.
        self.has_vectors |= instead.is_some() || float.is_some_and(Float::is_vector);
        let all = [(1, ValType::F32), (1, ValType::F64), (3, ValType::V128)];
        body.add_locals(if self.has_vectors { &all } else { &all[..2] });
        true
    }
}

/// The type of a computed float or of a vector of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Float {
    F32,
    F64,
    F32x4,
    F64x2,
}

impl Float {
    /// The type of an operator's result where that may be a NaN with any sign and payload.
    fn of(operator: &Operator<'_>) -> Option<Self> {
        use Operator::*;
        Some(match operator {
            F32Add | F32Sub | F32Mul | F32Div | F32Min | F32Max | F32Sqrt | F32Ceil | F32Floor
            | F32Trunc | F32Nearest | F32DemoteF64 => Self::F32,
            F64Add | F64Sub | F64Mul | F64Div | F64Min | F64Max | F64Sqrt | F64Ceil | F64Floor
            | F64Trunc | F64Nearest | F64PromoteF32 => Self::F64,
            F32x4Add | F32x4Sub | F32x4Mul | F32x4Div | F32x4Min | F32x4Max | F32x4Sqrt
            | F32x4Ceil | F32x4Floor | F32x4Trunc | F32x4Nearest | F32x4DemoteF64x2Zero
            | F32x4RelaxedMin | F32x4RelaxedMax | F32x4RelaxedMadd | F32x4RelaxedNmadd => {
                Self::F32x4
            }
            F64x2Add | F64x2Sub | F64x2Mul | F64x2Div | F64x2Min | F64x2Max | F64x2Sqrt
            | F64x2Ceil | F64x2Floor | F64x2Trunc | F64x2Nearest | F64x2PromoteLowF32x4
            | F64x2RelaxedMin | F64x2RelaxedMax | F64x2RelaxedMadd | F64x2RelaxedNmadd => {
                Self::F64x2
            }
            _ => return None,
        })
    }

    fn is_vector(self) -> bool {
        matches!(self, Self::F32x4 | Self::F64x2)
    }
}

/// Locals that a rewritten body has more, from this index on: an f32 and an f64, and three vectors
/// where it has vectors.
#[derive(Debug, Clone, Copy)]
struct Scratch(u32);

impl Scratch {
    /// Makes a NaN on the stack, or each NaN of a vector, the canonical one.
    fn canonical(self, float: Float) -> [Instruction<'static>; 6] {
        use Instruction::*;
        let (local, nan, equal, select) = match float {
            Float::F32 => (self.0, F32Const(f32::from_bits(NAN32).into()), F32Eq, Select),
            Float::F64 => (self.0 + 1, F64Const(f64::from_bits(NAN64).into()), F64Eq, Select),
            Float::F32x4 => {
                let nan = u128::from(NAN32) * 0x0000_0001_0000_0001_0000_0001_0000_0001;
                (self.0 + 2, V128Const(nan.cast_signed()), F32x4Eq, V128Bitselect)
            }
            Float::F64x2 => {
                let nan = u128::from(NAN64) * 0x0000_0000_0000_0001_0000_0000_0000_0001;
                (self.0 + 2, V128Const(nan.cast_signed()), F64x2Eq, V128Bitselect)
            }
        };
        [LocalTee(local), nan, LocalGet(local), LocalGet(local), equal, select]
    }

    /// The instructions that stand for a relaxed one.
    fn instead(self, operator: &Operator<'_>) -> Option<Vec<Instruction<'static>>> {
        use Instruction as I;
        use Operator::*;
        let [a, b, c] = [self.0 + 2, self.0 + 3, self.0 + 4];
        // A product and its sum, each rounded.
        let fused = |product: &[I<'static>], add| {
            [&[I::LocalSet(a)], product, &[I::LocalGet(a), add]].concat()
        };
        Some(match operator {
            I8x16RelaxedSwizzle => vec![I::I8x16Swizzle],
            I32x4RelaxedTruncF32x4S => vec![I::I32x4TruncSatF32x4S],
            I32x4RelaxedTruncF32x4U => vec![I::I32x4TruncSatF32x4U],
            I32x4RelaxedTruncF64x2SZero => vec![I::I32x4TruncSatF64x2SZero],
            I32x4RelaxedTruncF64x2UZero => vec![I::I32x4TruncSatF64x2UZero],
            F32x4RelaxedMadd => fused(&[I::F32x4Mul], I::F32x4Add),
            F32x4RelaxedNmadd => fused(&[I::F32x4Mul, I::F32x4Neg], I::F32x4Add),
            F64x2RelaxedMadd => fused(&[I::F64x2Mul], I::F64x2Add),
            F64x2RelaxedNmadd => fused(&[I::F64x2Mul, I::F64x2Neg], I::F64x2Add),
            I8x16RelaxedLaneselect
            | I16x8RelaxedLaneselect
            | I32x4RelaxedLaneselect
            | I64x2RelaxedLaneselect => vec![I::V128Bitselect],
            F32x4RelaxedMin => vec![I::F32x4Min],
            F32x4RelaxedMax => vec![I::F32x4Max],
            F64x2RelaxedMin => vec![I::F64x2Min],
            F64x2RelaxedMax => vec![I::F64x2Max],
            I16x8RelaxedQ15mulrS => vec![I::I16x8Q15MulrSatS],
            I16x8RelaxedDotI8x16I7x16S => dot(a, b),
            I32x4RelaxedDotI8x16I7x16AddS => [
                &[I::LocalSet(c)],
                &dot(a, b)[..],
                &[I::I32x4ExtAddPairwiseI16x8S, I::LocalGet(c), I::I32x4Add],
            ]
            .concat(),
            _ => return None,
        })
    }
}

/// Products of signed bytes, of which each pair becomes a saturated sum.
fn dot(a: u32, b: u32) -> Vec<Instruction<'static>> {
    use Instruction::*;
    let lanes =
        |first: u8| std::array::from_fn(|index| first + index as u8 / 2 * 4 + index as u8 % 2);
    let (even, odd) = (lanes(0), lanes(2));
    vec![
        LocalSet(b),
        LocalTee(a),
        LocalGet(b),
        I16x8ExtMulLowI8x16S,
        LocalGet(a),
        LocalGet(b),
        I16x8ExtMulHighI8x16S,
        LocalSet(b),
        LocalTee(a),
        LocalGet(b),
        I8x16Shuffle(even),
        LocalGet(a),
        LocalGet(b),
        I8x16Shuffle(odd),
        I16x8AddSatS,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<(String, Open)> {
        let wasm = wat::parse_str(text).unwrap();
        let (wasm, open) = deterministic(&wasm).unwrap()?;
        Some((wasmprinter::print_bytes(wasm).unwrap(), open))
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn computed_nans_become_canonical_and_moved_ones_stay() {
        let (text, open) = of("(module (func (param f32 f64) (result f64) (local i32)
            (f64.add (local.get 1) (f64.promote_f32 (f32.neg (local.get 0))))))")
        .unwrap();
        assert_eq!(open, Open { nans: true, relaxed: false });
        let canonical = text.matches("f64.const nan (;=NaN;)").count()
            + text.matches("f64.const nan\n").count();
        assert_eq!(canonical, 2, "{text}");
        assert!(text.contains("local.tee 4"), "{text}");
        // Or an engine without vectors would refuse it.
        assert!(!text.contains("v128"), "{text}");
        for text in [
            "(module (func (param f32) (result f32) (f32.neg (f32.abs (local.get 0)))))",
            "(module (func (param f32 f32) (result f32)
                (f32.copysign (local.get 0) (local.get 1))))",
            "(module (func (param i32) (result f64) (f64.convert_i32_s (local.get 0))))",
            "(module (func (param i64) (result f64) (f64.reinterpret_i64 (local.get 0))))",
            "(module (func (param f64 f64) (result i32) (f64.lt (local.get 0) (local.get 1))))",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    /// Rewriting for the backends makes constants of such values; the module itself has them.
    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn a_module_with_computed_constants_has_a_profile_too() {
        let float = "(func (param f32) (result f32) (f32.sqrt (local.get 0)))";
        for global in [
            "(global i32 (i32.add (i32.const 1) (i32.const 2)))",
            "(global $a i32 (i32.const 4)) (global i32 (global.get $a))",
        ] {
            let text = format!("(module {global} {float})");
            assert!(of(&text).is_some_and(|(_, open)| open.nans), "{text}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn relaxed_instructions_become_those_that_they_relax() {
        for (name, parameters) in [
            ("i8x16.relaxed_swizzle", 2),
            ("i32x4.relaxed_trunc_f32x4_s", 1),
            ("i32x4.relaxed_trunc_f64x2_u_zero", 1),
            ("f32x4.relaxed_madd", 3),
            ("f64x2.relaxed_nmadd", 3),
            ("i64x2.relaxed_laneselect", 3),
            ("f32x4.relaxed_min", 2),
            ("i16x8.relaxed_q15mulr_s", 2),
            ("i16x8.relaxed_dot_i8x16_i7x16_s", 2),
            ("i32x4.relaxed_dot_i8x16_i7x16_add_s", 3),
        ] {
            let gets: String = (0..parameters).map(|get| format!("(local.get {get})")).collect();
            let (text, open) = of(&format!(
                "(module (func (param v128 v128 v128) (result v128) ({name} {gets})))"
            ))
            .unwrap();
            assert!(open.relaxed && !text.contains("relaxed"), "{text}");
        }
    }
}
