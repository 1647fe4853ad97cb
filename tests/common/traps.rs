//! Traps: their kinds, and the clean call after each.

use super::calling::kind;
use super::guests::{COSTLY, RECURSION, SUBSTRATE, TRAPS, TWO_TYPES};
use super::time::LIMIT;
use super::{Loaded, each, each_with, guest, load};
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::{
    Abi, Claim, Config, Error, ExportId, Instance, InstanceFrom, LogSink, Outcome, Strategy,
    Support, TrapKind,
};

/// After this, both counters of the guest must be at their first value.
fn next_call_is_clean(loaded: &Loaded, instance: &mut dyn Instance, after: &str) {
    let count = loaded.either("count");
    let clean = [1, 0, 0, 0, 1, 0, 0, 0];
    assert_eq!(loaded.output(instance, count, b""), clean, "{} after {after}", loaded.name);
}

fn trap(loaded: &Loaded, instance: &mut dyn Instance, name: &str) -> TrapKind {
    trap_of(loaded, instance, name, loaded.either(name))
}

fn trap_of(loaded: &Loaded, instance: &mut dyn Instance, name: &str, export: ExportId) -> TrapKind {
    let (outcome, output) = loaded.outcome(instance, export, b"");
    assert!(output.is_empty(), "{}: {name} left an output", loaded.name);
    match outcome {
        Outcome::Trapped(trap) => trap.kind,
        Outcome::Returned => panic!("{}: {name} returned", loaded.name),
    }
}

pub(crate) fn a_trap_leaves_the_next_call_clean(strategy: Strategy) {
    each(strategy, &guest(TRAPS), |loaded| {
        let instance = &mut *loaded.instance();
        for (name, expected) in [
            ("unreachable", TrapKind::Unreachable),
            ("load", TrapKind::MemoryOutOfBounds),
            ("store", TrapKind::MemoryOutOfBounds),
            ("divide", TrapKind::DivisionByZero),
            ("overflow", TrapKind::BadArithmetic),
            ("convert", TrapKind::BadArithmetic),
            ("null", TrapKind::BadIndirectCall),
            ("type", TrapKind::BadIndirectCall),
            ("table", TrapKind::TableOutOfBounds),
            ("recurse", TrapKind::StackOverflow),
        ] {
            if expected == TrapKind::StackOverflow && !loaded.limits_recursion {
                continue;
            }
            for _ in 0..2 {
                let found = trap(loaded, instance, name);
                assert_eq!(found, expected, "{}: {name}", loaded.name);
                next_call_is_clean(loaded, instance, name);
            }
        }
    });
}

/// The next call of the same use has the whole stack after a trap in a recursion.
pub(crate) fn traps_in_recursions_use_up_no_stack(strategy: Strategy) {
    each(strategy, &guest(RECURSION), |loaded| {
        let export = loaded.export("descend", Abi::Plain);
        let instance = &mut *loaded.instance();
        let mut output = Vec::new();
        instance.prepare().unwrap();
        let mut kind = |depth: u32| {
            let outcome = instance.invoke(export, &depth.to_le_bytes(), &mut output, None).unwrap();
            outcome.trap().map(|trap| trap.kind.clone())
        };
        for call in 0..30 {
            assert_eq!(kind(300), Some(TrapKind::Unreachable), "{}, call {call}", loaded.name);
        }
        if loaded.limits_recursion {
            assert_eq!(kind(u32::MAX), Some(TrapKind::StackOverflow), "{}", loaded.name);
        }
        assert_eq!(kind(300), Some(TrapKind::Unreachable), "{}", loaded.name);
        instance.finish().unwrap();
    });
}

pub(crate) fn a_missing_import_traps_by_name(strategy: Strategy) {
    each(strategy, &guest(TRAPS), |loaded| {
        let instance = &mut *loaded.instance();
        let expected =
            TrapKind::MissingImport { module: "env".to_owned(), name: "does_not_exist".to_owned() };
        assert_eq!(trap(loaded, instance, "missing"), expected, "{}", loaded.name);
        next_call_is_clean(loaded, instance, "missing");
    });
}

