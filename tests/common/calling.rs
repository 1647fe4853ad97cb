//! Conventions, handles, and misuse.

use super::guests::{INPUT, PLAIN, SUBSTRATE, many_imports};
use super::{each, each_with, guest, load};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use touchstone_executor::adapter::RawCall;
use touchstone_executor::harness::mock::MockEngine;
use touchstone_executor::{
    Abi, CallOptions, Config, Engine, Error, Outcome, Strategy, Support, Trap, TrapKind,
};

pub(crate) fn substrate_outputs_are_right(strategy: Strategy) {
    each(strategy, &guest(SUBSTRATE), |loaded| {
        let instance = &mut *loaded.instance();
        for (name, input, expected) in [
            ("echo", &b"some input"[..], &b"some input"[..]),
            ("echo", b"", b""),
            ("nothing", b"some input", b""),
            ("constant", b"", b"hello"),
        ] {
            let export = loaded.export(name, Abi::Substrate);
            assert_eq!(loaded.output(instance, export, input), expected, "{}", loaded.name);
        }
    });
}

pub(crate) fn the_input_lies_at_the_heap_base_behind_its_header(strategy: Strategy) {
    each(strategy, &guest(SUBSTRATE), |loaded| {
        let export = loaded.export("place", Abi::Substrate);
        let instance = &mut *loaded.instance();
        // Size classes: 8 bytes are class 0, 100 bytes lie in 128, class 4.
        for (length, class) in [(0_usize, 0_u64), (8, 0), (100, 4)] {
            let output = loaded.output(instance, export, &vec![1; length]);
            let mut expected = 2016_u32.to_le_bytes().to_vec();
            expected.extend((1_u64 << 32 | class).to_le_bytes());
            assert_eq!(output, expected, "{}", loaded.name);
        }
    });
}

pub(crate) fn inputs_are_fetched(strategy: Strategy) {
    each(strategy, &guest(INPUT), |loaded| {
        let check = loaded.export("check", Abi::Input);
        let instance = &mut *loaded.instance();
        for _ in 0..2 {
            assert!(loaded.output(instance, check, b"abc").is_empty());
            for wrong in [&b"abd"[..], b"ab", b""] {
                let (outcome, output) = loaded.outcome(instance, check, wrong);
                assert_eq!(outcome, Outcome::Trapped(TrapKind::Unreachable.into()));
                assert!(output.is_empty());
            }
        }
        let (outcome, _) = loaded.outcome(instance, loaded.export("far", Abi::Input), b"abc");
        let trap = outcome.trap().map(|trap| &trap.kind);
        assert!(
            matches!(trap, Some(TrapKind::HostFunction { name, .. }) if name == "input"),
            "{outcome:?}"
        );
    });
}

/// References to the host's objects that only a function's body names.
pub(crate) fn references_to_nothing_need_no_table(strategy: Strategy) {
    let null =
        guest(r#"(module (func (export "null") (result i32) (ref.is_null (ref.null extern))))"#);
    each(strategy, &null, |loaded| {
        let export = loaded.export("null", Abi::Plain);
        let found = loaded.output(&mut *loaded.instance(), export, b"");
        assert_eq!(found, 1_u32.to_le_bytes(), "{}", loaded.name);
    });
}

pub(crate) fn numbers_go_in_and_out_without_a_memory(strategy: Strategy) {
    each(strategy, &guest(PLAIN), |loaded| {
        let instance = &mut *loaded.instance();
        let plain = |name| loaded.export(name, Abi::Plain);
        for _ in 0..2 {
            assert_eq!(loaded.output(instance, plain("nothing"), b""), b"");
            assert_eq!(
                loaded.output(instance, plain("add"), &[1, 0, 0, 0, 2, 0, 0, 0]),
                [3, 0, 0, 0]
            );
            assert_eq!(loaded.output(instance, plain("count"), b""), [1, 0, 0, 0]);
            // A signalling NaN's payload travels as it is.
            let (f32, f64) = (0x7fa0_0001_u32, 0x7ff4_0000_0000_0001_u64);
            let mut input = (-7_i32).to_le_bytes().to_vec();
            input.extend(i64::MIN.to_le_bytes());
            input.extend(f32.to_le_bytes());
            input.extend(f64.to_le_bytes());
            let mut expected = f64.to_le_bytes().to_vec();
            expected.extend(f32.to_le_bytes());
            expected.extend(i64::MIN.to_le_bytes());
            expected.extend((-7_i32).to_le_bytes());
            assert_eq!(loaded.output(instance, plain("mix"), &input), expected, "{}", loaded.name);
            let called = instance.call(plain("add"), &[1], &mut Vec::new());
            assert!(matches!(called, Err(Error::WrongArguments(_))), "{called:?}");
        }
        instance.prepare().unwrap();
        assert!(instance.memory().is_none_or(<[u8]>::is_empty));
    });
}

pub(crate) fn without_a_heap_base_an_input_is_refused(strategy: Strategy) {
    let guest = guest(
        r#"(module (memory (export "memory") 1)
             (func (export "f") (param i32 i32) (result i64) (i64.const 0)))"#,
    );
    each(strategy, &guest, |loaded| {
        let export = loaded.export("f", Abi::Substrate);
        let (outcome, _) = loaded.outcome(&mut *loaded.instance(), export, b"x");
        let trap = outcome.trap().map(|trap| &trap.kind);
        assert!(matches!(trap, Some(TrapKind::BadInput { .. })), "{}: {outcome:?}", loaded.name);
    });
}

