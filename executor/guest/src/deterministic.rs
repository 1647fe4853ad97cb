//! The deterministic profile of a module: the same module without the results that the
//! specification leaves open.
//!
//! Two engines may differ in the sign and the payload of a computed NaN, and in the results of
//! relaxed vector instructions. Here every computed NaN becomes the canonical one, and each relaxed
//! instruction becomes the one of WebAssembly 2.0 that it relaxes. Where two engines differ for the
//! module and agree for this form of it, they differed in what the specification allows.

use super::patch::{Body, Patch, Rewrite};
use crate::error::Result;
use crate::feature::{self, Feature};
use wasm_encoder::{Instruction, InstructionSink, ValType};
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
/// if there are none, or the module cannot be rewritten. Fails when the bytes are no module.
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
    let is_valid = feature::is_valid(&wasm, Feature::ALL.into_iter().collect());
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
        if self.is_too_large {
            return false;
        }
        let (scratch, float) = (Scratch(body.locals), Float::of(operator));
        let is_relaxed = scratch.instead(&mut body.code(), operator);
        if !is_relaxed && float.is_none() {
            return false;
        }
        if !is_relaxed {
            body.keep(operator);
        }
        if let Some(float) = float {
            scratch.canonical(float).iter().for_each(|one| body.emit(one));
        }
        self.open.relaxed |= is_relaxed;
        self.open.nans |= float.is_some();
        // Not every engine has vectors: their locals are only where they are used.
        self.has_vectors |= is_relaxed || float.is_some_and(Float::is_vector);
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

    /// Adds the instructions that stand for a relaxed one; `false` for another operator.
    fn instead(self, code: &mut InstructionSink<'_>, operator: &Operator<'_>) -> bool {
        use Operator::*;
        let [a, b, c] = [self.0 + 2, self.0 + 3, self.0 + 4];
        match operator {
            I8x16RelaxedSwizzle => code.i8x16_swizzle(),
            I32x4RelaxedTruncF32x4S => code.i32x4_trunc_sat_f32x4_s(),
            I32x4RelaxedTruncF32x4U => code.i32x4_trunc_sat_f32x4_u(),
            I32x4RelaxedTruncF64x2SZero => code.i32x4_trunc_sat_f64x2_s_zero(),
            I32x4RelaxedTruncF64x2UZero => code.i32x4_trunc_sat_f64x2_u_zero(),
            // A product and its sum, each rounded.
            F32x4RelaxedMadd => code.local_set(a).f32x4_mul().local_get(a).f32x4_add(),
            F32x4RelaxedNmadd => code.local_set(a).f32x4_mul().f32x4_neg().local_get(a).f32x4_add(),
            F64x2RelaxedMadd => code.local_set(a).f64x2_mul().local_get(a).f64x2_add(),
            F64x2RelaxedNmadd => code.local_set(a).f64x2_mul().f64x2_neg().local_get(a).f64x2_add(),
            I8x16RelaxedLaneselect
            | I16x8RelaxedLaneselect
            | I32x4RelaxedLaneselect
            | I64x2RelaxedLaneselect => code.v128_bitselect(),
            F32x4RelaxedMin => code.f32x4_min(),
            F32x4RelaxedMax => code.f32x4_max(),
            F64x2RelaxedMin => code.f64x2_min(),
            F64x2RelaxedMax => code.f64x2_max(),
            I16x8RelaxedQ15mulrS => code.i16x8_q15mulr_sat_s(),
            I16x8RelaxedDotI8x16I7x16S => dot(code, a, b),
            I32x4RelaxedDotI8x16I7x16AddS => {
                dot(code.local_set(c), a, b);
                code.i32x4_extadd_pairwise_i16x8_s().local_get(c).i32x4_add()
            }
            _ => return false,
        };
        true
    }
}

/// Products of signed bytes, of which each pair becomes a saturated sum.
fn dot<'s, 'a>(code: &'s mut InstructionSink<'a>, a: u32, b: u32) -> &'s mut InstructionSink<'a> {
    let lanes =
        |first: u8| std::array::from_fn(|index| first + index as u8 / 2 * 4 + index as u8 % 2);
    code.local_set(b).local_tee(a).local_get(b).i16x8_extmul_low_i8x16_s();
    code.local_get(a).local_get(b).i16x8_extmul_high_i8x16_s().local_set(b);
    code.local_tee(a).local_get(b).i8x16_shuffle(lanes(0));
    code.local_get(a).local_get(b).i8x16_shuffle(lanes(2)).i16x8_add_sat_s()
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
