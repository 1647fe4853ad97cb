//! Entries of instances that are reset in place, under a deadline that may end them.

use std::time::Duration;
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{
    CallOptions, Config, Instance, Limits, Module, Outcome, Strategy, TrapKind,
};

const DAY: Duration = Duration::from_secs(86_400);

/// `next` traps unless the global is as many as a use has called it before, plus 7.
const GUEST: &str = r#"(module
    (memory (export "memory") 1)
    (global $number (mut i32) (i32.const 7))
    (func (export "next") (result i32)
        (global.set $number (i32.add (global.get $number) (i32.const 1)))
        (i32.sub (global.get $number) (i32.const 1)))
    (func (export "spoil")
        (global.set $number (i32.const 100))
        unreachable)
    (func (export "forever")
        (global.set $number (i32.const 200))
        (loop (br 0))))"#;

fn modules() -> Vec<(String, Box<dyn Module>)> {
    let guest = GuestModule::new("guest", &wat::parse_str(GUEST).unwrap(), HeapPages::default());
    let (guest, deadline) = (guest.unwrap(), Some(DAY));
    let config = Config { deadline, ..Config::default() };
    let mut modules = Vec::new();
    for engine in touchstone_wasmtime::engines() {
        for strategy in Strategy::all().into_iter().filter(|strategy| strategy.to_string().contains("reuse")) {
            if engine.support_for(strategy, &guest).is_supported() {
                let artifact = engine.compile(&guest, strategy, &config).unwrap();
                let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
                modules.push((format!("{} {strategy}", engine.id()), module));
            }
        }
    }
    assert!(modules.len() >= 2);
    modules
}

fn call(module: &dyn Module, instance: &mut dyn Instance, name: &str, deadline: Duration) -> Outcome {
    let export = module.export(name, Abi::Plain).unwrap();
    let limits = Limits { deadline: Some(deadline), ..Limits::default() };
    let options = CallOptions { limits, ..CallOptions::default() };
    instance.invoke_with(export, &[], &mut Vec::new(), options).unwrap()
}

/// A deadline that has passed ends the entry before it has restored the globals: the next call of
/// the same use restores them, and only that one.
#[test]
fn a_deadline_that_ends_an_entry_leaves_the_globals_to_the_next_one() {
    for (name, module) in modules() {
        let mut instance = module.new_instance().unwrap();
        let trap = |outcome: Outcome| match outcome {
            Outcome::Trapped(trap) => trap.kind,
            other => panic!("{name}: {other:?}"),
        };
        let next = |instance: &mut dyn Instance| {
            let export = module.export("next", Abi::Plain).unwrap();
            let mut output = Vec::new();
            let outcome = instance.invoke(export, &[], &mut output).unwrap();
            assert_eq!(outcome, Outcome::Returned, "{name}");
            i32::from_le_bytes(output[..4].try_into().unwrap())
        };
        for round in 0..20 {
            instance.prepare().unwrap();
            if round % 2 == 1 {
                let ended = call(&*module, &mut *instance, "next", Duration::ZERO);
                assert_eq!(trap(ended), TrapKind::DeadlineExceeded, "{name}");
            }
            assert_eq!([next(&mut *instance), next(&mut *instance)], [7, 8], "{name}, {round}");
            instance.finish().unwrap();
            // Behind the entry, what a call has changed stays until the end of the use.
            instance.prepare().unwrap();
            let ended = call(&*module, &mut *instance, "spoil", DAY);
            assert_eq!(trap(ended), TrapKind::Unreachable, "{name}");
            assert_eq!(next(&mut *instance), 100, "{name}, {round}");
            instance.finish().unwrap();
        }
        for _ in 0..3 {
            instance.prepare().unwrap();
            let ended = call(&*module, &mut *instance, "forever", Duration::from_millis(5));
            assert_eq!(trap(ended), TrapKind::DeadlineExceeded, "{name}");
            instance.finish().unwrap();
            instance.prepare().unwrap();
            assert_eq!(next(&mut *instance), 7, "{name}");
            instance.finish().unwrap();
        }
    }
}
