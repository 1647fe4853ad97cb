//! New instances that follow each other in one store: what one did, the next cannot tell.

#[path = "../../../tests/fixtures/time.rs"]
mod time;

use std::time::Duration;
use time::with_longer_limits;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{
    Abi, Config, Error, Instance, MemoryFrom, Module, Outcome, Strategy, TrapKind,
};

/// `change` traps unless everything is as at first, and then changes everything. `beyond`
/// reads where only a guard lies, `grow` moves the memory, `forever` does not end.
const GUEST: &str = r#"(module
    (memory (export "memory") 2 40)
    (data (i32.const 16) "hello")
    (data $passive "passive")
    (global $hidden (mut i32) (i32.const 7))
    (table $table 4 8 funcref)
    (elem (table $table) (i32.const 0) func $one $two)
    (elem $late func $two)
    (type $number (func (result i32)))
    (func $one (result i32) (i32.const 1))
    (func $two (result i32) (i32.const 2))
    (func (export "change")
        (if (i32.ne (memory.size) (i32.const 2)) (then unreachable))
        (if (i32.ne (i32.load8_u (i32.const 16)) (i32.const 104)) (then unreachable))
        (if (i32.load (i32.const 100000)) (then unreachable))
        (if (i32.ne (global.get $hidden) (i32.const 7)) (then unreachable))
        (if (i32.ne (call_indirect $table (type $number) (i32.const 0)) (i32.const 1))
            (then unreachable))
        (memory.init $passive (i32.const 200) (i32.const 0) (i32.const 7))
        (data.drop $passive)
        (table.init $table $late (i32.const 0) (i32.const 0) (i32.const 1))
        (elem.drop $late)
        (global.set $hidden (i32.const 8))
        (i32.store8 (i32.const 16) (i32.const 0))
        (i32.store (i32.const 100000) (i32.const 1)))
    (func (export "grow")
        (if (i32.ne (memory.grow (i32.const 5)) (i32.const 2)) (then unreachable))
        (if (i32.load (i32.const 450000)) (then unreachable))
        (i32.store (i32.const 450000) (i32.const 1))
        (i32.store (i32.const 100000) (i32.const 1)))
    (func (export "beyond") (drop (i32.load (i32.const 131072))))
    (func (export "far") (drop (i32.load offset=4294967295 (i32.const -1))))
    (func (export "null") (drop (call_indirect $table (type $number) (i32.const 3))))
    (func (export "recurse") (call 7))
    (func (export "forever") (loop (br 0))))"#;

type Loaded = Result<Box<dyn Module>, Error>;

/// The module on every executor whose instances follow each other in one store, or the error.
fn loaded(text: &str, deadline: Option<Duration>) -> Vec<(String, Loaded)> {
    let guest = GuestModule::new("guest", &wat::parse_str(text).unwrap(), HeapPages::default());
    let (guest, config) = (guest.unwrap(), Config { deadline, ..Config::default() });
    let mut modules = Vec::new();
    for engine in touchstone_wasmtime::engines() {
        for memory in MemoryFrom::ALL.into_iter().filter(|memory| memory.restores_in_place()) {
            let strategy = Strategy::new(touchstone_executor::InstanceFrom::Recreate, memory);
            if engine.support_for(strategy, &guest).is_supported() {
                modules.push((
                    format!("{} {strategy}", engine.id()),
                    load(&*engine, &guest, strategy, &config),
                ));
            }
        }
    }
    assert!(modules.len() >= 2);
    modules
}

fn modules(text: &str, deadline: Option<Duration>) -> Vec<(String, Box<dyn Module>)> {
    loaded(text, deadline).into_iter().map(|(name, module)| (name, module.unwrap())).collect()
}

fn load(
    engine: &dyn MeasuredEngine,
    guest: &GuestModule,
    strategy: Strategy,
    config: &Config,
) -> Loaded {
    let artifact = engine.compile(guest, strategy, config)?;
    engine.load(guest, &artifact, strategy, config)
}

fn call(module: &dyn Module, instance: &mut dyn Instance, name: &str) -> Option<TrapKind> {
    let export = module.export(name, Abi::Plain).unwrap();
    match instance.call(export, &[], &mut Vec::new()) {
        Ok(Outcome::Returned) => None,
        // A deadline counts from the instantiation on.
        Ok(Outcome::Trapped(trap)) | Err(Error::Instantiation { trap }) => Some(trap.kind.clone()),
        Err(error) => panic!("{name}: {error}"),
    }
}

