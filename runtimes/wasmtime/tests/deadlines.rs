//! Deadlines by a signal: whatever a guest does when its time is over, its call ends, and the next
//! one is clean.

#[path = "../../../tests/fixtures/time.rs"]
mod time;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use time::LIMIT;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{
    Abi, CallOptions, Config, Functions, HostCall, Instance, InterruptHandle, Limits, Module,
    Outcome, Strategy, TrapKind,
};

/// Functions that never end, each in code of another kind, and `clean`: 0 on a clean instance.
const GUEST: &str = r#"(module
    (import "env" "nothing" (func $nothing))
    (memory (export "memory") 64 70)
    (table $table 20000 21000 funcref)
    (elem declare func $leaf)
    (global $number (mut i32) (i32.const 0))
    (func $count
        (global.set $number (i32.add (global.get $number) (i32.const 1)))
        (i32.store (i32.const 64) (global.get $number)))
    (func $leaf (param i32) (result i32) (i32.mul (local.get 0) (i32.const 3)))
    (func $deep (param i32)
        (if (local.get 0) (then (call $deep (i32.sub (local.get 0) (i32.const 1))))
            (else (call $count))))
    (func (export "loop") (loop $again (br $again)))
    (func (export "numbers") (local $n i64)
        (loop $again
            (call $count)
            (local.set $n (i64.rem_u (i64.add (local.get $n) (i64.const 7)) (i64.const 1000)))
            (i64.store (i32.wrap_i64 (local.get $n)) (local.get $n))
            (br $again)))
    (func (export "calls") (loop $again (drop (call $leaf (i32.const 1))) (call $count) (br $again)))
    (func (export "deep") (loop $again (call $deep (i32.const 500)) (br $again)))
    (func (export "host") (loop $again (call $nothing) (br $again)))
    (func (export "fill") (loop $again
        (memory.fill (i32.const 128) (i32.const 1) (i32.const 4000000)) (br $again)))
    (func (export "copy") (loop $again
        (memory.copy (i32.const 128) (i32.const 256) (i32.const 4000000)) (br $again)))
    (func (export "little") (loop $again
        (memory.copy (i32.const 128) (i32.const 256) (i32.const 4096)) (br $again)))
    (func (export "table") (loop $again
        (table.fill $table (i32.const 0) (ref.func $leaf) (i32.const 20000)) (br $again)))
    (func (export "grow") (loop $again
        (drop (memory.grow (i32.const 1)))
        (drop (table.grow $table (ref.null func) (i32.const 1)))
        (br $again)))
    (func (export "clean") (result i32)
        (i32.or (i32.or (global.get $number) (i32.load (i32.const 128)))
            (i32.or (i32.sub (memory.size) (i32.const 64))
                (i32.sub (table.size $table) (i32.const 20000))))))"#;

const ENDLESS: [&str; 10] =
    ["loop", "numbers", "calls", "deep", "host", "fill", "copy", "little", "table", "grow"];

fn modules(text: &str, config: &Config) -> Vec<(String, Box<dyn Module>)> {
    let guest = GuestModule::new("guest", &wat::parse_str(text).unwrap(), HeapPages::default());
    let guest = guest.unwrap();
    let mut modules = Vec::new();
    for engine in touchstone_wasmtime::engines() {
        for name in ["instance_reuse_tracked", "instance_reuse_gated", "recreate_instance_tracked"]
        {
            let strategy: Strategy = name.parse().unwrap();
            let is_native = engine.id() != "wasmtime_pulley";
            if is_native && engine.support_for(strategy, &guest).is_supported() {
                let artifact = engine.compile(&guest, strategy, config).unwrap();
                let module = engine.load(&guest, &artifact, strategy, config).unwrap();
                let said = format!("{:?}", module.effective());
                assert!(said.contains("a signal at the deadline"), "{said}");
                modules.push((format!("{} {name}", engine.id()), module));
            }
        }
    }
    assert!(modules.len() >= 4);
    modules
}

fn config() -> Config {
    let mut functions = Functions::none();
    functions.wrap("env", "nothing", |_: &mut HostCall<'_>| Ok(()));
    Config { interruptible: true, functions, ..Config::default() }
}

fn ended(
    module: &dyn Module,
    instance: &mut dyn Instance,
    name: &str,
    options: CallOptions<'_>,
) -> TrapKind {
    let export = module.export(name, Abi::Plain).unwrap();
    match instance.invoke(export, &[], &mut Vec::new(), Some(options)).unwrap() {
        Outcome::Trapped(trap) => trap.kind,
        other => panic!("{name}: {other:?}"),
    }
}

fn within(deadline: Duration) -> CallOptions<'static> {
    let limits = Limits { deadline: Some(deadline), ..Limits::default() };
    CallOptions { limits, ..CallOptions::default() }
}

