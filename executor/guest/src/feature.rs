//! Features of WebAssembly beyond its first version, as far as engines differ in them, and which of
//! them a module needs to be valid.

use super::supplied;
use crate::error::{Result, unhostable};
use std::fmt;
use wasmparser::{Validator, WasmFeatures};

/// A feature that a module can use and an engine can lack. What WebAssembly 2.0 has is
/// no feature here, except vectors and references to the host's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Feature {
    /// Vectors of 128 bits, of WebAssembly 2.0.
    Vectors,
    /// `externref`, of WebAssembly 2.0.
    HostReferences,
    /// Constant expressions that compute.
    ExtendedConst,
    /// `return_call` and its kin.
    TailCalls,
    /// More than one memory.
    MultiMemory,
    /// Memories and tables with 64-bit addresses.
    Memory64,
    /// Vector instructions whose result may depend on the processor.
    RelaxedVectors,
    /// Typed function references.
    FunctionReferences,
    /// Structures, arrays and their garbage collection.
    GarbageCollection,
    /// Tags, `throw` and `try_table`.
    Exceptions,
    /// Shared memories and atomic instructions.
    Threads,
    /// `try` and `catch`, which `try_table` has replaced.
    LegacyExceptions,
    /// Memories whose pages are not of 64 KiB.
    CustomPageSizes,
    /// Arithmetic on integers of 128 bits.
    WideArithmetic,
    /// Continuations.
    StackSwitching,
}

impl Feature {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 15] = [
        Self::Vectors,
        Self::HostReferences,
        Self::ExtendedConst,
        Self::TailCalls,
        Self::MultiMemory,
        Self::Memory64,
        Self::RelaxedVectors,
        Self::FunctionReferences,
        Self::GarbageCollection,
        Self::Exceptions,
        Self::Threads,
        Self::LegacyExceptions,
        Self::CustomPageSizes,
        Self::WideArithmetic,
        Self::StackSwitching,
    ];

    /// Name, as after "it uses".
    pub const fn name(self) -> &'static str {
        self.facts().0
    }

    /// Its name, and the validator's flags of it.
    const fn facts(self) -> (&'static str, WasmFeatures) {
        const REFERENCES: WasmFeatures =
            WasmFeatures::FUNCTION_REFERENCES.union(WasmFeatures::GC_TYPES);
        match self {
            Self::Vectors => ("vector instructions (simd128)", WasmFeatures::SIMD),
            Self::HostReferences => {
                ("references to the host's objects (externref)", WasmFeatures::GC_TYPES)
            }
            Self::ExtendedConst => ("extended constant expressions", WasmFeatures::EXTENDED_CONST),
            Self::TailCalls => ("tail calls", WasmFeatures::TAIL_CALL),
            Self::MultiMemory => ("more than one memory", WasmFeatures::MULTI_MEMORY),
            Self::Memory64 => ("64-bit memories or tables (memory64)", WasmFeatures::MEMORY64),
            Self::RelaxedVectors => {
                ("relaxed vector instructions (relaxed-simd)", WasmFeatures::RELAXED_SIMD)
            }
            Self::FunctionReferences => {
                ("typed function references", WasmFeatures::FUNCTION_REFERENCES)
            }
            Self::GarbageCollection => {
                ("garbage collection (structures and arrays)", WasmFeatures::GC.union(REFERENCES))
            }
            Self::Exceptions => ("exceptions", WasmFeatures::EXCEPTIONS),
            Self::Threads => {
                ("threads (shared memories or atomic instructions)", WasmFeatures::THREADS)
            }
            Self::LegacyExceptions => {
                ("legacy exceptions (try and catch)", WasmFeatures::LEGACY_EXCEPTIONS)
            }
            Self::CustomPageSizes => ("custom page sizes", WasmFeatures::CUSTOM_PAGE_SIZES),
            Self::WideArithmetic => ("wide arithmetic", WasmFeatures::WIDE_ARITHMETIC),
            Self::StackSwitching => {
                ("stack switching", WasmFeatures::STACK_SWITCHING.union(REFERENCES))
            }
        }
    }

    /// Why no engine runs a module with the feature through the contract; `None` where engines may.
    pub const fn refusal(self) -> Option<&'static str> {
        match self {
            Self::Threads => Some(
                "other threads could change a shared memory between two calls, so that no call \
                 would find a clean one; build the module without threads",
            ),
            Self::LegacyExceptions => Some(
                "the proposal was replaced; build the module with the exceptions of WebAssembly \
                 3.0 (-sWASM_LEGACY_EXCEPTIONS=0 of Emscripten)",
            ),
            Self::CustomPageSizes | Self::WideArithmetic | Self::StackSwitching => {
                Some("the proposal is not part of WebAssembly 3.0")
            }
            _ => None,
        }
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Features(u16);

impl Features {
    /// No feature.
    pub const NONE: Self = Self(0);
    /// Those of WebAssembly 2.0, and extended constant expressions, which every engine
    /// gets as constants.
    pub const WASM2: Self = Self::NONE
        .with(Feature::Vectors)
        .with(Feature::HostReferences)
        .with(Feature::ExtendedConst);

    /// The set and one more.
    #[must_use]
    pub const fn with(self, feature: Feature) -> Self {
        Self(self.0 | 1 << feature as u16)
    }

    /// The features of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The set without one.
    #[must_use]
    pub const fn without(self, feature: Feature) -> Self {
        Self(self.0 & !(1 << feature as u16))
    }

    /// `true` if the feature is in the set.
    pub const fn has(self, feature: Feature) -> bool {
        self.0 & 1 << feature as u16 != 0
    }

    /// The features that are in this set and not in the other one.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// `true` if it has none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its features, in the order of [`Feature::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.into_iter().filter(move |feature| self.has(*feature))
    }
}

impl FromIterator<Feature> for Features {
    fn from_iter<T: IntoIterator<Item = Feature>>(features: T) -> Self {
        features.into_iter().fold(Self::NONE, Self::with)
    }
}

/// Names with commas between them: `tail calls, exceptions`.
impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Feature::name).collect();
        f.write_str(&names.join(", "))
    }
}

/// Features that are always on: WebAssembly 2.0 without vectors, and without references to the
/// host's objects, which the validator counts among the types of the garbage collector.
pub(super) const BASIC: WasmFeatures =
    WasmFeatures::WASM2.difference(WasmFeatures::GC_TYPES).difference(WasmFeatures::SIMD);

/// The features that are always on, and these.
pub(super) fn validated_with(features: Features) -> WasmFeatures {
    features.iter().map(|feature| feature.facts().1).fold(BASIC, |all, more| all | more)
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

    #[test]
    fn sets_are_sets() {
        let all: Features = Feature::ALL.into_iter().collect();
        assert_eq!(all.iter().collect::<Vec<_>>(), Feature::ALL);
        let some = Features::WASM2.with(Feature::TailCalls);
        assert!(some.has(Feature::TailCalls) && !some.has(Feature::Exceptions));
        assert_eq!(some.minus(Features::WASM2).to_string(), "tail calls");
        assert!(some.without(Feature::TailCalls) == Features::WASM2);
        assert!(Features::NONE.is_empty() && !all.is_empty());
    }
}

#[cfg(test)]
mod validation {
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