pub(crate) fn log_lines_arrive(strategy: Strategy) {
    let guest = guest(
        r#"(module (import "env" "ext_logging_log_version_1" (func $log (param i32 i64 i64)))
             (import "env" "ext_logging_max_level_version_1" (func $level (result i32)))
             (memory (export "memory") 1) (data (i32.const 8) "targetmessage")
             (func (export "log") (result i32)
               (call $log (i32.const 2) (i64.const 0x600000008) (i64.const 0x70000000e))
               (call $log (i32.const 3) (i64.const 0x600000008) (i64.const 0x70000000e))
               (call $level)))"#,
    );
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    let config = Config {
        max_log_level: 3,
        log: Some(Arc::new(move |level, target, message| {
            sink.lock().unwrap().push(format!("{level} {target} {message}"));
        })),
        ..Config::default()
    };
    each_with(strategy, &guest, &config, |loaded| {
        let export = loaded.export("log", Abi::Plain);
        assert_eq!(loaded.output(&mut *loaded.instance(), export, b""), [3, 0, 0, 0]);
        assert_eq!(std::mem::take(&mut *lines.lock().unwrap()), ["2 target message"]);
    });
}

pub(crate) fn unknown_imports_load_and_trap_by_name(strategy: Strategy) {
    each(strategy, &guest(&many_imports()), |loaded| {
        let instance = &mut *loaded.instance();
        let fine = loaded.export("fine", Abi::Plain);
        let call = loaded.export("call", Abi::Plain);
        for _ in 0..2 {
            assert_eq!(loaded.output(instance, fine, b""), [7, 0, 0, 0], "{}", loaded.name);
            let (outcome, _) = loaded.outcome(instance, call, b"");
            let kind =
                TrapKind::MissingImport { module: "env".to_owned(), name: "unknown_17".to_owned() };
            assert_eq!(outcome.trap().map(|trap| &trap.kind), Some(&kind), "{}", loaded.name);
        }
    });
}

pub(crate) fn misuse_is_named(strategy: Strategy) {
    each(strategy, &guest(PLAIN), |loaded| {
        let export = loaded.export("nothing", Abi::Plain);
        let instance = &mut *loaded.instance();
        let output = &mut Vec::new();
        let misuse = |result| assert!(matches!(result, Err(Error::Misuse(_))), "{}", loaded.name);
        misuse(instance.invoke(export, b"", output, None));
        instance.finish().unwrap();
        instance.prepare().unwrap();
        // More than one call on the same state is no misuse.
        let count = loaded.export("count", Abi::Plain);
        for expected in 1..=2 {
            assert_eq!(instance.invoke(count, b"", output, None).unwrap(), Outcome::Returned);
            assert_eq!(output[0], expected, "{}", loaded.name);
        }
        // A call that was not finished leaves nothing to the next one.
        instance.prepare().unwrap();
        assert_eq!(instance.invoke(count, b"", output, None).unwrap(), Outcome::Returned);
        assert_eq!(output[0], 1, "{}", loaded.name);
        instance.finish().unwrap();
        instance.finish().unwrap();
        misuse(instance.invoke(export, b"", output, None));
        assert!(instance.memory().is_none());
    });
}

