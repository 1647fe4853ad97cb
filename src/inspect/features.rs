//! The features of WebAssembly that a module needs.

use wasmparser::{Validator, WasmFeatures};

/// Features after the first version of WebAssembly, by the names of their proposals.
const FEATURES: [(&str, WasmFeatures); 23] = [
    ("mutable-globals", WasmFeatures::MUTABLE_GLOBAL),
    ("saturating-float-to-int", WasmFeatures::SATURATING_FLOAT_TO_INT),
    ("sign-extension", WasmFeatures::SIGN_EXTENSION),
    ("multi-value", WasmFeatures::MULTI_VALUE),
    ("bulk-memory", WasmFeatures::BULK_MEMORY),
    ("reference-types", WasmFeatures::REFERENCE_TYPES),
    ("simd", WasmFeatures::SIMD),
    ("relaxed-simd", WasmFeatures::RELAXED_SIMD),
    ("threads", WasmFeatures::THREADS),
    ("tail-call", WasmFeatures::TAIL_CALL),
    ("multi-memory", WasmFeatures::MULTI_MEMORY),
    ("exceptions", WasmFeatures::EXCEPTIONS),
    ("legacy-exceptions", WasmFeatures::LEGACY_EXCEPTIONS),
    ("memory64", WasmFeatures::MEMORY64),
    ("extended-const", WasmFeatures::EXTENDED_CONST),
    ("function-references", WasmFeatures::FUNCTION_REFERENCES),
    ("gc", WasmFeatures::GC),
    ("custom-page-sizes", WasmFeatures::CUSTOM_PAGE_SIZES),
    ("wide-arithmetic", WasmFeatures::WIDE_ARITHMETIC),
    ("stack-switching", WasmFeatures::STACK_SWITCHING),
    ("shared-everything-threads", WasmFeatures::SHARED_EVERYTHING_THREADS),
    ("component-model", WasmFeatures::COMPONENT_MODEL),
    ("component-model-async", WasmFeatures::CM_ASYNC),
];

/// Bytes above which the features are not looked for: each needs a validation.
const LARGEST: usize = 64 << 20;

/// What is wrong with a module under all features; `None` if it is valid.
pub(super) fn problem(wasm: &[u8]) -> Option<String> {
    let error = Validator::new_with_features(WasmFeatures::all()).validate_all(wasm).err()?;
    Some(format!("{} (at offset {:#x})", error.message(), error.offset()))
}

/// The features without which a valid module is not valid any more.
pub(super) fn used(wasm: &[u8]) -> Vec<&'static str> {
    if wasm.len() > LARGEST {
        return Vec::new();
    }
    let needs = |feature: WasmFeatures| {
        let mut validator = Validator::new_with_features(WasmFeatures::all() - feature);
        validator.validate_all(wasm).is_err()
    };
    let used = FEATURES.iter().filter(|(_, feature)| needs(*feature));
    used.map(|(name, _)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(text: &str) -> Vec<&'static str> {
        let wasm = wat::parse_str(text).unwrap();
        assert_eq!(problem(&wasm), None);
        used(&wasm)
    }

    #[test]
    fn features_are_those_that_a_module_uses() {
        assert_eq!(features("(module)"), [""; 0]);
        for (feature, text) in [
            ("tail-call", "(module (func $f return_call $f))"),
            ("memory64", "(module (memory i64 1))"),
            ("threads", "(module (memory 1 1 shared))"),
            ("exceptions", "(module (tag))"),
            (
                "relaxed-simd",
                "(module (func (param v128 v128) (drop (i8x16.relaxed_swizzle \
                (local.get 0) (local.get 1)))))",
            ),
            ("gc", "(module (type (struct)) (func (drop (struct.new 0))))"),
            ("multi-memory", "(module (memory 1) (memory 1))"),
            ("component-model", "(component)"),
        ] {
            assert!(features(text).contains(&feature), "{feature}");
        }
    }
}