pub(crate) fn one_name_may_be_imported_with_two_types(strategy: Strategy) {
    each(strategy, &guest(TWO_TYPES), |loaded| {
        let instance = &mut *loaded.instance();
        let missing =
            TrapKind::MissingImport { module: "env".to_owned(), name: "absent".to_owned() };
        for name in ["narrow", "wide", "narrow"] {
            let export = loaded.export(name, Abi::Plain);
            let trap = trap_of(loaded, instance, name, export);
            assert_eq!(trap, missing, "{}: {name}", loaded.name);
        }
    });
}

/// The second import does not move the functions behind it.
pub(crate) fn one_function_may_be_imported_twice(strategy: Strategy) {
    let text = r#"(module
        (import "env" "absent" (func))
        (import "env" "absent" (func))
        (type $t (func (result i32)))
        (table 2 funcref)
        (elem declare func $one)
        (func $one (result i32) (i32.const 1))
        (func (export "f") (result i32)
          (table.fill (i32.const 0) (ref.func $one) (i32.const 2))
          (call_indirect (type $t) (i32.const 0))))"#;
    each(strategy, &guest(text), |loaded| {
        let export = loaded.export("f", Abi::Plain);
        let instance = &mut *loaded.instance();
        assert_eq!(loaded.output(instance, export, b""), [1, 0, 0, 0], "{}", loaded.name);
    });
}

pub(crate) fn a_host_function_refuses_by_name(strategy: Strategy) {
    each(strategy, &guest(TRAPS), |loaded| {
        let instance = &mut *loaded.instance();
        match trap(loaded, instance, "refused") {
            TrapKind::HostFunction { name, reason } if name == "ext_allocator_free_version_1" => {
                assert!(!reason.is_empty());
            }
            other => panic!("{}: {other}", loaded.name),
        }
        next_call_is_clean(loaded, instance, "refused");
    });
}

pub(crate) fn a_result_outside_the_memory_is_a_trap(strategy: Strategy) {
    each(strategy, &guest(TRAPS), |loaded| {
        let instance = &mut *loaded.instance();
        let export = loaded.export("result", Abi::Substrate);
        match trap_of(loaded, instance, "result", export) {
            TrapKind::BadResult { claim } => {
                let expected = Claim { pointer: 0xfff8, length: 16, memory: 65_536 };
                assert_eq!(claim.unwrap_or(expected), expected, "{}", loaded.name);
            }
            other => panic!("{}: {other}", loaded.name),
        }
        next_call_is_clean(loaded, instance, "result");
    });
}

fn with_deadline(deadline: Duration) -> Config {
    Config { deadline: Some(deadline), ..Config::default() }
}

pub(crate) fn an_endless_loop_ends_at_its_deadline(strategy: Strategy) {
    let deadline = Duration::from_millis(20);
    each_with(strategy, &guest(TRAPS), &with_deadline(deadline), |loaded| {
        let instance = &mut *loaded.instance();
        let started = Instant::now();
        let found = trap(loaded, instance, "endless");
        assert_eq!(found, TrapKind::DeadlineExceeded, "{}", loaded.name);
        let took = started.elapsed();
        assert!(took >= deadline, "{}: stopped after {took:?}", loaded.name);
        assert!(took < LIMIT, "{}: stopped after {took:?}", loaded.name);
        next_call_is_clean(loaded, instance, "endless");
    });
}

pub(crate) fn a_deadline_ends_what_takes_long_in_few_turns(strategy: Strategy) {
    let deadline = Duration::from_millis(10);
    // A log that is looked at is read, four megabytes a line.
    let log: Arc<LogSink> = Arc::new(|_, _, _| {});
    let config = Config { max_log_level: 5, log: Some(log), ..with_deadline(deadline) };
    each_with(strategy, &guest(COSTLY), &config, |loaded| {
        let instance = &mut *loaded.instance();
        // Once more each: what a deadline leaves behind does not put off the next one.
        for name in ["host", "log", "fill", "host", "log", "fill"] {
            let started = Instant::now();
            let found = trap_of(loaded, instance, name, loaded.export(name, Abi::Plain));
            assert_eq!(found, TrapKind::DeadlineExceeded, "{}: {name}", loaded.name);
            let took = started.elapsed();
            assert!(took < LIMIT, "{}: {name} took {took:?}", loaded.name);
        }
    });
}

