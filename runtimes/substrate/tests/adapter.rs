//! Refusals and host functions of this engine, and limits that the executor takes from the module:
//! the behaviours of all engines do not show them.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{Growth, GuestModule, HeapPages};
use touchstone_executor::{
    Abi, CallOptions, Config, Context, Error, Functions, HostCall, Imports, InterruptHandle,
    Limits, Module, Outcome, Result, Strategy, Support, TrapKind,
};

/// Everything that the executor asks of a module, around what a test is about.
fn guest(inside: &str, heap: HeapPages) -> GuestModule {
    let text = format!(
        r#"(module {inside}
             (global (export "__heap_base") i32 (i32.const 1024))
             (func (export "empty") (param i32 i32) (result i64) (i64.const 0)))"#
    );
    GuestModule::new("guest", &wat::parse_str(text).unwrap(), heap).unwrap()
}

fn engine() -> Box<dyn MeasuredEngine> {
    touchstone_substrate::engines().remove(0)
}

fn supported() -> Vec<Strategy> {
    Strategy::all()
        .into_iter()
        .filter(|strategy| engine().support(*strategy).is_supported())
        .collect()
}

fn load(guest: &GuestModule, strategy: Strategy, config: &Config) -> Result<Box<dyn Module>> {
    let artifact = engine().compile(guest, strategy, config)?;
    artifact.stage(strategy)?;
    let mut module = engine().load(guest, &artifact, strategy, config)?;
    module.probe()?;
    Ok(module)
}

fn call(module: &dyn Module, export: &str, input: &[u8]) -> (Outcome, Vec<u8>) {
    let export = module.export(export, Abi::Substrate).unwrap();
    let mut output = b"left over".to_vec();
    let outcome = module.new_instance().unwrap().call(export, input, &mut output).unwrap();
    (outcome, output)
}

#[test]
fn it_has_its_four_strategies_from_both_kinds_of_code() {
    let names: Vec<_> = supported().iter().map(ToString::to_string).collect();
    assert_eq!(
        names,
        [
            "recreate_instance",
            "recreate_instance_precompiled",
            "recreate_instance_cow",
            "recreate_instance_cow_precompiled",
            "pooling",
            "pooling_precompiled",
            "pooling_cow",
            "pooling_cow_precompiled",
        ]
    );
}

#[test]
fn memories_are_seen_to_be_what_the_name_says() {
    let guest = guest("(memory 1)", HeapPages::default());
    for strategy in supported() {
        let module = load(&guest, strategy, &Config::default()).unwrap();
        let name = strategy.to_string();
        let expected = match (name.contains("_cow"), name.contains("_precompiled")) {
            (false, _) => "anonymous",
            (true, false) => "copy-on-write image of a file in memory",
            (true, true) => "copy-on-write image of the precompiled file",
        };
        let effective = module.effective();
        let memory = effective.get("memory").unwrap();
        assert!(memory.starts_with(expected), "{strategy}: {memory}");
    }
}

