//! Modules for which Wasmtime needs its collector: run on clean instances, and refused by name
//! where nothing would restore its heap.

use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{
    Abi, Config, InstanceFrom, Outcome, Result, Strategy, Support, TrapKind,
};

const EXCEPTIONS: &str = r#"(module (tag $e (param i32)) (memory 1) (data (i32.const 0) "\29")
    (func $throw (param i32) (throw $e (local.get 0)))
    (func (export "f") (result i32)
      (i32.store8 (i32.const 0) (i32.add (i32.load8_u (i32.const 0)) (i32.const 1)))
      (block $caught (result i32)
        (try_table (catch $e $caught) (call $throw (i32.load8_u (i32.const 0))))
        (i32.const 0)))
    (func (export "uncaught") (call $throw (i32.const 7))))"#;

const OBJECTS: &str = r#"(module (type $s (struct (field (mut i32)))) (memory 1)
    (data (i32.const 0) "\29") (global $kept (mut (ref $s)) (struct.new $s (i32.const 41)))
    (func (export "f") (result i32)
      (global.set $kept (struct.new $s
        (i32.add (struct.get $s 0 (global.get $kept)) (i32.const 1))))
      (struct.get $s 0 (global.get $kept))))"#;

/// Without an object of the host, only null can be in it.
const HOST_TABLE: &str = r#"(module (table $t 2 10 externref)
    (func (export "f") (result i32)
      (drop (table.grow $t (ref.null extern) (i32.const 40))) (table.set $t (i32.const 1)
        (ref.null extern)) (drop (table.grow $t (ref.null extern) (i32.const 4)))
      (i32.add (i32.const 36) (table.size $t))))"#;

/// A table of functions, the type of which is known, is restored like any other one; only a
/// written one may have entries that cannot be null.
const FUNCTIONS: &str = r#"(module (type $t (func (result i32))) (table $t 1 (ref null $t))
    (elem (table $t) (i32.const 0) (ref null $t) (ref.func $answer))
    (global $count (mut i32) (i32.const 41))
    (func $answer (type $t) (global.set $count (i32.add (global.get $count) (i32.const 1)))
      (global.get $count))
    (func (export "f") (result i32) (call_ref $t (table.get $t (i32.const 0)))))"#;

fn guest(text: &str) -> GuestModule {
    GuestModule::new("guest", &wat::parse_str(text).unwrap(), HeapPages::default()).unwrap()
}

/// Three calls of an export in a row, each on a clean instance.
fn calls(
    engine: &dyn MeasuredEngine,
    guest: &GuestModule,
    strategy: Strategy,
    export: &str,
) -> Result<Vec<(Outcome, Vec<u8>)>> {
    let config = Config { instances: 2, ..Config::default() };
    let artifact = engine.compile(guest, strategy, &config)?;
    let mut module = engine.load(guest, &artifact, strategy, &config)?;
    module.probe()?;
    let export = module.export(export, Abi::Plain)?;
    let mut instance = module.new_instance()?;
    (0..3)
        .map(|_| {
            let mut output = Vec::new();
            instance.call(export, &[], &mut output).map(|outcome| (outcome, output))
        })
        .collect()
}

/// Calls the export under every strategy; returns the strategies that are supported.
fn everywhere(text: &str, refusal: &str) -> Vec<Strategy> {
    let guest = guest(text);
    let engines = touchstone_wasmtime::engines();
    let mut supported = Vec::new();
    for engine in
        engines.iter().filter(|engine| ["wasmtime", "wasmtime_pulley"].contains(&engine.id()))
    {
        for strategy in Strategy::all() {
            if !engine.support(strategy).is_supported() {
                continue;
            }
            let name = format!("{} {strategy}", engine.id());
            match engine.support_for(strategy, &guest) {
                Support::Unsupported { reason } => {
                    assert!(reason.contains(refusal), "{name}: {reason}")
                }
                _ => {
                    let all = calls(&**engine, &guest, strategy, "f").unwrap();
                    let answer = (Outcome::Returned, 42_i32.to_le_bytes().to_vec());
                    assert_eq!(all, vec![answer; 3], "{name}");
                    supported.push(strategy);
                }
            }
        }
    }
    supported
}

#[test]
fn new_instances_run_them_and_the_heap_is_never_restored_in_place() {
    for (text, feature) in
        [(EXCEPTIONS, "exceptions"), (OBJECTS, "garbage"), (HOST_TABLE, "externref")]
    {
        let supported = everywhere(text, feature);
        for name in ["recreate_instance", "recreate_instance_cow", "pooling", "pooling_cow"] {
            assert!(supported.contains(&name.parse().unwrap()), "{feature}: {name}");
        }
        let is_in_place =
            |way: &Strategy| way.instance == InstanceFrom::Reuse || way.memory.restores_in_place();
        let kept: Vec<_> = supported
            .iter()
            .filter(|way| is_in_place(way) && way.instance != InstanceFrom::Pooling)
            .collect();
        assert!(kept.is_empty(), "{feature}: {kept:?}");
    }
}

/// A table that never holds null, and one that grows beside it.
const FILLED: &str = r#"(module (type $t (func (result i32)))
    (func $answer (type $t) (i32.const 42)) (elem declare func $answer)
    (table $filled 1 (ref $t) (ref.func $answer)) (table $other 1 funcref)
    (func (export "f") (result i32)
      (drop (table.grow $other (ref.null func) (i32.const 1)))
      (call_indirect $filled (type $t) (i32.const 0))))"#;

#[test]
fn tables_keep_what_fills_them() {
    let supported = everywhere(FILLED, "");
    assert!(supported.contains(&"recreate_instance".parse().unwrap()), "{supported:?}");
}

#[test]
fn functions_are_no_objects_of_the_heap() {
    let supported = everywhere(FUNCTIONS, "no refusal");
    assert!(supported.contains(&"instance_reuse_cow".parse().unwrap()), "{supported:?}");
    assert!(supported.contains(&"recreate_instance_tracked".parse().unwrap()), "{supported:?}");
}

#[test]
fn an_exception_that_nobody_catches_is_a_trap_of_the_guest() {
    let (guest, engines) = (guest(EXCEPTIONS), touchstone_wasmtime::engines());
    let strategy = "pooling_cow".parse().unwrap();
    let all = calls(&*engines[0], &guest, strategy, "uncaught").unwrap();
    for (outcome, _) in all {
        let trap = outcome.trap().unwrap();
        assert_eq!(trap.kind, TrapKind::Other);
        assert_eq!(trap.to_string(), "uncaught exception");
    }
}

#[test]
fn the_other_engines_refuse_them_by_name() {
    let engines = touchstone_wasmtime::engines();
    for engine in engines.iter().filter(|engine| ["wasmtime_winch"].contains(&engine.id())) {
        for (text, feature) in [(EXCEPTIONS, "exceptions"), (OBJECTS, "garbage")] {
            match engine.support_for("recreate_instance".parse().unwrap(), &guest(text)) {
                Support::Unsupported { reason } => assert!(reason.contains(feature), "{reason}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
