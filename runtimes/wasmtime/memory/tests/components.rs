//! Instances of components that are reset.

use touchstone_wasmtime_memory::{Clean, Error, configure, prepare};
use wasmtime::component::{Component, Instance, Linker};
use wasmtime::{Config, Engine, Store};

/// Traps unless it finds what a new instance has; each call changes all of it.
const GUEST: &str = r#"(component
    (type $resource (resource (rep i32)))
    (core func $new (canon resource.new $resource))
    (core func $drop (canon resource.drop $resource))
    (core module $main
        (import "handle" "new" (func $new (param i32) (result i32)))
        (import "handle" "drop" (func $drop (param i32)))
        (memory 1 20) (data (i32.const 8) "data")
        (table $table 1 10 funcref)
        (global $calls (mut i32) (i32.const 5))
        (func $check
            (if (i32.ne (global.get $calls) (i32.const 5)) (then unreachable))
            (if (i32.ne (memory.size) (i32.const 1)) (then unreachable))
            (if (i32.load (i32.const 4000)) (then unreachable))
            (if (i32.ne (i32.load8_u (i32.const 8)) (i32.const 100)) (then unreachable))
            (if (i32.eqz (ref.is_null (table.get $table (i32.const 0)))) (then unreachable)))
        (func $change
            (global.set $calls (i32.const 6))
            (i32.store (i32.const 4000) (i32.const 1))
            (i32.store8 (i32.const 8) (i32.const 0))
            (drop (memory.grow (i32.const 1)))
            (i32.store (i32.const 70000) (i32.const 1))
            (table.set $table (i32.const 0) (ref.func $change)))
        (func (export "call") call $check call $change)
        (func (export "handles") (local $first i32) (local $second i32)
            call $check
            (local.set $first (call $new (i32.const 1)))
            (local.set $second (call $new (i32.const 2)))
            (if (i32.ne (local.get $first) (i32.const 1)) (then unreachable))
            (if (i32.ne (local.get $second) (i32.const 2)) (then unreachable))
            (call $drop (local.get $second)) (call $drop (local.get $first))
            ;; In this order, the next two would be numbered the other way round.
            (local.set $first (call $new (i32.const 1)))
            (local.set $second (call $new (i32.const 2)))
            (call $drop (local.get $first)) (call $drop (local.get $second))
            call $change)
        (func (export "leak") (drop (call $new (i32.const 0))))
        (func (export "grow-table") (drop (table.grow $table (ref.null func) (i32.const 1))))
        (func (export "trap") call $change unreachable)
        (elem declare func $change))
    (core instance $main (instantiate $main (with "handle" (instance
        (export "new" (func $new)) (export "drop" (func $drop))))))
    (func (export "call") (canon lift (core func $main "call")))
    (func (export "handles") (canon lift (core func $main "handles")))
    (func (export "leak") (canon lift (core func $main "leak")))
    (func (export "grow-table") (canon lift (core func $main "grow-table")))
    (func (export "trap") (canon lift (core func $main "trap"))))"#;

fn engine() -> Engine {
    let mut config = Config::new();
    configure(&mut config);
    Engine::new(&config).unwrap()
}

fn component(text: &str) -> Component {
    let wasm = prepare(&wat::parse_str(text).unwrap()).unwrap();
    Component::new(&engine(), wasm).unwrap()
}

fn instance(component: &Component) -> (Store<u32>, Instance) {
    let mut store = Store::new(component.engine(), 0);
    let instance = Linker::new(component.engine()).instantiate(&mut store, component).unwrap();
    (store, instance)
}

fn call(store: &mut Store<u32>, instance: &Instance, name: &str) -> bool {
    let function = instance.get_typed_func::<(), ()>(&mut *store, name).unwrap();
    function.call(store, ()).is_ok()
}

#[test]
fn two_hundred_calls_find_what_a_new_instance_has() {
    let component = component(GUEST);
    let (mut store, instance) = instance(&component);
    let mut clean = Clean::snapshot_component(&mut store, &instance, 4).unwrap();
    for number in 0..200 {
        *store.data_mut() = number;
        assert!(call(&mut store, &instance, ["call", "handles"][number as usize % 2]), "{number}");
        clean.reset_with(&mut store, |data| *data = 0).unwrap();
        assert_eq!(*store.data(), 0);
    }
}

#[test]
fn stores_of_threads_do_not_meet() {
    let component = component(GUEST);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let (mut store, instance) = instance(&component);
                let mut clean = Clean::snapshot_component(&mut store, &instance, 2).unwrap();
                for _ in 0..100 {
                    assert!(call(&mut store, &instance, "handles"));
                    clean.reset(&mut store).unwrap();
                }
            });
        }
    });
}

#[test]
fn what_cannot_come_back_fails_for_its_reason() {
    let component = component(GUEST);
    let after = |name: &str, handles: u32| {
        let (mut store, instance) = instance(&component);
        let mut clean = Clean::snapshot_component(&mut store, &instance, handles).unwrap();
        call(&mut store, &instance, name);
        let reset = clean.reset(&mut store);
        if reset.is_err() {
            assert!(matches!(clean.reset(&mut store), Err(Error::Unusable)));
        }
        reset
    };
    assert!(after("call", 0).is_ok());
    assert!(matches!(after("leak", 3), Err(Error::HandlesLeft)));
    assert!(matches!(after("grow-table", 0), Err(Error::TableGrown)));
    assert!(matches!(after("trap", 0), Err(Error::Trapped(_))));
    // A call that needs more handles fails itself, and its component cannot be entered again.
    assert!(after("handles", 1).is_err());
    // Handles that are there already.
    let (mut store, instance) = instance(&component);
    assert!(call(&mut store, &instance, "leak"));
    let held = Clean::snapshot_component(&mut store, &instance, 3);
    assert!(matches!(held, Err(Error::HandlesLeft)), "{held:?}");
}

#[test]
fn components_are_prepared_for_it() {
    let engine = engine();
    let raw = Component::new(&engine, wat::parse_str(GUEST).unwrap()).unwrap();
    let (mut store, instance) = instance(&raw);
    let unprepared = Clean::snapshot_component(&mut store, &instance, 1);
    assert!(matches!(unprepared, Err(Error::NotPrepared)));
    let stateless = prepare(&wat::parse_str("(component)").unwrap());
    assert!(matches!(stateless, Err(Error::Guest(_))));
}