fn is_clean(module: &dyn Module, instance: &mut dyn Instance) -> bool {
    let export = module.export("clean", Abi::Plain).unwrap();
    let mut output = Vec::new();
    instance.prepare().unwrap();
    let outcome = instance.invoke(export, &[], &mut output, None).unwrap();
    instance.finish().unwrap();
    outcome == Outcome::Returned && output == [0; 4]
}

#[test]
fn a_call_ends_at_its_deadline_whatever_it_does() {
    for (name, module) in modules(GUEST, &config()) {
        let mut instance = module.new_instance().unwrap();
        for _ in 0..2 {
            for function in ENDLESS {
                instance.prepare().unwrap();
                let began = Instant::now();
                let kind =
                    ended(&*module, &mut *instance, function, within(Duration::from_millis(10)));
                assert_eq!(kind, TrapKind::DeadlineExceeded, "{name}: {function}");
                let took = began.elapsed();
                assert!(took < LIMIT, "{name}: {function} took {took:?}");
                instance.finish().unwrap();
                assert!(is_clean(&*module, &mut *instance), "{name}: {function}");
            }
        }
    }
}

#[test]
fn a_handle_interrupts_a_call_whatever_it_does() {
    for (name, module) in modules(GUEST, &config()) {
        let mut instance = module.new_instance().unwrap();
        for function in ENDLESS {
            let handle = InterruptHandle::new();
            let other = handle.clone();
            let options =
                || CallOptions { interrupt: Some(handle.clone()), ..CallOptions::default() };
            instance.prepare().unwrap();
            let kind = std::thread::scope(|scope| {
                scope.spawn(move || {
                    std::thread::sleep(Duration::from_millis(3));
                    other.interrupt();
                });
                ended(&*module, &mut *instance, function, options())
            });
            assert_eq!(kind, TrapKind::Interrupted, "{name}: {function}");
            // It does not even begin.
            assert_eq!(ended(&*module, &mut *instance, "host", options()), TrapKind::Interrupted);
            instance.finish().unwrap();
            assert!(is_clean(&*module, &mut *instance), "{name}: {function}");
        }
    }
}

/// The call inside has a deadline of its own, on an instance of the same module; the one around it
/// goes on with what is left of its own.
#[test]
fn calls_in_calls_have_deadlines_of_their_own() {
    let plain = Arc::new(modules(GUEST, &config()));
    for index in 0..plain.len() {
        let inner = Arc::clone(&plain);
        let calls = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&calls);
        let mut functions = Functions::none();
        functions.wrap("env", "nothing", move |_: &mut HostCall<'_>| {
            let (name, module) = &inner[index];
            let mut instance = module.new_instance().unwrap();
            instance.prepare().unwrap();
            let kind =
                ended(&**module, &mut *instance, "numbers", within(Duration::from_millis(1)));
            instance.finish().unwrap();
            assert_eq!(kind, TrapKind::DeadlineExceeded, "{name}");
            assert!(is_clean(&**module, &mut *module.new_instance().unwrap()), "{name}");
            seen.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        let config = Config { functions, ..config() };
        let (name, module) = &modules(GUEST, &config)[index];
        let mut instance = module.new_instance().unwrap();
        instance.prepare().unwrap();
        let kind = ended(&**module, &mut *instance, "host", within(Duration::from_millis(100)));
        assert_eq!(kind, TrapKind::DeadlineExceeded, "{name}");
        assert!(calls.load(Ordering::Relaxed) > 1, "{name}");
    }
}

/// Four threads, of which each has guests with and without time, take no signal of another.
#[test]
fn threads_do_not_stop_each_other() {
    let all = modules(GUEST, &config());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let all = &all;
            scope.spawn(move || {
                for (name, module) in all {
                    let mut instance = module.new_instance().unwrap();
                    for round in 0..6 {
                        let (deadline, count) = match (thread + round) % 2 {
                            0 => (Duration::from_millis(1 + thread), 1),
                            _ => (LIMIT, 50),
                        };
                        for _ in 0..count {
                            if deadline == LIMIT {
                                assert!(is_clean(&**module, &mut *instance), "{name}");
                                continue;
                            }
                            instance.prepare().unwrap();
                            let kind = ended(&**module, &mut *instance, "deep", within(deadline));
                            assert_eq!(kind, TrapKind::DeadlineExceeded, "{name}");
                            instance.finish().unwrap();
                        }
                    }
                }
            });
        }
    });
}
