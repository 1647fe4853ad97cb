//! A host function of one guest calls another guest, which traps. A trap of compiled code leaves a
//! signal handler without returning from it, in which no protection key may be used.

use std::sync::{Arc, Mutex};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::memory::protection_keys;
use touchstone_executor::{
    Abi, Config, InstanceFrom, MemoryFrom, Module, Outcome, Strategy, TrapKind,
};

/// Grows its memory, calls the host and reads what it has grown by.
const OUTER: &str = r#"(module
    (import "env" "ext_logging_log_version_1" (func $log (param i32 i64 i64)))
    (memory 2 40)
    (func (export "f") (result i32 i32)
        (drop (memory.grow (i32.const 5)))
        (i32.store (i32.const 131072) (i32.const 7))
        (call $log (i32.const 0) (i64.const 0) (i64.const 0))
        (i32.load (i32.const 131072)) (memory.size)))"#;
const INNER: &str = r#"(module (memory 1)
    (func (export "f") (result i32) (i32.load (i32.const -4))))"#;
/// Memories that grow alike have keys from the third call on.
const CALLS: usize = 8;

fn load(
    engine: &dyn MeasuredEngine,
    text: &str,
    strategy: Strategy,
    config: &Config,
) -> Option<Box<dyn Module>> {
    let guest =
        GuestModule::new("nested", &wat::parse_str(text).unwrap(), HeapPages::default()).unwrap();
    engine.support_for(strategy, &guest).is_supported().then(|| {
        let artifact = engine.compile(&guest, strategy, config).unwrap();
        engine.load(&guest, &artifact, strategy, config).unwrap()
    })
}

#[test]
fn a_trap_of_an_inner_guest_takes_no_memory_of_the_outer_one() {
    if protection_keys() == 0 {
        println!("this machine has no protection keys: what grows is opened by the kernel here");
    }
    let engine = touchstone_wasmedge::engines().pop().unwrap();
    for memory in [MemoryFrom::Segments, MemoryFrom::Tracked] {
        let strategy = Strategy::new(InstanceFrom::Reuse, memory);
        let inner = load(&*engine, INNER, strategy, &Config::default()).unwrap();
        let export = inner.export("f", Abi::Plain).unwrap();
        let (instance, traps) = (Mutex::new(inner.new_instance().unwrap()), Arc::default());
        let counted: Arc<Mutex<usize>> = Arc::clone(&traps);
        let log = move |_: u32, _: &str, _: &str| {
            let outcome = instance.lock().unwrap().call(export, b"", &mut Vec::new()).unwrap();
            let kind = outcome.trap().map(|trap| &trap.kind);
            *counted.lock().unwrap() += usize::from(kind == Some(&TrapKind::MemoryOutOfBounds));
        };
        let config = Config { max_log_level: 5, log: Some(Arc::new(log)), ..Config::default() };
        let mut calls = 0;
        for strategy in Strategy::all() {
            let Some(outer) = load(&*engine, OUTER, strategy, &config) else { continue };
            let (mut instance, mut output) = (outer.new_instance().unwrap(), Vec::new());
            let export = outer.export("f", Abi::Plain).unwrap();
            for call in 0..CALLS {
                let outcome = instance.call(export, b"", &mut output).unwrap();
                assert_eq!(outcome, Outcome::Returned, "{strategy}, call {call}");
                assert_eq!(output, [7, 0, 0, 0, 7, 0, 0, 0], "{strategy}, call {call}");
                calls += 1;
            }
        }
        assert!(calls > 0);
        assert_eq!(*traps.lock().unwrap(), calls);
    }
}
