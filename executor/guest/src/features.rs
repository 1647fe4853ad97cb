//! Validation, and which features a module needs for it.

use super::supplied;
use crate::error::{Result, unhostable};
use crate::feature::{Feature, Features};
use wasmparser::{Validator, WasmFeatures};

/// Features that are always on: WebAssembly 2.0 without vectors, and without references to the
/// host's objects, which the validator counts among the types of the garbage collector.
pub(super) const BASIC: WasmFeatures =
    WasmFeatures::WASM2.difference(WasmFeatures::GC_TYPES).difference(WasmFeatures::SIMD);

/// The validator's flags of a feature.
const fn flags(feature: Feature) -> WasmFeatures {
    match feature {
        Feature::Vectors => WasmFeatures::SIMD,
        Feature::HostReferences => WasmFeatures::GC_TYPES,
        Feature::ExtendedConst => WasmFeatures::EXTENDED_CONST,
        Feature::TailCalls => WasmFeatures::TAIL_CALL,
        Feature::MultiMemory => WasmFeatures::MULTI_MEMORY,
        Feature::Memory64 => WasmFeatures::MEMORY64,
        Feature::RelaxedVectors => WasmFeatures::RELAXED_SIMD,
        Feature::FunctionReferences => WasmFeatures::FUNCTION_REFERENCES,
        Feature::GarbageCollection => {
            WasmFeatures::GC.union(WasmFeatures::FUNCTION_REFERENCES).union(WasmFeatures::GC_TYPES)
        }
        Feature::Exceptions => WasmFeatures::EXCEPTIONS,
        Feature::Threads => WasmFeatures::THREADS,
        Feature::LegacyExceptions => WasmFeatures::LEGACY_EXCEPTIONS,
        Feature::CustomPageSizes => WasmFeatures::CUSTOM_PAGE_SIZES,
        Feature::WideArithmetic => WasmFeatures::WIDE_ARITHMETIC,
        Feature::StackSwitching => WasmFeatures::STACK_SWITCHING
            .union(WasmFeatures::FUNCTION_REFERENCES)
            .union(WasmFeatures::GC_TYPES),
    }
}

/// The features that are always on, and these.
pub(super) fn validated_with(features: Features) -> WasmFeatures {
    features.iter().map(flags).fold(BASIC, |all, more| all | more)
}

/// `true` if a module that needs these features is valid.
pub(super) fn is_valid(wasm: &[u8], features: Features) -> bool {
    Validator::new_with_features(validated_with(features)).validate_all(wasm).is_ok()
}

/// Validates a module and returns the features that it needs for it: of a module that is valid
/// without any, none.
pub(super) fn needed(wasm: &[u8]) -> Result<Features> {
    let needed = validated(wasm)?;
    if !needed.has(Feature::GarbageCollection) {
        return Ok(needed);
    }
    // The validator lets constant expressions read a global of the module itself only together with
    // garbage collection. Rewriting makes constants of them.
    let folded = supplied::folded(wasm).and_then(|folded| validated(&folded));
    let is_all = |folded: &Features| !folded.has(Feature::GarbageCollection);
    let folded = folded.ok().filter(is_all);
    Ok(folded.map_or(needed, |folded| folded.with(Feature::ExtendedConst)))
}

/// The features that the validator asks for.
fn validated(wasm: &[u8]) -> Result<Features> {
    let validate = |features: Features| {
        Validator::new_with_features(validated_with(features)).validate_all(wasm).map(drop)
    };
    let Err(error) = validate(Features::NONE) else { return Ok(Features::NONE) };
    // The usual features first: each try takes as long as the module is large.
    let (vectors, references) = (Feature::Vectors, Feature::HostReferences);
    for usual in [Features::NONE.with(vectors), Features::NONE.with(references)] {
        if validate(usual).is_ok() {
            return Ok(usual);
        }
    }
    let mut needed: Features = Feature::ALL.into_iter().collect();
    if let Err(further) = validate(needed) {
        // Behind the first use of a feature, the first error is that the feature is off.
        let behind = further.offset() > error.offset();
        return Err(if behind { further } else { error }.into());
    }
    // The last ones are the least usual: a module that is valid without them does not use them.
    for feature in Feature::ALL.into_iter().rev() {
        let fewer = needed.without(feature);
        if validate(fewer).is_ok() {
            needed = fewer;
        }
    }
    Ok(needed)
}

