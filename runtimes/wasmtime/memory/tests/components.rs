//! Instances of components that are reset.

use touchstone_wasmtime_memory::{Clean, Error, configure, prepare};
use wasmtime::component::{Component, Instance, Linker};
use wasmtime::{Config, Engine, Store};

const GUEST: &str = include_str!("guests/component.wat");

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
