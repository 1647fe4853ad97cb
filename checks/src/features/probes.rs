//! One module per feature. Its export `f: () -> (i32)` returns [`ANSWER`] by means of the feature,
//! and changes state that the next call must not see.

use touchstone_executor::Feature;

/// The result of every probe.
pub(super) const ANSWER: i32 = 42;

/// The module of a feature, as text.
pub(super) fn text(feature: Feature) -> &'static str {
    match feature {
        Feature::Vectors => {
            r#"(module (func (export "f") (result i32)
                (i32x4.extract_lane 2
                  (i32x4.add (v128.const i32x4 1 2 3 4) (v128.const i32x4 10 20 39 40)))))"#
        }
        Feature::HostReferences => {
            r#"(module (table $t 1 externref)
                (func $keep (param externref) (table.set $t (i32.const 0) (local.get 0)))
                (func (export "f") (result i32)
                  (call $keep (ref.null extern))
                  (i32.add (i32.const 41) (ref.is_null (table.get $t (i32.const 0))))))"#
        }
        Feature::ExtendedConst => {
            r#"(module (memory 1) (global $base i32 (i32.mul (i32.const 8) (i32.const 4)))
                (data (i32.add (i32.const 30) (i32.const 2)) "\2a")
                (func (export "f") (result i32) (i32.load8_u (global.get $base))))"#
        }
        // Deeper than any stack of calls.
        Feature::TailCalls => {
            r#"(module (type $t (func (param i32) (result i32)))
                (table 1 funcref) (elem (i32.const 0) $odd)
                (func $even (param i32) (result i32)
                  (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 42))
                    (else (return_call_indirect (type $t)
                      (i32.sub (local.get 0) (i32.const 1)) (i32.const 0)))))
                (func $odd (param i32) (result i32) (local i64 i64 i64)
                  (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 7))
                    (else (return_call $even (i32.sub (local.get 0) (i32.const 1))))))
                (func (export "f") (result i32) (call $even (i32.const 2000000))))"#
        }
        Feature::MultiMemory => {
            r#"(module (memory 1 2) (memory $b 1 2)
                (data (i32.const 0) "\01") (data (memory $b) (i32.const 0) "\29")
                (func (export "f") (result i32)
                  (i32.store8 $b (i32.const 0)
                    (i32.add (i32.load8_u (i32.const 0)) (i32.load8_u $b (i32.const 0))))
                  (memory.copy 0 $b (i32.const 4) (i32.const 0) (i32.const 1))
                  (drop (memory.grow $b (i32.const 1)))
                  (i32.sub (i32.add (i32.load8_u (i32.const 4)) (i32.const 2)) (memory.size $b))))"#
        }
        Feature::Memory64 => {
            r#"(module (memory i64 1 2) (data (i64.const 65535) "\29")
                (func (export "f") (result i32)
                  (i64.store32 (i64.const 65532)
                    (i64.add (i64.load32_u (i64.const 65532)) (i64.const 0x1000000)))
                  (i32.wrap_i64 (i64.shr_u (i64.load32_u (i64.const 65532)) (i64.const 24)))
                  (drop (memory.grow (i64.const 1)))))"#
        }
        // Indices in range, for which the result is the same on every processor.
        Feature::RelaxedVectors => {
            r#"(module (func (export "f") (result i32)
                (i8x16.extract_lane_u 1
                  (i8x16.relaxed_swizzle
                    (v128.const i8x16 9 9 9 42 0 0 0 0 0 0 0 0 0 0 0 0)
                    (v128.const i8x16 0 3 0 0 0 0 0 0 0 0 0 0 0 0 0 0)))))"#
        }
        Feature::FunctionReferences => {
            r#"(module (type $t (func (result i32))) (elem declare func $answer)
                (func $answer (type $t) (i32.const 42))
                (func (export "f") (result i32) (call_ref $t (ref.func $answer))))"#
        }
        Feature::GarbageCollection => {
            r#"(module (type $s (struct (field (mut i32)))) (type $a (array (mut i32)))
                (global $kept (ref $s) (struct.new $s (i32.const 2)))
                (func (export "f") (result i32) (local $a (ref $a))
                  (local.set $a (array.new $a (i32.const 40) (i32.const 3)))
                  (array.set $a (local.get $a) (i32.const 1)
                    (i32.add (array.get $a (local.get $a) (i32.const 2))
                      (struct.get $s 0 (global.get $kept))))
                  (struct.set $s 0 (global.get $kept) (i32.const 5))
                  (array.get $a (local.get $a) (i32.const 1))))"#
        }
        Feature::Exceptions => {
            r#"(module (tag $e (param i32))
                (func $throws (param i32) (throw $e (local.get 0)))
                (func (export "f") (result i32)
                  (block $caught (result i32)
                    (try_table (catch $e $caught) (call $throws (i32.const 42)))
                    (i32.const 0))))"#
        }
        Feature::Threads => {
            r#"(module (memory 1 1 shared) (func (export "f") (result i32)
                (i32.atomic.store (i32.const 0) (i32.const 42)) (i32.atomic.load (i32.const 0))))"#
        }
        Feature::LegacyExceptions => {
            r#"(module (tag $e (param i32)) (func (export "f") (result i32)
                try (result i32) (throw $e (i32.const 42)) catch $e end))"#
        }
        Feature::CustomPageSizes => {
            r#"(module (memory 42 42 (pagesize 1))
                (func (export "f") (result i32) (memory.size)))"#
        }
        Feature::WideArithmetic => {
            r#"(module (func (export "f") (result i32)
                (i64.add128 (i64.const 40) (i64.const 0) (i64.const 2) (i64.const 0))
                (drop) (i32.wrap_i64)))"#
        }
        Feature::StackSwitching => {
            r#"(module (type $f (func (result i32))) (type $c (cont $f)) (elem declare func $answer)
                (func $answer (type $f) (i32.const 42))
                (func (export "f") (result i32)
                  (resume $c (cont.new $c (ref.func $answer)))))"#
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone_executor::guest::ModuleInfo;

    /// A probe needs the feature that it stands for and no other one.
    #[test]
    fn each_probe_is_of_its_feature() {
        for feature in Feature::ALL {
            let wasm = wat::parse_str(text(feature)).unwrap();
            match (ModuleInfo::read(&wasm), feature.refusal()) {
                (Ok(info), None) => {
                    let needed: Vec<_> = info.features.iter().collect();
                    // Relaxed instructions are ones on vectors.
                    let vectors = (feature == Feature::RelaxedVectors).then_some(Feature::Vectors);
                    let expected: Vec<_> = vectors.into_iter().chain([feature]).collect();
                    assert_eq!(needed, expected, "{feature}");
                }
                (Err(error), Some(why)) => {
                    let error = error.to_string();
                    assert!(error.contains(feature.name()) && error.contains(why), "{error}");
                }
                (other, _) => panic!("{feature}: {other:?}"),
            }
        }
    }
}