/// Checks that a module with these features can be hosted.
pub(super) fn hostable(features: Features) -> Result<Features> {
    let refused = |feature: Feature| Some((feature, feature.refusal()?));
    match features.iter().find_map(refused) {
        Some((feature, reason)) => unhostable(format!("it uses {feature}: {reason}")),
        None => Ok(features),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn of(text: &str) -> Result<String> {
        needed(&wat::parse_str(text).unwrap())
            .and_then(hostable)
            .map(|features| features.to_string())
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn each_feature_is_named_and_no_other_one() {
        for (text, feature) in [
            ("(module (func (drop (v128.const i64x2 1 2))))", Some(Feature::Vectors)),
            ("(module (table 1 externref))", Some(Feature::HostReferences)),
            ("(module (func (param externref)))", Some(Feature::HostReferences)),
            ("(module (func (drop (ref.null extern))))", Some(Feature::HostReferences)),
            (
                "(module (func (block (result externref) (unreachable)) (drop)))",
                Some(Feature::HostReferences),
            ),
            ("(module (elem externref (ref.null extern)))", Some(Feature::HostReferences)),
            ("(module (table 1 funcref) (func (drop (ref.null func))))", None),
            (
                "(module (global i32 (i32.add (i32.const 1) (i32.const 2))))",
                Some(Feature::ExtendedConst),
            ),
            ("(module (func $f (return_call $f)))", Some(Feature::TailCalls)),
            ("(module (memory 1) (memory 1))", Some(Feature::MultiMemory)),
            ("(module (memory i64 1))", Some(Feature::Memory64)),
            ("(module (table i64 1 funcref))", Some(Feature::Memory64)),
            (
                "(module (type $t (func)) (func (param (ref $t)) (call_ref $t (local.get 0))))",
                Some(Feature::FunctionReferences),
            ),
            (
                "(module (type $s (struct (field i32))) (func (drop (struct.new $s (i32.const 1)))))",
                Some(Feature::GarbageCollection),
            ),
            ("(module (tag $e) (func (throw $e)))", Some(Feature::Exceptions)),
            (
                "(module (global $a i32 (i32.const 4))
                   (global i32 (i32.add (global.get $a) (i32.const 8))))",
                Some(Feature::ExtendedConst),
            ),
            (
                "(module (func $f) (global $a funcref (ref.func $f)) (table 1 funcref)
                   (global (mut funcref) (global.get $a))
                   (elem (i32.const 0) funcref (global.get $a)))",
                Some(Feature::ExtendedConst),
            ),
        ] {
            let expected = feature.map_or_else(String::new, |feature| feature.to_string());
            assert_eq!(of(text).unwrap(), expected, "{text}");
        }
        for (text, feature) in [
            (
                "(module (func (param v128) (result v128)
                   (i8x16.relaxed_swizzle (local.get 0) (local.get 0))))",
                Feature::RelaxedVectors,
            ),
            (
                "(module (global $a v128 (v128.const i64x2 1 2)) (global v128 (global.get $a)))",
                Feature::ExtendedConst,
            ),
            ("(module (func (param externref v128)))", Feature::HostReferences),
        ] {
            let both = Features::NONE.with(Feature::Vectors).with(feature);
            assert_eq!(of(text).unwrap(), both.to_string(), "{text}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn what_cannot_be_hosted_is_refused_by_name() {
        for (text, feature) in [
            ("(module (memory 1 1 shared))", Feature::Threads),
            ("(module (memory 1) (func (drop (i32.atomic.load (i32.const 0)))))", Feature::Threads),
            ("(module (func try catch_all end))", Feature::LegacyExceptions),
            ("(module (memory 1 (pagesize 1)))", Feature::CustomPageSizes),
        ] {
            match of(text) {
                Err(Error::Unhostable { reason }) => {
                    assert!(reason.contains(feature.name()), "{text}: {reason}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads text: slow")]
    fn an_invalid_module_stays_invalid() {
        let wasm = wat::parse_str("(module (func (result i32)))").unwrap();
        assert!(matches!(needed(&wasm), Err(Error::Invalid { .. })));
    }
}
