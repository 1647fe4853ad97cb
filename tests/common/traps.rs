//! Traps: their kinds, and the clean call after each.

use super::guests::{COSTLY, RECURSION, SUBSTRATE, TRAPS, TWO_TYPES};
use super::{Loaded, each, each_with, guest};
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::abi::Abi;
use touchstone_executor::host::LogSink;
use touchstone_executor::{Claim, Config, ExportId, Instance, Outcome, Strategy, TrapKind};

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
            for _ in 0..2 {
                let found = trap(loaded, instance, name);
                assert_eq!(found, expected, "{}: {name}", loaded.name);
                next_call_is_clean(loaded, instance, name);
            }
        }
    });
}

/// What a trap unwinds is not counted as stack any more, by the next call of the same use.
pub(crate) fn traps_in_recursions_use_up_no_stack(strategy: Strategy) {
    each(strategy, &guest(RECURSION), |loaded| {
        let export = loaded.export("descend", Abi::Plain);
        let instance = &mut *loaded.instance();
        let mut output = Vec::new();
        instance.prepare().unwrap();
        let mut kind = |depth: u32| {
            let outcome = instance.invoke(export, &depth.to_le_bytes(), &mut output).unwrap();
            outcome.trap().map(|trap| trap.kind.clone())
        };
        for call in 0..30 {
            assert_eq!(kind(300), Some(TrapKind::Unreachable), "{}, call {call}", loaded.name);
        }
        assert_eq!(kind(u32::MAX), Some(TrapKind::StackOverflow), "{}", loaded.name);
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

pub(crate) fn a_host_function_refuses_by_name(strategy: Strategy) {
    each(strategy, &guest(TRAPS), |loaded| {
        let instance = &mut *loaded.instance();
        match trap(loaded, instance, "refused") {
            TrapKind::HostFunction { name: "ext_allocator_free_version_1", reason } => {
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

fn with_deadline(milliseconds: u64) -> Config {
    Config { deadline: Some(Duration::from_millis(milliseconds)), ..Config::default() }
}

pub(crate) fn an_endless_loop_ends_at_its_deadline(strategy: Strategy) {
    each_with(strategy, &guest(TRAPS), &with_deadline(100), |loaded| {
        let instance = &mut *loaded.instance();
        let started = Instant::now();
        let found = trap(loaded, instance, "endless");
        assert_eq!(found, TrapKind::DeadlineExceeded, "{}", loaded.name);
        let took = started.elapsed();
        assert!(took >= Duration::from_millis(100), "{}: stopped after {took:?}", loaded.name);
        assert!(took < Duration::from_secs(20), "{}: stopped after {took:?}", loaded.name);
        next_call_is_clean(loaded, instance, "endless");
    });
}

pub(crate) fn a_deadline_ends_what_takes_long_in_few_turns(strategy: Strategy) {
    // A log that is looked at is read, sixteen megabytes a line.
    let log: Arc<LogSink> = Arc::new(|_, _, _| {});
    let config = Config { max_log_level: 5, log: Some(log), ..with_deadline(30) };
    each_with(strategy, &guest(COSTLY), &config, |loaded| {
        let instance = &mut *loaded.instance();
        // Once more each: what a deadline leaves behind does not put off the next one.
        for name in ["host", "log", "fill", "host", "log", "fill"] {
            let started = Instant::now();
            let found = trap_of(loaded, instance, name, loaded.export(name, Abi::Plain));
            assert_eq!(found, TrapKind::DeadlineExceeded, "{}: {name}", loaded.name);
            let took = started.elapsed();
            assert!(took < Duration::from_secs(20), "{}: {name} took {took:?}", loaded.name);
        }
    });
}

/// A deadline far away changes nothing else.
pub(crate) fn under_a_deadline_calls_end_as_without(strategy: Strategy) {
    each_with(strategy, &guest(TRAPS), &with_deadline(60_000), |loaded| {
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
            assert_eq!(trap(loaded, instance, name), expected, "{}", loaded.name);
            next_call_is_clean(loaded, instance, name);
        }
    });
    each_with(strategy, &guest(SUBSTRATE), &with_deadline(60_000), |loaded| {
        let echo = loaded.export("echo", Abi::Substrate);
        let large = loaded.export("large", Abi::Substrate);
        let instance = &mut *loaded.instance();
        for _ in 0..2 {
            assert_eq!(loaded.output(instance, echo, b"input"), b"input", "{}", loaded.name);
            assert_eq!(loaded.output(instance, large, b"")[..4], 17_u32.to_le_bytes());
        }
    });
}
