//! Components on every engine of this crate, under every strategy.

use std::time::Duration;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{self, Growth, GuestModule, HeapPages};
use touchstone_executor::{
    Abi, Config, Error, Imports, Instance, MemoryFrom, Module, Outcome, Strategy, Support, Trap,
    TrapKind,
};

/// Its allocator gives the same place each time; what it was given is compared with
/// `hello`, anything else traps. `once` counts in memory and traps when it is not the
/// first; `change` changes a data segment's content, `grow` the size of the memory.
const GUEST: &str = r#"(component
    (import "input" (func $input (result (list u8))))
    (import "unknown" (func $unknown (param "x" string) (result u32)))
    (core module $memory
        (memory (export "memory") 2)
        (data (i32.const 16) "hello")
        (func (export "realloc") (param i32 i32 i32 i32) (result i32)
            (if (i32.gt_u (local.get 3) (i32.const 60000)) (then unreachable))
            (i32.const 65536)))
    (core instance $memory (instantiate $memory))
    (alias core export $memory "memory" (core memory $mem))
    (alias core export $memory "realloc" (core func $realloc))
    (core func $input' (canon lower (func $input) (memory $mem) (realloc $realloc)))
    (core func $unknown' (canon lower (func $unknown) (memory $mem)))
    (core module $main
        (import "env" "memory" (memory 1))
        (import "env" "input" (func $input (param i32)))
        (import "env" "unknown" (func $unknown (param i32 i32) (result i32)))
        (func $check (param i32 i32)
            (if (i32.ne (local.get 1) (i32.const 5)) (then unreachable))
            (if (i32.ne (i32.load (local.get 0)) (i32.load (i32.const 16))) (then unreachable))
            (if (i32.ne (i32.load8_u offset=4 (local.get 0)) (i32.load8_u (i32.const 20)))
                (then unreachable)))
        (func (export "noop"))
        (func (export "trap") unreachable)
        (func (export "beyond") (drop (i32.load (i32.const -4))))
        (func (export "divide") (drop (i32.div_u (i32.const 1) (i32.const 0))))
        (func (export "recurse") (call 7))
        (func (export "forever") (loop (br 0)))
        (func (export "take")
            (call $input (i32.const 0))
            (call $check (i32.load (i32.const 0)) (i32.load (i32.const 4))))
        (func (export "bytes") (param i32 i32) (call $check (local.get 0) (local.get 1)))
        (func (export "pair") (param i32 i32 i32)
            (call $check (local.get 0) (local.get 1))
            (if (i32.ne (local.get 2) (i32.const 7)) (then unreachable)))
        (func (export "once")
            (if (i32.load (i32.const 4096)) (then unreachable))
            (i32.store (i32.const 4096) (i32.const 1)))
        (func (export "change")
            (if (i32.ne (i32.load8_u (i32.const 16)) (i32.const 104)) (then unreachable))
            (i32.store8 (i32.const 16) (i32.const 0)))
        (func (export "grow")
            (if (i32.ne (memory.size) (i32.const 2)) (then unreachable))
            (if (i32.ne (memory.grow (i32.const 3)) (i32.const 2)) (then unreachable))
            (if (i32.load (i32.const 327676)) (then unreachable))
            (i32.store (i32.const 327676) (i32.const 1)))
        (func (export "missing") (drop (call $unknown (i32.const 16) (i32.const 5)))))
    (core instance $env
        (export "memory" (memory $mem))
        (export "input" (func $input'))
        (export "unknown" (func $unknown')))
    (core instance $main (instantiate $main (with "env" (instance $env))))
    (func (export "noop") (canon lift (core func $main "noop")))
    (func (export "trap") (canon lift (core func $main "trap")))
    (func (export "beyond") (canon lift (core func $main "beyond")))
    (func (export "divide") (canon lift (core func $main "divide")))
    (func (export "recurse") (canon lift (core func $main "recurse")))
    (func (export "forever") (canon lift (core func $main "forever")))
    (func (export "take") (canon lift (core func $main "take")))
    (func (export "bytes") (param "input" (list u8))
        (canon lift (core func $main "bytes") (memory $mem) (realloc $realloc)))
    (type $pair' (record (field "the-text" string) (field "seven" u8)))
    (export $pair "pair-type" (type $pair'))
    (func (export "pair") (param "pair" $pair)
        (canon lift (core func $main "pair") (memory $mem) (realloc $realloc)))
    (func (export "once") (canon lift (core func $main "once")))
    (func (export "change") (canon lift (core func $main "change")))
    (func (export "grow") (canon lift (core func $main "grow")))
    (func (export "missing") (canon lift (core func $main "missing"))))"#;

fn component(text: &str) -> GuestModule {
    let bytes = wat::parse_str(text).unwrap();
    GuestModule::new("component", &bytes, HeapPages::default()).unwrap()
}

fn load(
    engine: &dyn MeasuredEngine,
    guest: &GuestModule,
    strategy: Strategy,
    config: &Config,
) -> Box<dyn Module> {
    let artifact = engine.compile(guest, strategy, config).unwrap();
    engine.load(guest, &artifact, strategy, config).unwrap()
}

/// Runs a test on every engine and strategy that can do the guest.
fn each(guest: &GuestModule, config: &Config, test: impl Fn(&str, &mut dyn Module)) {
    let config = &Config { imports: Imports::Trap, ..config.clone() };
    for engine in touchstone_wasmtime::engines() {
        let mut ran = 0;
        for strategy in Strategy::all() {
            if engine.support_for(strategy, guest).is_supported() {
                let name = format!("{} {strategy}", engine.id());
                test(&name, &mut *load(&*engine, guest, strategy, config));
                ran += 1;
            }
        }
        assert!(ran >= 2, "{} ran {ran} strategies", engine.id());
    }
}

fn call(
    instance: &mut dyn Instance,
    module: &dyn Module,
    name: &str,
    abi: Abi,
    input: &[u8],
) -> Outcome {
    let export = module.export(name, abi).unwrap();
    let mut output = b"left over".to_vec();
    let outcome = instance.call(export, input, &mut output).unwrap();
    assert!(output.is_empty());
    outcome
}

fn kind(outcome: Outcome) -> TrapKind {
    match outcome {
        Outcome::Returned => panic!("it returned"),
        Outcome::Trapped(Trap { kind, .. }) => kind,
    }
}

#[test]
fn every_call_is_made_on_a_clean_instance() {
    each(&component(GUEST), &Config::default(), |name, module| {
        let mut instance = module.new_instance().unwrap();
        for round in 0..4 {
            for export in ["noop", "once", "change", "grow"] {
                let outcome = call(&mut *instance, module, export, Abi::Input, b"");
                assert_eq!(outcome, Outcome::Returned, "{name}: {export}, round {round}");
            }
        }
        // Twice on the same instance: it does see what it did.
        let once = module.export("once", Abi::Plain).unwrap();
        instance.prepare().unwrap();
        let first = instance.invoke(once, b"", &mut Vec::new(), None).unwrap();
        let second = instance.invoke(once, b"", &mut Vec::new(), None).unwrap();
        instance.finish().unwrap();
        assert_eq!((first, kind(second)), (Outcome::Returned, TrapKind::Unreachable), "{name}");
    });
}

#[test]
fn input_comes_by_every_convention() {
    each(&component(GUEST), &Config::default(), |name, module| {
        let mut instance = module.new_instance().unwrap();
        let pair = br#"{"the_text": "hello", "seven": 7}"#;
        for _ in 0..3 {
            for (export, abi, right, wrong) in [
                ("take", Abi::Input, &b"hello"[..], &b"hallo"[..]),
                ("bytes", Abi::Bytes, b"hello", b"hell"),
                ("bytes", Abi::Typed, b"[104, 101, 108, 108, 111]", b"[104]"),
                ("pair", Abi::Typed, pair, br#"{"the_text": "hello", "seven": 8}"#),
            ] {
                let outcome = call(&mut *instance, module, export, abi, wrong);
                assert_eq!(kind(outcome), TrapKind::Unreachable, "{name}: {export}");
                let outcome = call(&mut *instance, module, export, abi, right);
                assert_eq!(outcome, Outcome::Returned, "{name}: {export}");
            }
        }
        // Larger than its allocator gives.
        for (export, abi) in [("take", Abi::Input), ("bytes", Abi::Bytes)] {
            let outcome = call(&mut *instance, module, export, abi, &[0; 70_000]);
            assert_eq!(kind(outcome), TrapKind::Unreachable, "{name}: {export}");
        }
        assert_eq!(call(&mut *instance, module, "noop", Abi::Plain, b""), Outcome::Returned);
    });
}

#[test]
fn json_that_does_not_fit_is_bad_input() {
    let guest = component(GUEST);
    let engine = &touchstone_wasmtime::engines()[0];
    let strategy = "pooling_cow".parse().unwrap();
    let config = Config { imports: Imports::Trap, ..Config::default() };
    let module = load(&**engine, &guest, strategy, &config);
    let mut instance = module.new_instance().unwrap();
    for (input, why) in [
        ("", "EOF"),
        (r#"{"the_text": "hello", "seven": 7"#, "EOF"),
        (r#"{"the_text": "hello"}"#, "'seven' is missing"),
        (r#"{"the-text": "hello", "seven": 7}"#, "'the-text' is missing"),
        (r#"{"the_text": "hello", "seven": 7, "eight": 8}"#, "does not have"),
        (r#"{"the_text": "hello", "seven": 256}"#, "seven: u8 expected, the number 256 found"),
        (r#"{"the_text": 1, "seven": 7}"#, "the-text: string expected"),
        ("[]", "record expected, an array of 0 found"),
    ] {
        match kind(call(&mut *instance, &*module, "pair", Abi::Typed, input.as_bytes())) {
            TrapKind::BadInput { reason } => assert!(reason.contains(why), "{input}: {reason}"),
            other => panic!("{input}: {other}"),
        }
        let right = br#"{"the_text": "hello", "seven": 7}"#;
        let outcome = call(&mut *instance, &*module, "pair", Abi::Typed, right);
        assert_eq!(outcome, Outcome::Returned);
    }
    let plain = call(&mut *instance, &*module, "noop", Abi::Plain, b"x");
    assert!(matches!(kind(plain), TrapKind::BadInput { .. }));
}

#[test]
fn traps_are_told_apart_and_the_next_call_is_clean() {
    each(&component(GUEST), &Config::default(), |name, module| {
        let mut instance = module.new_instance().unwrap();
        let missing =
            TrapKind::MissingImport { module: "root".to_owned(), name: "unknown".to_owned() };
        for (export, expected) in [
            ("trap", TrapKind::Unreachable),
            ("beyond", TrapKind::MemoryOutOfBounds),
            ("divide", TrapKind::DivisionByZero),
            ("recurse", TrapKind::StackOverflow),
            ("missing", missing),
        ] {
            let outcome = call(&mut *instance, module, export, Abi::Input, b"");
            assert_eq!(kind(outcome), expected, "{name}: {export}");
            let outcome = call(&mut *instance, module, "once", Abi::Input, b"");
            assert_eq!(outcome, Outcome::Returned, "{name}: after {export}");
        }
    });
}

#[test]
fn an_endless_loop_is_stopped() {
    let config = Config { deadline: Some(Duration::from_millis(30)), ..Config::default() };
    each(&component(GUEST), &config, |name, module| {
        let mut instance = module.new_instance().unwrap();
        // On a busy machine the deadline may pass in an instantiation or in a short call.
        let mut returns = |name| {
            let export = module.export(name, Abi::Input).unwrap();
            match instance.call(export, b"", &mut Vec::new()) {
                Ok(Outcome::Returned) => true,
                Ok(Outcome::Trapped(trap)) | Err(Error::Instantiation { trap }) => {
                    assert_eq!(trap.kind, TrapKind::DeadlineExceeded, "{name}");
                    false
                }
                Err(error) => panic!("{name}: {error}"),
            }
        };
        assert!(!returns("forever"), "{name}");
        assert!((0..100).any(|_| returns("once")), "{name}");
    });
}

#[test]
fn exports_are_found_by_name_and_type() {
    each(&component(GUEST), &Config::default(), |name, module| {
        match module.export("nop", Abi::Input) {
            Err(Error::NoSuchExport { candidates, .. }) => assert_eq!(candidates, ["noop"]),
            other => panic!("{name}: {other:?}"),
        }
        for (export, abi, found) in [
            ("bytes", Abi::Input, "func(list<u8>)"),
            ("noop", Abi::Bytes, "func()"),
            ("noop", Abi::Codec, "func()"),
            ("pair", Abi::Bytes, "func(record)"),
            ("noop", Abi::Substrate, "func()"),
        ] {
            let error = module.export(export, abi).unwrap_err();
            assert!(matches!(error, Error::WrongSignature { .. }), "{name}: {error}");
            assert!(error.to_string().contains(found), "{name}: {error}");
        }
    });
}

#[test]
fn four_threads_call_at_once() {
    each(&component(GUEST), &Config::default(), |name, module| {
        let module = &*module;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut instance = module.new_instance().unwrap();
                    for _ in 0..20 {
                        for export in ["once", "change", "grow"] {
                            let outcome = call(&mut *instance, module, export, Abi::Input, b"");
                            assert_eq!(outcome, Outcome::Returned, "{name}: {export}");
                        }
                        let outcome = call(&mut *instance, module, "take", Abi::Input, b"hello");
                        assert_eq!(outcome, Outcome::Returned, "{name}");
                    }
                });
            }
        });
    });
}

#[test]
fn memories_are_mapped_as_the_strategy_says() {
    each(&component(GUEST), &Config::default(), |name, module| {
        module.probe().unwrap();
        let effective = module.effective();
        let memory = effective.get("memory").unwrap();
        let is_image = memory.starts_with("copy-on-write");
        assert!(is_image || memory.starts_with("anonymous"), "{name}: {memory}");
        let strategy: Strategy = name.split(' ').next_back().unwrap().parse().unwrap();
        assert_eq!(is_image, strategy.memory != MemoryFrom::Segments, "{name}: {memory}");
    });
}

#[test]
fn what_cannot_be_done_is_refused_with_a_reason() {
    let guest = component(GUEST);
    for engine in touchstone_wasmtime::engines() {
        for strategy in Strategy::all() {
            let Support::Unsupported { reason } = engine.support_for(strategy, &guest) else {
                continue;
            };
            assert!(!reason.is_empty(), "{} {strategy}", engine.id());
            let Ok(artifact) = engine.compile(&guest, strategy, &Config::default()) else {
                continue;
            };
            let loaded = engine.load(&guest, &artifact, strategy, &Config::default());
            assert!(matches!(loaded, Err(Error::Unsupported { .. })), "{} {strategy}", engine.id());
        }
    }
    let starts = component(
        r#"(component
            (core module $m (memory 1) (data (i32.const 0) "x") (func $f) (start $f))
            (core instance (instantiate $m)))"#,
    );
    let engine = &touchstone_wasmtime::engines()[0];
    for memory in MemoryFrom::ALL.into_iter().filter(|memory| memory.restores_in_place()) {
        let strategy = Strategy::new(touchstone_executor::InstanceFrom::Recreate, memory);
        match engine.support_for(strategy, &starts) {
            Support::Unsupported { reason } => assert!(reason.contains("start function")),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn heap_pages_of_a_component_cannot_be_changed() {
    let bytes = wat::parse_str(GUEST).unwrap();
    for heap in [
        HeapPages { extra: 1, growth: Growth::AsDeclared },
        HeapPages { extra: 0, growth: Growth::Fixed },
    ] {
        let error = GuestModule::new("component", &bytes, heap).unwrap_err();
        assert!(matches!(error, guest::Error::Unhostable { .. }), "{error}");
    }
}

/// Two instances of one module and one of another: each memory is its own.
#[test]
fn each_core_instance_has_a_memory_of_its_own() {
    let guest = component(
        r#"(component
            (core module $a
                (memory 1)
                (data (i32.const 0) "aaaa")
                (func (export "check")
                    (if (i32.ne (i32.load (i32.const 0)) (i32.const 0x61616161)) (then unreachable))
                    (if (i32.ne (memory.grow (i32.const 1)) (i32.const 1)) (then unreachable))
                    (i32.store (i32.const 0) (i32.const 1))))
            (core module $b
                (memory 1)
                (data (i32.const 2) "bbbb")
                (func (export "check")
                    (if (i32.ne (i32.load (i32.const 2)) (i32.const 0x62626262)) (then unreachable))
                    (if (i32.load16_u (i32.const 0)) (then unreachable))
                    (i32.store (i32.const 0) (i32.const -1))))
            (core instance $first (instantiate $a))
            (core instance $other (instantiate $b))
            (core instance $second (instantiate $a))
            (core module $all
                (import "a" "check" (func $a))
                (import "b" "check" (func $b))
                (import "c" "check" (func $c))
                (func (export "all") (call $a) (call $b) (call $c)))
            (core instance $all (instantiate $all
                (with "a" (instance $first))
                (with "b" (instance $other))
                (with "c" (instance $second))))
            (func (export "all") (canon lift (core func $all "all"))))"#,
    );
    each(&guest, &Config::default(), |name, module| {
        let mut instance = module.new_instance().unwrap();
        for _ in 0..5 {
            let outcome = call(&mut *instance, module, "all", Abi::Input, b"");
            assert_eq!(outcome, Outcome::Returned, "{name}");
        }
    });
}
