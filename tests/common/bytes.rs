//! Inputs in buffers that the guest's own allocator gives.

use super::calling::kind;
use super::{each, guest};
use touchstone_executor::{Abi, Claim, Error, Outcome, Strategy, TrapKind};

/// An allocator that the length tells what to do, and a function that says what it was
/// given: pointer, length and the sum of all bytes.
const BYTES: &str = r#"(module
  (memory (export "memory") 1)
  (global $next (mut i32) (i32.const 4096))
  (global $allocated (mut i32) (i32.const 0))
  (func (export "alloc") (param $length i32) (result i32) (local $at i32)
    (global.set $allocated (i32.add (global.get $allocated) (i32.const 1)))
    (if (i32.eq (local.get $length) (i32.const 1)) (then unreachable))
    ;; A byte too far, far behind, just behind.
    (if (i32.eq (local.get $length) (i32.const 2)) (then (return (i32.const 65535))))
    (if (i32.eq (local.get $length) (i32.const 3)) (then (return (i32.const -2))))
    (if (i32.eqz (local.get $length)) (then (return (i32.const 65536))))
    (local.set $at (global.get $next))
    (global.set $next (i32.add (local.get $at) (local.get $length)))
    (loop $more
      (if (i32.gt_u (global.get $next) (i32.shl (memory.size) (i32.const 16))) (then
        (drop (memory.grow (i32.const 1))) (br $more))))
    (local.get $at))
  (func (export "sum") (param $at i32) (param $length i32) (result i32 i32 i64 i32) (local $sum i64)
    (local.get $at) (local.get $length)
    (loop $next
      (if (local.get $length) (then
        (local.set $sum (i64.add (local.get $sum) (i64.load8_u (local.get $at))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set $length (i32.sub (local.get $length) (i32.const 1)))
        (br $next))))
    (local.get $sum) (global.get $allocated))
  (func (export "one") (param i32))
)"#;

pub(crate) fn the_guests_allocator_gives_the_buffer(strategy: Strategy) {
    each(strategy, &guest(BYTES), |loaded| {
        let sum = loaded.export("sum", Abi::Bytes);
        let instance = &mut *loaded.instance();
        let outside = |pointer, length| {
            let claim = Some(Claim { pointer, length, memory: 65_536 });
            Outcome::Trapped(TrapKind::BadResult { claim }.into())
        };
        for _ in 0..3 {
            // Small ones, the end of the memory, and one for which the guest grows it.
            for (length, start) in [(4_u32, 4096_u32), (0, 65_536), (5000, 4096), (200_000, 4096)] {
                let input: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
                let total: u64 = input.iter().copied().map(u64::from).sum();
                let mut expected = [start.to_le_bytes(), length.to_le_bytes()].concat();
                expected.extend(total.to_le_bytes());
                expected.extend(1_u32.to_le_bytes());
                let found = loaded.output(instance, sum, &input);
                assert_eq!(found, expected, "{} {length}", loaded.name);
            }
            let (outcome, output) = loaded.outcome(instance, sum, b"1");
            assert_eq!(kind(&outcome), Some(&TrapKind::Unreachable), "{}", loaded.name);
            assert!(output.is_empty(), "{}", loaded.name);
            for (input, expected) in
                [(&b"22"[..], outside(65_535, 2)), (b"333", outside(u32::MAX - 1, 3))]
            {
                let (outcome, output) = loaded.outcome(instance, sum, input);
                assert_eq!(outcome, expected, "{}", loaded.name);
                assert!(output.is_empty(), "{}", loaded.name);
            }
        }
    });
}

pub(crate) fn without_a_fitting_allocator_bytes_are_refused(strategy: Strategy) {
    each(strategy, &guest(BYTES), |loaded| {
        let refused = loaded.module.export("one", Abi::Bytes);
        let Err(Error::WrongSignature { name, abi: Abi::Bytes, .. }) = refused else {
            panic!("{}: {refused:?}", loaded.name);
        };
        assert_eq!(name, "one");
    });
    let without = BYTES.replace(r#"(export "alloc")"#, r#"(export "aloc")"#);
    each(strategy, &guest(&without), |loaded| match loaded.module.export("sum", Abi::Bytes) {
        Err(Error::NoSuchExport { name, candidates }) => {
            assert_eq!((&*name, &*candidates[0]), ("alloc", "aloc"), "{}", loaded.name);
        }
        other => panic!("{}: {other:?}", loaded.name),
    });
    for other in ["(param i64) (result i32)", "(param i32)", "(param i32 i32) (result i32)"] {
        let body = if other.contains("result") { "(i32.const 0)" } else { "" };
        let wat = format!(
            r#"(module (memory (export "memory") 1) (func (export "sum") (param i32 i32))
                 (func (export "alloc") {other} {body}))"#
        );
        each(strategy, &guest(&wat), |loaded| match loaded.module.export("sum", Abi::Bytes) {
            Err(Error::WrongSignature { name, abi: Abi::Bytes, expected, .. }) => {
                assert_eq!((&*name, expected), ("alloc", "(i32) -> (i32)"), "{}", loaded.name);
            }
            found => panic!("{} {other}: {found:?}", loaded.name),
        });
    }
}