#[test]
fn what_it_cannot_run_is_refused_with_the_reason() {
    let memory = "(memory 1)";
    for (module, reason) in [
        (r#"(module (memory 1) (func (export "plain")))"#.to_owned(), "no export has the type"),
        (
            format!(
                r#"(module {memory} (func (export "f") (param i32 i32) (result i64) (i64.const 0)))"#
            ),
            "__heap_base",
        ),
        (
            r#"(module (global (export "__heap_base") i32 (i32.const -1)) (memory 1)
                 (func (export "f") (param i32 i32) (result i64) (i64.const 0)))"#
                .to_owned(),
            "__heap_base",
        ),
        (
            r#"(module (global (export "__heap_base") i32 (i32.const 8))
                 (func (export "f") (param i32 i32) (result i64) (i64.const 0)))"#
                .to_owned(),
            "no memory",
        ),
    ] {
        let guest =
            GuestModule::new("guest", &wat::parse_str(module).unwrap(), HeapPages::default());
        refused(&guest.unwrap(), reason);
    }
    for (imports, reason) in [
        (r#"(import "other" "f" (func))"#, "other.f"),
        (r#"(import "env" "ext_allocator_malloc_version_1" (func))"#, "another type"),
        (
            r#"(import "env" "ext_allocator_malloc_version_1" (func $take (param i32) (result i32)))
               (func $start (drop (call $take (i32.const 8)))) (start $start)"#,
            "start function",
        ),
    ] {
        refused(&guest(&format!("{imports} {memory}"), HeapPages::default()), reason);
    }
    let newer = "(memory 1) (func (result i32 i32) (i32.const 0) (i32.const 0))";
    refused(&guest(newer, HeapPages::default()), "multi_value");
}

fn refused(guest: &GuestModule, expected: &str) {
    for strategy in supported() {
        let Support::Unsupported { reason } = engine().support_for(strategy, guest) else {
            panic!("{strategy} is not refused: {expected}");
        };
        assert!(reason.contains(expected), "{reason}");
        let loaded = load(guest, strategy, &Config::default()).map(|_| ());
        assert!(matches!(loaded, Err(Error::Unsupported { .. } | Error::Runtime { .. })));
    }
}

#[test]
fn other_conventions_and_deadlines_are_refused() {
    let guest = guest(r#"(memory 1) (func (export "plain"))"#, HeapPages::default());
    for strategy in supported() {
        let module = load(&guest, strategy, &Config::default()).unwrap();
        for abi in [Abi::Plain, Abi::Input] {
            let refused = module.export("plain", abi);
            assert!(matches!(refused, Err(Error::ExportUnsupported { .. })), "{refused:?}");
        }
        let deadline = Some(Duration::from_millis(60));
        let refused = load(&guest, strategy, &Config { deadline, ..Config::default() });
        assert!(matches!(refused.map(|_| ()), Err(Error::Unsupported { .. })));
    }
}

#[test]
fn misuse_is_named() {
    let guest = guest(r#"(memory 1) (func (export "plain"))"#, HeapPages::default());
    let module = load(&guest, supported()[0], &Config::default()).unwrap();
    let empty = module.export("empty", Abi::Substrate).unwrap();
    let mut instance = module.new_instance().unwrap();
    let output = &mut Vec::new();
    let mut invoke = |prepare: bool, export| {
        if prepare {
            instance.prepare().unwrap();
        }
        let result = instance.invoke(export, b"", output, None);
        instance.finish().unwrap();
        assert!(instance.memory().is_none());
        result
    };
    assert_eq!(invoke(true, empty).unwrap(), Outcome::Returned);
    let other = load(&guest, supported()[0], &Config::default()).unwrap();
    for (prepare, export) in
        [(false, empty), (true, other.export("empty", Abi::Substrate).unwrap())]
    {
        assert!(matches!(invoke(prepare, export), Err(Error::Misuse(_))));
    }
}

#[test]
fn a_declared_maximum_holds_for_the_guest_and_for_the_allocator() {
    let inside = r#"
        (import "env" "ext_allocator_malloc_version_1" (func $take (param i32) (result i32)))
        (memory (export "memory") 1 7)
        (func (export "grow") (param i32 i32) (result i64)
          (loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
          (i64.store (i32.const 0) (i64.extend_i32_u (memory.size)))
          (i64.const 0x800000000))
        (func (export "take") (param i32 i32) (result i64)
          (loop $more (drop (call $take (i32.const 60000))) (br $more)) (i64.const 0))"#;
    for (growth, most) in [(Growth::AsDeclared, 7_u64), (Growth::UpTo(5), 5), (Growth::Fixed, 3)] {
        let guest = guest(inside, HeapPages { extra: 2, growth });
        for strategy in supported() {
            let module = load(&guest, strategy, &Config::default()).unwrap();
            for _ in 0..2 {
                let expected = (Outcome::Returned, most.to_le_bytes().to_vec());
                assert_eq!(call(&*module, "grow", b""), expected, "{strategy}");
                let (outcome, _) = call(&*module, "take", b"");
                match outcome.trap().map(|trap| &trap.kind) {
                    Some(TrapKind::HostFunction { name, reason }) => {
                        assert_eq!(name, "ext_allocator_malloc_version_1");
                        assert!(!reason.is_empty());
                    }
                    other => panic!("{strategy}: {other:?}"),
                }
            }
        }
    }
}

#[test]
fn log_lines_arrive_from_the_module_that_logs() {
    let inside = r#"
        (import "env" "ext_logging_log_version_1" (func $log (param i32 i64 i64)))
        (import "env" "ext_logging_max_level_version_1" (func $level (result i32)))
        (memory (export "memory") 1) (data (i32.const 8) "targetmessage")
        (func (export "log") (param i32 i32) (result i64)
          (call $log (i32.const 2) (i64.const 0x600000008) (i64.const 0x70000000e))
          (call $log (i32.const 3) (i64.const -1) (i64.const -1))
          (i64.store (i32.const 64) (i64.extend_i32_u (call $level)))
          (i64.const 0x800000040))
        (func (export "far") (param i32 i32) (result i64)
          (call $log (i32.const 0) (i64.const 0x60000ffff) (i64.const 0)) (i64.const 0))"#;
    let guest = guest(inside, HeapPages::default());
    let lines = Arc::new(Mutex::new(Vec::new()));
    for strategy in supported() {
        let silent: Arc<dyn Module> = load(&guest, strategy, &Config::default()).unwrap().into();
        let (sink, other) = (Arc::clone(&lines), Arc::clone(&silent));
        let config = Config {
            max_log_level: 3,
            log: Some(Arc::new(move |level, target, message| {
                // A call within the call: it is another module's, and silent.
                assert_eq!(call(&*other, "log", b"").1, [0; 8]);
                sink.lock().unwrap().push(format!("{level} {target} {message}"));
            })),
            ..Config::default()
        };
        let module = load(&guest, strategy, &config).unwrap();
        assert_eq!(call(&*module, "log", b"").1, [3, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(std::mem::take(&mut *lines.lock().unwrap()), ["2 target message"]);
        let (outcome, _) = call(&*module, "far", b"");
        let kind = outcome.trap().map(|trap| &trap.kind);
        assert!(matches!(kind, Some(TrapKind::HostFunction { .. })), "{outcome:?}");
        assert_eq!(call(&*silent, "far", b"").0, Outcome::Returned);
    }
}

#[test]
fn functions_of_the_host_that_it_does_not_have_are_refused_by_name() {
    let guest = guest(
        r#"(import "env" "own" (func $own))
           (import "env" "ext_logging_max_level_version_1" (func $level (result i32)))
           (memory 1)
           (func (export "own") (param i32 i32) (result i64) (call $own) (i64.const 0))
           (func (export "level") (param i32 i32) (result i64) (i64.extend_i32_u (call $level)))"#,
        HeapPages::default(),
    );
    let trapping = || Config { imports: Imports::Trap, ..Config::default() };
    let mut own = Functions::standard();
    own.wrap("env", "own", |_: &mut HostCall<'_>| Ok(()));
    let mut other = Functions::standard();
    let level = "ext_logging_max_level_version_1";
    other.wrap("env", level, |_: &mut HostCall<'_>| Ok(5));
    for strategy in supported() {
        let refused = |config: Config| load(&guest, strategy, &config).map(drop).unwrap_err();
        let error = refused(Config::default());
        assert!(matches!(&error, Error::MissingImports { imports } if imports.len() == 1));
        assert!(error.to_string().contains("env.own () -> ()"), "{error}");
        for (config, name) in [
            (Config { functions: own.clone(), ..Config::default() }, "env.own"),
            (Config { imports: Imports::Zero, ..Config::default() }, "env.own"),
            (Config { functions: other.clone(), ..trapping() }, level),
            (Config { functions: Functions::none(), ..trapping() }, level),
        ] {
            let error = refused(config);
            assert!(matches!(error, Error::Unsupported { .. }), "{error}");
            assert!(error.to_string().contains(name), "{error}");
        }
        let module = load(&guest, strategy, &trapping()).unwrap();
        let (module_name, name) = ("env".to_owned(), "own".to_owned());
        let missing = TrapKind::MissingImport { module: module_name, name };
        assert_eq!(call(&*module, "own", b"").0, Outcome::Trapped(missing.into()));
        assert_eq!(call(&*module, "level", b"").0, Outcome::Returned);
    }
}

#[test]
fn calls_have_no_limits() {
    let guest = guest("(memory 1)", HeapPages::default());
    let module = load(&guest, supported()[0], &Config::default()).unwrap();
    let empty = module.export("empty", Abi::Substrate).unwrap();
    let mut instance = module.new_instance().unwrap();
    let limited = |limits| CallOptions { limits, ..CallOptions::default() };
    let none = Limits::default();
    for options in [
        limited(Limits { deadline: Some(Duration::MAX), ..none }),
        limited(Limits { fuel: Some(1), ..none }),
        limited(Limits { pages: Some(1), ..none }),
        limited(Limits { table_entries: Some(1), ..none }),
        CallOptions { interrupt: Some(InterruptHandle::new()), ..CallOptions::default() },
    ] {
        instance.prepare().unwrap();
        let refused = instance.invoke(empty, b"", &mut Vec::new(), Some(options));
        assert!(matches!(refused, Err(Error::LimitUnsupported { .. })), "{refused:?}");
        instance.finish().unwrap();
    }
    instance.prepare().unwrap();
    let mut value = 0_u32;
    let context = Some(Context::new(&mut value));
    let options = CallOptions { context, ..CallOptions::default() };
    let outcome = instance.invoke(empty, b"", &mut Vec::new(), Some(options)).unwrap();
    assert_eq!(outcome, Outcome::Returned);
}