#[test]
fn each_instance_is_as_at_first_whatever_the_ones_before_it_did() {
    for (name, module) in modules(GUEST, None) {
        let mut instance = module.new_instance().unwrap();
        // Longer than a store serves, with each of the others at each place in it.
        for round in 0..120 {
            assert_eq!(call(&*module, &mut *instance, "change"), None, "{name}, round {round}");
            match round % 11 {
                2 => assert_eq!(call(&*module, &mut *instance, "grow"), None, "{name}"),
                3 | 7 => {
                    let kind = call(&*module, &mut *instance, "beyond");
                    assert_eq!(kind, Some(TrapKind::MemoryOutOfBounds), "{name}");
                }
                4 => {
                    let kind = call(&*module, &mut *instance, "far");
                    assert_eq!(kind, Some(TrapKind::MemoryOutOfBounds), "{name}");
                }
                5 => assert!(call(&*module, &mut *instance, "null").is_some(), "{name}"),
                9 => {
                    let kind = call(&*module, &mut *instance, "recurse");
                    assert_eq!(kind, Some(TrapKind::StackOverflow), "{name}");
                }
                10 => instance.trim().unwrap(),
                _ => {}
            }
        }
    }
}

#[test]
fn a_store_moves_from_thread_to_thread_with_its_instance() {
    for (name, module) in modules(GUEST, None) {
        let mut instance = module.new_instance().unwrap();
        for _ in 0..12 {
            for export in ["change", "grow", "change"] {
                assert_eq!(call(&*module, &mut *instance, export), None, "{name}");
            }
            let thread = std::thread::scope(|scope| {
                let thread = scope.spawn(|| {
                    let ended = call(&*module, &mut *instance, "change");
                    (ended, call(&*module, &mut *instance, "beyond"))
                });
                thread.join().unwrap()
            });
            assert_eq!(thread, (None, Some(TrapKind::MemoryOutOfBounds)), "{name}");
        }
    }
}

#[test]
fn every_instance_in_a_store_has_the_whole_deadline() {
    with_longer_limits(0.02, |deadline| {
        modules(GUEST, Some(deadline)).iter().try_for_each(|(name, module)| {
            let mut instance = module.new_instance().unwrap();
            for _ in 0..3 {
                for _ in 0..5 {
                    // On a busy machine a short deadline may pass in a short call.
                    match call(&**module, &mut *instance, "change") {
                        Some(TrapKind::DeadlineExceeded) => return None,
                        ended => assert_eq!(ended, None, "{name}"),
                    }
                }
                let kind = call(&**module, &mut *instance, "forever");
                assert_eq!(kind, Some(TrapKind::DeadlineExceeded), "{name}");
            }
            Some(())
        })
    });
}

/// No instance of it is ever made beside others in a store.
#[test]
fn a_module_whose_elements_do_not_fit_traps_when_it_is_loaded() {
    let text = r#"(module
        (memory (export "memory") 1)
        (table 1 funcref)
        (func $f)
        (elem (i32.const 1) $f)
        (func (export "noop")))"#;
    for (name, module) in loaded(text, None) {
        assert!(matches!(module, Err(Error::Instantiation { .. })), "{name}");
    }
}

#[test]
fn guests_that_grow_tables_or_are_large_have_a_store_each() {
    let instances = |text: &str| {
        modules(text, None)[0].1.effective().get("instances").map(str::to_owned).unwrap()
    };
    let small = r#"(module (memory (export "memory") 1) (func (export "noop")))"#;
    assert_eq!(instances(small), "allocated on demand, up to 8 in turn in one store");
    let large = r#"(module (memory (export "memory") 1) (table 20000 funcref))"#;
    assert_eq!(instances(large), "allocated on demand, up to 4 in turn in one store");
    let huge = r#"(module (memory (export "memory") 1) (table 200000 funcref))"#;
    assert_eq!(instances(huge), "allocated on demand");
    let growing = r#"(module (memory (export "memory") 1) (table 1 funcref)
        (func (export "grow") (drop (table.grow (ref.null func) (i32.const 9)))))"#;
    assert_eq!(instances(growing), "allocated on demand");
}
