//! What is particular to this backend: threads with small stacks, host functions
//! that panic, and growth that is closed again.

use std::sync::Arc;
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Config, Engine, Module, Outcome, Strategy, TrapKind};

/// Calls a test with every engine under every strategy that it supports.
fn everywhere(text: &str, config: &Config, test: impl Fn(&str, &dyn Module)) {
    let bytes = wat::parse_str(text).unwrap();
    let guest = GuestModule::new("guest", &bytes, HeapPages::default()).unwrap();
    for engine in touchstone_wasm3::engines() {
        for strategy in Strategy::all() {
            if engine.support_for(strategy, &guest).is_supported() {
                let module = load(&*engine, &guest, strategy, config);
                test(&format!("{} {strategy}", engine.id()), &*module);
            }
        }
    }
}

fn load(
    engine: &dyn Engine,
    guest: &GuestModule,
    strategy: Strategy,
    config: &Config,
) -> Box<dyn Module> {
    let artifact = engine.compile(guest, strategy, config).unwrap();
    engine.load(guest, &artifact, strategy, config).unwrap()
}

/// An instance that moves from thread to thread finds the stack of each.
#[test]
fn endless_recursion_ends_on_stacks_of_all_sizes() {
    let text = r#"(module
      (func $deep (export "deep") (param i64) (result i64)
        (i64.add (i64.const 1) (call $deep (i64.add (local.get 0) (i64.const 1)))))
      (func (export "fine") (param i64) (result i64) (local.get 0)))"#;
    everywhere(text, &Config::default(), |name, module| {
        let deep = module.export("deep", Abi::Plain).unwrap();
        let fine = module.export("fine", Abi::Plain).unwrap();
        let mut instance = module.new_instance().unwrap();
        for size in [8 << 20, 1 << 20, 2 << 20] {
            instance = std::thread::scope(|scope| {
                let thread = std::thread::Builder::new().stack_size(size);
                let work = move || {
                    let output = &mut Vec::new();
                    let outcome = instance.call(deep, &[0; 8], output).unwrap();
                    (outcome, instance.call(fine, &[7; 8], output).unwrap(), instance)
                };
                let (deep, fine, instance) =
                    thread.spawn_scoped(scope, work).unwrap().join().unwrap();
                assert_eq!(deep, Outcome::Trapped(TrapKind::StackOverflow.into()), "{name} {size}");
                assert_eq!(fine, Outcome::Returned, "{name} {size}");
                instance
            });
        }
    });
}

/// A panic of the host must not unwind through Wasm3's frames.
#[test]
fn a_panic_in_a_host_function_is_a_trap() {
    let text = r#"(module
      (import "env" "ext_logging_log_version_1" (func $log (param i32 i64 i64)))
      (memory 1)
      (func (export "log") (call $log (i32.const 0) (i64.const 0) (i64.const 0)))
      (func (export "fine")))"#;
    let config = Config {
        max_log_level: 5,
        log: Some(Arc::new(|_, _, _| panic!("expected by the test"))),
        ..Config::default()
    };
    everywhere(text, &config, |name, module| {
        let log = module.export("log", Abi::Plain).unwrap();
        let fine = module.export("fine", Abi::Plain).unwrap();
        let mut instance = module.new_instance().unwrap();
        for _ in 0..2 {
            let outcome = instance.call(log, b"", &mut Vec::new()).unwrap();
            let trap = outcome.trap().unwrap();
            assert_eq!(trap.kind, TrapKind::Other, "{name}");
            assert!(trap.detail.contains("panicked"), "{name}: {trap}");
            assert_eq!(instance.call(fine, b"", &mut Vec::new()).unwrap(), Outcome::Returned);
        }
    });
}

/// Grown pages are gone for the next call, also for an access that Wasm3 checks
/// against a length of its own.
#[test]
fn grown_pages_are_out_of_bounds_again() {
    let text = r#"(module (memory 1 100)
      (func (export "grow") (param i32) (result i32)
        (drop (memory.grow (local.get 0)))
        (i32.store (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 4)) (i32.const -1))
        (memory.size))
      (func (export "look") (result i32) (i32.load (i32.const 65536))))"#;
    everywhere(text, &Config::default(), |name, module| {
        let grow = module.export("grow", Abi::Plain).unwrap();
        let look = module.export("look", Abi::Plain).unwrap();
        let mut instance = module.new_instance().unwrap();
        let output = &mut Vec::new();
        for pages in [0_u32, 1, 7, 99, 100, u32::MAX, 3] {
            let outcome = instance.call(grow, &pages.to_le_bytes(), output).unwrap();
            assert_eq!(outcome, Outcome::Returned, "{name}");
            let expected = if pages <= 99 { 1 + pages } else { 1 };
            assert_eq!(*output, expected.to_le_bytes(), "{name}: grow by {pages}");
            let outcome = instance.call(look, b"", output).unwrap();
            assert_eq!(outcome, Outcome::Trapped(TrapKind::MemoryOutOfBounds.into()), "{name}");
        }
    });
}

/// Two imports of one name with two types, which Wasm3 would take for one.
#[test]
fn imports_are_told_apart_by_position() {
    let text = r#"(module
      (import "env" "input_len" (func $length (result i64)))
      (import "env" "input_len" (func $other (param i32) (result i64)))
      (func (export "length") (drop (call $length)))
      (func (export "other") (drop (call $other (i32.const 1)))))"#;
    everywhere(text, &Config::default(), |name, module| {
        let mut instance = module.new_instance().unwrap();
        let mut call = |export| {
            let export = module.export(export, Abi::Plain).unwrap();
            instance.call(export, b"", &mut Vec::new()).unwrap()
        };
        assert_eq!(call("length"), Outcome::Returned, "{name}");
        let kind =
            TrapKind::MissingImport { module: "env".to_owned(), name: "input_len".to_owned() };
        assert_eq!(call("other"), Outcome::Trapped(kind.into()), "{name}");
    });
}
