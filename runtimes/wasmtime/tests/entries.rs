//! Entries of instances that are reset in place, under a deadline that may end them. Code with
//! fixed addresses.

#[path = "../../../tests/fixtures/time.rs"]
mod time;

use std::time::Duration;
use time::LIMIT;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{
    Abi, CallOptions, Config, Functions, HostCall, Instance, Limits, Module, Outcome, Strategy,
    Trap, TrapKind,
};

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
    let (guest, deadline) = (guest.unwrap(), Some(LIMIT));
    let config = Config { deadline, ..Config::default() };
    let mut modules = Vec::new();
    for engine in touchstone_wasmtime::engines() {
        for strategy in
            Strategy::all().into_iter().filter(|strategy| strategy.to_string().contains("reuse"))
        {
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

fn call(
    module: &dyn Module,
    instance: &mut dyn Instance,
    name: &str,
    deadline: Duration,
) -> Outcome {
    let export = module.export(name, Abi::Plain).unwrap();
    let limits = Limits { deadline: Some(deadline), ..Limits::default() };
    let options = CallOptions { limits, ..CallOptions::default() };
    instance.invoke(export, &[], &mut Vec::new(), Some(options)).unwrap()
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
            let outcome = instance.invoke(export, &[], &mut output, None).unwrap();
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
            let ended = call(&*module, &mut *instance, "spoil", LIMIT);
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

/// The code of a module without `memory.grow` has the memory's address in a register. A host
/// function grows the memory nevertheless, in place.
#[test]
fn a_host_function_grows_a_memory_whose_address_is_fixed() {
    let text = r#"(module
        (import "env" "more" (func $more (param i32) (result i32)))
        (memory (export "memory") 1)
        (func (export "call") (param i32) (result i32) (local $at i32)
            (if (i32.ne (memory.size) (i32.const 1)) (then unreachable))
            (i32.store (i32.const 16) (i32.const 5))
            (if (i32.eqz (call $more (local.get 0))) (then unreachable))
            (loop $again
                (local.set $at (i32.add (local.get $at) (i32.const 4096)))
                (if (i32.load (local.get $at)) (then unreachable))
                (i32.store (local.get $at) (i32.const 7))
                (br_if $again (i32.lt_u (local.get $at)
                    (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 4096)))))
            (i32.load (i32.const 16)))
        (func (export "behind") (drop (i32.load (i32.const 65536)))))"#;
    let guest = GuestModule::new("guest", &wat::parse_str(text).unwrap(), HeapPages::default());
    let mut functions = Functions::none();
    functions.wrap("env", "more", |call: &mut HostCall<'_>, pages: i32| {
        Ok::<_, Trap>(i32::from(call.grow(pages.cast_unsigned())))
    });
    let (guest, config) = (guest.unwrap(), Config { functions, ..Config::default() });
    for engine in touchstone_wasmtime::engines() {
        for strategy in Strategy::all() {
            if !engine.support_for(strategy, &guest).is_supported() {
                continue;
            }
            let artifact = engine.compile(&guest, strategy, &config).unwrap();
            let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
            let [call, behind] =
                ["call", "behind"].map(|name| module.export(name, Abi::Plain).unwrap());
            let mut instance = module.new_instance().unwrap();
            for pages in [1_i32, 3, 1, 40, 0, 700, 2, 2, 2, 2] {
                let name = format!("{} {strategy} {pages}", engine.id());
                let mut output = Vec::new();
                let outcome = instance.call(call, &pages.to_le_bytes(), &mut output).unwrap();
                assert_eq!(
                    (outcome, &output[..]),
                    (Outcome::Returned, &[5, 0, 0, 0][..]),
                    "{name}"
                );
                let outcome = instance.call(behind, &[], &mut output).unwrap();
                let trap = outcome.trap().map(|trap| trap.kind.clone());
                assert_eq!(trap, Some(TrapKind::MemoryOutOfBounds), "{name}");
            }
        }
    }
}