/// A deadline far away changes nothing else.
pub(crate) fn under_a_deadline_calls_end_as_without(strategy: Strategy) {
    each_with(strategy, &guest(TRAPS), &with_deadline(LIMIT), |loaded| {
        let instance = &mut *loaded.instance();
        for (name, expected) in [
            ("unreachable", TrapKind::Unreachable),
            ("load", TrapKind::MemoryOutOfBounds),
            ("recurse", TrapKind::StackOverflow),
            (
                "missing",
                TrapKind::MissingImport {
                    module: "env".to_owned(),
                    name: "does_not_exist".to_owned(),
                },
            ),
        ] {
            if expected == TrapKind::StackOverflow && !loaded.limits_recursion {
                continue;
            }
            assert_eq!(trap(loaded, instance, name), expected, "{}", loaded.name);
            next_call_is_clean(loaded, instance, name);
        }
    });
    each_with(strategy, &guest(SUBSTRATE), &with_deadline(LIMIT), |loaded| {
        let echo = loaded.export("echo", Abi::Substrate);
        let large = loaded.export("large", Abi::Substrate);
        let instance = &mut *loaded.instance();
        for _ in 0..2 {
            assert_eq!(loaded.output(instance, echo, b"input"), b"input", "{}", loaded.name);
            assert_eq!(loaded.output(instance, large, b"")[..4], 17_u32.to_le_bytes());
        }
    });
}

/// Frames of 31 KiB, in one of which the host grows the memory.
pub(crate) fn growth_in_a_recursion_moves_no_limit(strategy: Strategy) {
    let locals = "i64 ".repeat(3_900);
    let text = format!(
        r#"(module
             (import "env" "ext_allocator_malloc_version_1" (func $malloc (param i32) (result i32)))
             (memory (export "memory") 1 100)
             (global (export "__heap_base") i32 (i32.const 1024))
             (func $f (param $depth i32) (result i32) (local {locals}) (local $last i64)
               (if (i32.eq (local.get $depth) (i32.const 16))
                 (then (drop (call $malloc (i32.const 1000000)))))
               (local.set $last (i64.const 0x4141414141414141))
               (i32.add
                 (call $f (i32.add (local.get $depth) (i32.const 1)))
                 (i32.wrap_i64 (local.get $last))))
             (func (export "f") (result i32) (call $f (i32.const 1)))
             (func (export "fine") (result i32) (i32.const 7)))"#
    );
    each(strategy, &guest(&text), |loaded| {
        let instance = &mut *loaded.instance();
        let [deep, fine] = ["f", "fine"].map(|name| loaded.export(name, Abi::Plain));
        let rounds = if loaded.limits_recursion { 2 } else { 0 };
        for _ in 0..rounds {
            let (outcome, _) = loaded.outcome(instance, deep, b"");
            assert_eq!(kind(&outcome), Some(&TrapKind::StackOverflow), "{}", loaded.name);
            assert_eq!(loaded.output(instance, fine, b""), [7, 0, 0, 0], "{}", loaded.name);
        }
    });
}

/// Also when it is called very often by one function.
pub(crate) fn a_host_function_in_a_table_uses_up_no_stack(strategy: Strategy) {
    let text = r#"(module
        (import "env" "ext_logging_max_level_version_1" (func $level (result i32)))
        (type $t (func (result i32)))
        (table 1 funcref) (elem (i32.const 0) $level)
        (func (export "f") (param $times i32) (result i32) (local $all i32)
          (loop $next
            (local.set $all (i32.add (local.get $all) (call_indirect (type $t) (i32.const 0))))
            (local.set $times (i32.sub (local.get $times) (i32.const 1)))
            (br_if $next (local.get $times)))
          (local.get $all)))"#;
    let config =
        Config { max_log_level: 1, log: Some(Arc::new(|_, _, _| ())), ..Config::default() };
    each_with(strategy, &guest(text), &config, |loaded| {
        let f = loaded.export("f", Abi::Plain);
        // Sixteen bytes for each would be more than a thread has.
        let times = 200_000_u32.to_le_bytes();
        assert_eq!(loaded.output(&mut *loaded.instance(), f, &times), times, "{}", loaded.name);
    });
}