/// A handle of another module fails before it enters the guest, also where a function of its type
/// stands in its place, and the next call is the first one.
pub(crate) fn a_foreign_handle_leaves_the_next_call_clean(strategy: Strategy) {
    let text = |value: i32| {
        guest(&format!(
            r#"(module (memory (export "memory") 1) (global $g (mut i32) (i32.const 0))
              (func (export "set") (global.set $g (i32.const {value})))
              (func (export "get") (result i32) (global.get $g)))"#
        ))
    };
    let (guest, foreign) = (text(42), RefCell::new(BTreeMap::<_, Vec<_>>::new()));
    // Of another guest, and of the same one loaded once more.
    for other in [&text(43), &guest] {
        each(strategy, other, |loaded| {
            let handles = ["set", "get"].map(|name| loaded.export(name, Abi::Plain));
            foreign.borrow_mut().entry(loaded.name.clone()).or_default().extend(handles);
        });
    }
    each(strategy, &guest, |loaded| {
        let instance = &mut *loaded.instance();
        let [set, get] = ["set", "get"].map(|name| loaded.export(name, Abi::Plain));
        let output = &mut Vec::new();
        let misuse = |result| assert!(matches!(result, Err(Error::Misuse(_))), "{}", loaded.name);
        for foreign in &foreign.borrow()[&loaded.name] {
            assert_eq!(loaded.output(instance, set, b""), b"", "{}", loaded.name);
            misuse(instance.call(*foreign, b"", output));
            instance.prepare().unwrap();
            misuse(instance.invoke(*foreign, b"", output, None));
            misuse(instance.invoke(*foreign, b"", output, Some(CallOptions::default())));
            assert_eq!(instance.invoke(get, b"", output, None).unwrap(), Outcome::Returned);
            assert_eq!(output[..], [0; 4], "{}", loaded.name);
            instance.finish().unwrap();
        }
    });
}

pub(crate) fn exports_are_checked_by_name_and_signature(strategy: Strategy) {
    each(strategy, &guest(PLAIN), |loaded| {
        match loaded.module.export("coumt", Abi::Plain) {
            Err(Error::NoSuchExport { name, candidates }) => {
                assert_eq!((name.as_str(), candidates[0].as_str()), ("coumt", "count"));
            }
            other => panic!("{}: {other:?}", loaded.name),
        }
        for abi in [Abi::Substrate, Abi::Input] {
            let wrong = loaded.module.export("add", abi);
            assert!(matches!(wrong, Err(Error::WrongSignature { .. })), "{}", loaded.name);
        }
    });
}

pub(crate) fn artifacts_of_others_are_refused(strategy: Strategy) {
    let guest = guest(PLAIN);
    let config = Config::default();
    let able: Vec<_> = crate::engines()
        .into_iter()
        .filter(|engine| {
            !matches!(engine.support_for(strategy, &guest), Support::Unsupported { .. })
        })
        .collect();
    let mut artifacts =
        vec![("mock", MockEngine::new("mock").compile(&guest, strategy, &config).unwrap())];
    for engine in &able {
        artifacts.push((engine.id(), engine.compile(&guest, strategy, &config).unwrap()));
    }
    for engine in &able {
        for (maker, artifact) in &artifacts {
            let loaded = engine.load(&guest, artifact, strategy, &config);
            match loaded {
                Ok(_) => assert_eq!(*maker, engine.id()),
                Err(Error::BadArtifact { .. }) => assert_ne!(*maker, engine.id()),
                Err(error) => panic!("{} {strategy}: {error}", engine.id()),
            }
        }
    }
}

pub(crate) fn what_is_in_force_is_said(strategy: Strategy) {
    let guest = guest(SUBSTRATE);
    for engine in crate::engines() {
        if matches!(engine.support_for(strategy, &guest), Support::Unsupported { .. }) {
            let refused = engine
                .compile(&guest, strategy, &Config::default())
                .and_then(|artifact| engine.load(&guest, &artifact, strategy, &Config::default()));
            let refused = refused.map(|_| ()).unwrap_err();
            assert!(matches!(refused, Error::Unsupported { .. }), "{}: {refused}", engine.id());
            continue;
        }
        let module = load(&*engine, &guest, strategy, &Config::default()).unwrap();
        let effective = module.effective();
        assert!(effective.get("execution").is_some(), "{}", engine.id());
        assert!(effective.iter().all(|(key, value)| !key.is_empty() && !value.is_empty()));
    }
}

pub(crate) fn raw_interfaces_answer_the_same(strategy: Strategy) {
    let (guest, config) = (guest(SUBSTRATE), Config::default());
    for engine in crate::engines() {
        for (export, input, expected) in [
            ("echo", &b"input"[..], &b"input"[..]),
            ("nothing", b"", b""),
            ("constant", b"", b"hello"),
        ] {
            let call = RawCall { strategy, config: &config, export, input };
            if !engine.has_raw(strategy) {
                continue;
            }
            let mut raw = engine.raw(&guest, &call).unwrap().unwrap();
            let output = &mut b"left over".to_vec();
            for _ in 0..2 {
                raw(output).unwrap();
                assert_eq!(output, expected, "{} {strategy}", engine.id());
            }
        }
    }
}

/// For messages about traps.
pub(crate) fn kind(outcome: &Outcome) -> Option<&TrapKind> {
    outcome.trap().map(|Trap { kind, .. }| kind)
}
