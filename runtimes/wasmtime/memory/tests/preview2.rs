//! A component of WASI 0.2 that is reset: the guest's handles, and the host's table of resources.
#![cfg(feature = "preview2")]

#[path = "guests/preview2.rs"]
mod preview2;

use preview2::{GUEST, Host};
use touchstone_wasmtime_memory::{Clean, Error, configure, prepare};
use wasmtime::component::{Component, Instance, Linker};
use wasmtime::{Config, Engine, Store};

fn program() -> (Store<Host>, Instance) {
    let mut config = Config::new();
    configure(&mut config);
    let engine = Engine::new(&config).unwrap();
    let wasm = prepare(&wat::parse_str(GUEST).unwrap()).unwrap();
    let component = Component::new(&engine, wasm).unwrap();
    let mut linker = Linker::new(&engine);
    wasmtime_wasi::p2::add_to_linker_sync(&mut linker).unwrap();
    let mut store = Store::new(&engine, Host::new());
    let instance = linker.instantiate(&mut store, &component).unwrap();
    (store, instance)
}

fn call(store: &mut Store<Host>, instance: &Instance, name: &str) {
    let function = instance.get_typed_func::<(), ()>(&mut *store, name).unwrap();
    function.call(store, ()).unwrap();
}

#[test]
fn two_hundred_calls_find_what_a_new_instance_has() {
    let (mut store, instance) = program();
    let mut clean = Clean::snapshot_component(&mut store, &instance, 4).unwrap();
    for _ in 0..200 {
        call(&mut store, &instance, "run");
        assert_eq!(&store.data().output.contents()[..], b"call 1\n");
        clean.reset_with(&mut store, |host| *host = Host::new()).unwrap();
        assert!(store.data().output.contents().is_empty() && store.data().table.is_empty());
    }
}

#[test]
fn a_stream_that_the_guest_keeps_is_reported() {
    let (mut store, instance) = program();
    let mut clean = Clean::snapshot_component(&mut store, &instance, 4).unwrap();
    call(&mut store, &instance, "keep");
    let mut hooked = false;
    let kept = clean.reset_with(&mut store, |_| hooked = true);
    assert!(matches!(kept, Err(Error::HandlesLeft)) && !hooked, "{kept:?}");
}