/// Addresses and lengths that would be small or no numbers with a sign.
pub(crate) fn bulk_instructions_take_no_number_as_negative(strategy: Strategy) {
    let text = r#"(module
        (memory (export "memory") 1 2)
        (data $d "abc")
        (func (export "grown") (result i32)
          (drop (memory.grow (i32.const 1)))
          (i32.load (i32.const 65636)))
        (func (export "fill") (drop (memory.grow (i32.const 1)))
          (i32.store (i32.const 65636) (i32.const 42))
          (memory.fill (i32.const -1) (i32.const 0) (i32.const 65536)))
        (func (export "length") (memory.init $d (i32.const 1) (i32.const 1) (i32.const -1)))
        (func (export "source") (memory.init $d (i32.const 1) (i32.const -1) (i32.const 1)))
        (func (export "copy") (memory.copy (i32.const 1) (i32.const 1) (i32.const -1))))"#;
    each(strategy, &guest(text), |loaded| {
        let instance = &mut *loaded.instance();
        let grown = loaded.export("grown", Abi::Plain);
        for name in ["fill", "length", "source", "copy", "fill"] {
            let export = loaded.export(name, Abi::Plain);
            let (outcome, _) = loaded.outcome(instance, export, b"");
            assert!(kind(&outcome).is_some(), "{} {name}: {outcome:?}", loaded.name);
            assert_eq!(loaded.output(instance, grown, b""), [0; 4], "{} {name}", loaded.name);
        }
    });
}

/// Addresses that would be negative with a sign, but lie in the memory.
pub(crate) fn bulk_instructions_reach_behind_two_gibibytes(strategy: Strategy) {
    let text = r#"(module
        (memory (export "memory") 32769)
        (func (export "both") (result i32 i32)
          (memory.fill (i32.const 0x80000010) (i32.const 1) (i32.const 2))
          (i32.load (i32.const 0x80000010))
          (i32.store8 (i32.const 0x80000021) (i32.const 1))
          (memory.copy (i32.const 0x80000030) (i32.const 0x80000020) (i32.const 4))
          (memory.copy (i32.const 0x80000031) (i32.const 0x80000030) (i32.const 2))
          (i32.load (i32.const 0x80000030))))"#;
    each(strategy, &guest(text), |loaded| {
        // Interpreters that do not reset their memory clear all of it for each call.
        let calls = if strategy.instance == InstanceFrom::Reuse { 2 } else { 1 };
        let (both, instance) = (loaded.export("both", Abi::Plain), &mut *loaded.instance());
        for _ in 0..calls {
            let output = loaded.output(instance, both, b"");
            assert_eq!(output, [1, 1, 0, 0, 0, 0, 1, 0], "{}", loaded.name);
        }
    });
}

pub(crate) fn a_segment_that_does_not_fit_is_a_trap_of_the_guest(strategy: Strategy) {
    let data = r#"(module (memory 1) (data (i32.const 65536) "x") (func (export "f")))"#;
    let elements = r#"(module (table 1 funcref) (elem (i32.const 1) $f) (func $f (export "f")))"#;
    for (text, expected) in
        [(data, TrapKind::MemoryOutOfBounds), (elements, TrapKind::TableOutOfBounds)]
    {
        let guest = guest(text);
        for engine in crate::engines() {
            if matches!(engine.support_for(strategy, &guest), Support::Unsupported { .. }) {
                continue;
            }
            // Some make an instance when they load.
            let made = load(&*engine, &guest, strategy, &Config::default())
                .and_then(|module| module.new_instance()?.prepare());
            match made {
                Err(Error::Instantiation { trap }) => {
                    assert_eq!(trap.kind, expected, "{} {strategy}", engine.id());
                }
                other => panic!("{} {strategy}: {other:?}, not {expected}", engine.id()),
            }
        }
    }
}
