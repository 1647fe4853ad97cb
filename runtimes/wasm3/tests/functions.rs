//! Host functions of the embedder inside Wasm3: memory that moves while the guest waits, calls of
//! other instances on one stack, and limits that Wasm3 checks itself.

#[path = "../../../tests/fixtures/host_calls.rs"]
mod host_calls;
#[path = "../../../tests/fixtures/host_guests.rs"]
mod host_guests;

use host_calls::{call, call_with, everywhere, guest, load, returned, with};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use touchstone_executor::{
    CallOptions, Config, Error, Functions, HostCall, InterruptHandle, Limits, Module, Outcome,
    Result, State, TrapKind,
};
use touchstone_wasm3::engines;

/// Slots have 64 bits, of which a number of 32 bits has the lower half.
#[test]
fn values_of_all_types_pass_through_slots() {
    let text = r#"(module
      (import "env" "turn" (func $turn
        (param i32 f32 i64 f64 funcref externref) (result externref f64 i64 f32 i32)))
      (func (export "f") (param i32 f32 i64 f64) (result externref f64 i64 f32 i32)
        (call $turn (local.get 0) (local.get 1) (local.get 2) (local.get 3)
          (ref.null func) (ref.null extern))))"#;
    host_guests::turned_values_keep_their_bits(text, &["f"]);
}

#[test]
fn memory_that_grows_while_the_guest_waits_is_the_guests_at_once() {
    host_guests::memory_that_grows_while_the_guest_waits_is_the_guests_at_once();
}

#[test]
fn a_panic_ends_the_call_and_the_next_one_finds_a_clean_instance() {
    let text = r#"(module (import "env" "panic" (func $panic)) (memory 1 9)
      (global $g (mut i32) (i32.const 3)) (table 1 5 funcref)
      (func (export "panic")
        (global.set $g (i32.const 4)) (i32.store (i32.const 0) (i32.const 5))
        (drop (memory.grow (i32.const 2))) (drop (table.grow (ref.null func) (i32.const 2)))
        (call $panic))
      (func (export "look") (result i32 i32 i32 i32)
        (global.get $g) (i32.load (i32.const 0)) (memory.size) (table.size)))"#;
    let mut functions = Functions::none();
    functions.wrap("env", "panic", |_: &mut HostCall<'_>| -> Result<(), _> {
        panic!("expected by the test")
    });
    everywhere(text, &with(functions), |name, module| {
        let mut instance = module.new_instance().unwrap();
        for _ in 0..3 {
            let options = CallOptions::default();
            let ended = call_with(module, &mut *instance, ("panic", b""), options);
            let is_told = matches!(&ended, Err(Error::HostPanicked { module, name, message })
                if module == "env" && name == "panic" && message == "expected by the test");
            assert!(is_told, "{name}: {ended:?}");
            assert_eq!(call(module, &mut *instance, "look"), returned(&[3, 0, 1, 1]), "{name}");
        }
    });
}

/// The state of a reset instance is that which its start function left.
#[test]
fn state_of_an_instance_is_back_after_each_call() {
    let text = r#"(module (import "env" "count" (func $count (result i32)))
      (func $start (drop (call $count))) (start $start)
      (func (export "f") (result i32) (drop (call $count)) (call $count)))"#;
    let (counter, mut functions) = (State::new(10), Functions::none());
    functions.wrap("env", "count", move |call: &mut HostCall<'_>| {
        *call.state(&counter) += 1;
        Ok(*call.state(&counter))
    });
    everywhere(text, &with(functions), |name, module| {
        let mut instance = module.new_instance().unwrap();
        for _ in 0..3 {
            assert_eq!(call(module, &mut *instance, "f"), returned(&[13]), "{name}");
        }
    });
}

const CALLS_INNER: &str = r#"(module (import "env" "inner" (func $inner (result i32)))
  (memory 1 9)
  (func $deep (param i64) (result i64)
    (i64.add (i64.const 1) (call $deep (i64.add (local.get 0) (i64.const 1)))))
  (func (export "f") (result i32 i32)
    (i32.store (i32.const 0) (i32.const 3)) (drop (memory.grow (i32.const 2)))
    (call $inner) (i32.add (i32.load (i32.const 0)) (memory.size)))
  (func (export "deep") (drop (call $inner)) (drop (call $deep (i64.const 0))))
  (func (export "load") (drop (call $inner)) (drop (i32.load (i32.const 65536)))))"#;

/// Another instance of the same engine or the other one traps in all ways while the guest waits.
#[test]
fn instances_are_called_while_others_wait_on_the_same_stack() {
    let inner = r#"(module (memory 1 5)
      (func $deep (param i64) (result i64)
        (i64.add (i64.const 1) (call $deep (i64.add (local.get 0) (i64.const 1)))))
      (func (export "deep") (drop (call $deep (i64.const 0))))
      (func (export "load") (drop (i32.load (i32.const 65536))))
      (func (export "fine") (drop (memory.grow (i32.const 4)))))"#;
    let inner = guest(inner);
    for (engine, strategy) in [(0, "interpreted"), (1, "instance_reuse_cow")] {
        let engine = &touchstone_wasm3::engines()[engine];
        let strategy = strategy.parse().unwrap();
        let module = load(&**engine, &inner, strategy, &Config::default()).unwrap();
        let instance = Mutex::new(module.new_instance().unwrap());
        let mut functions = Functions::none();
        functions.wrap("env", "inner", move |_: &mut HostCall<'_>| {
            let mut instance = instance.lock().unwrap();
            let mut traps = 0;
            for export in ["deep", "load", "fine"] {
                let (outcome, _) = call(&*module, &mut **instance, export);
                traps += i32::from(outcome.trap().is_some());
            }
            Ok(traps)
        });
        everywhere(CALLS_INNER, &with(functions), |name, module| {
            let mut instance = module.new_instance().unwrap();
            for _ in 0..3 {
                assert_eq!(call(module, &mut *instance, "f"), returned(&[2, 6]), "{name}");
                let traps =
                    [("deep", TrapKind::StackOverflow), ("load", TrapKind::MemoryOutOfBounds)];
                for (export, kind) in traps {
                    let (outcome, _) = call(module, &mut *instance, export);
                    assert_eq!(outcome, Outcome::Trapped(kind.into()), "{name} {export}");
                }
            }
        });
    }
}

/// Each instance makes and calls another one, until the stack ends: with an error of the host.
#[test]
fn instances_inside_each_other_end_with_the_stack() {
    let nested = guest(
        r#"(module (import "env" "inner" (func $inner (result i32)))
          (func (export "f") (result i32) (i32.add (i32.const 1) (call $inner))))"#,
    );
    for engine in touchstone_wasm3::engines() {
        for strategy in ["interpreted", "instance_reuse"] {
            let strategy = strategy.parse().unwrap();
            let module: Arc<Mutex<Option<Arc<dyn Module>>>> = Arc::default();
            let again = Arc::clone(&module);
            let mut functions = Functions::none();
            functions.wrap("env", "inner", move |_: &mut HostCall<'_>| {
                let module = again.lock().unwrap().clone().unwrap();
                let mut instance = module.new_instance().unwrap();
                let options = CallOptions::default();
                Ok(match call_with(&*module, &mut *instance, ("f", b""), options) {
                    Ok((Outcome::Returned, depth)) => {
                        i32::from_le_bytes(depth.try_into().unwrap_or_default())
                    }
                    Ok(other) => panic!("{other:?}"),
                    Err(error) => {
                        let is_full =
                            error.to_string().contains("use a thread with a larger stack");
                        assert!(is_full, "{error}");
                        0
                    }
                })
            });
            let loaded: Arc<dyn Module> =
                load(&*engine, &nested, strategy, &with(functions)).unwrap().into();
            *module.lock().unwrap() = Some(Arc::clone(&loaded));
            let run = || call(&*loaded, &mut *loaded.new_instance().unwrap(), "f");
            let (outcome, depth) = std::thread::scope(|scope| {
                let thread = std::thread::Builder::new().stack_size(2 << 20);
                thread.spawn_scoped(scope, run).unwrap().join().unwrap()
            });
            assert_eq!(outcome, Outcome::Returned);
            let depth = i32::from_le_bytes(depth.try_into().unwrap());
            assert!(depth > 10, "{} {strategy}: {depth}", engine.id());
            *module.lock().unwrap() = None;
        }
    }
}

const GROWS: &str = r#"(module (import "env" "grow" (func $grow (param i32) (result i32)))
  (memory 2 20) (table $bounded 1 10 funcref) (table $free 2 externref)
  (func (export "guest") (param i32) (result i32 i32 i32)
    (memory.grow (i32.const 0)) (memory.grow (local.get 0)) (memory.size))
  (func (export "host") (param i32) (result i32 i32)
    (call $grow (local.get 0)) (memory.size))
  (func (export "tables") (param i32) (result i32 i32)
    (table.grow $bounded (ref.null func) (local.get 0))
    (table.grow $free (ref.null extern) (local.get 0))))"#;

/// Limits of one call are none of the next.
#[test]
fn growth_ends_at_the_limits_of_a_call() {
    let mut functions = Functions::none();
    let grow = |call: &mut HostCall<'_>, pages: u32| Ok(i32::from(call.grow(pages)));
    functions.wrap("env", "grow", grow);
    everywhere(GROWS, &with(functions), |name, module| {
        let mut instance = module.new_instance().unwrap();
        let mut run = |export, more: i32, (pages, table_entries), expected: &[i32]| {
            let limits = Limits { pages, table_entries, ..Limits::default() };
            let options = CallOptions { limits, ..CallOptions::default() };
            let input = (export, &more.to_le_bytes()[..]);
            let ended = call_with(module, &mut *instance, input, options).unwrap();
            assert_eq!(ended, returned(expected), "{name} {export} {more} {pages:?}");
        };
        for _ in 0..2 {
            run("guest", 3, (Some(5), None), &[2, 2, 5]);
            run("guest", 4, (Some(5), None), &[2, -1, 2]);
            run("guest", 1, (Some(0), None), &[2, -1, 2]);
            run("guest", 18, (None, None), &[2, 2, 20]);
            run("guest", 19, (Some(100), None), &[2, -1, 2]);
            run("host", 3, (Some(5), None), &[1, 5]);
            run("host", 4, (Some(5), None), &[0, 2]);
            run("host", 18, (None, Some(1)), &[1, 20]);
            run("tables", 3, (None, Some(4)), &[1, -1]);
            run("tables", 2, (None, Some(4)), &[1, 2]);
            run("tables", 1, (None, Some(0)), &[-1, -1]);
            run("tables", 9, (None, None), &[1, 2]);
            run("tables", 10, (Some(2), None), &[-1, 2]);
        }
    });
}

/// To Wasm3, a maximum of 0 is none.
#[test]
fn an_empty_table_cannot_be_held_to_its_size() {
    let text = r#"(module (table 0 9 funcref)
      (func (export "grow") (result i32) (table.grow (ref.null func) (i32.const 2))))"#;
    everywhere(text, &Config::default(), |name, module| {
        let mut instance = module.new_instance().unwrap();
        let mut run = |entries| {
            let limits = Limits { table_entries: Some(entries), ..Limits::default() };
            let options = CallOptions { limits, ..CallOptions::default() };
            call_with(module, &mut *instance, ("grow", b""), options)
        };
        let refused = run(0).unwrap_err();
        assert!(matches!(refused, Error::LimitUnsupported { .. }), "{name}: {refused}");
        assert_eq!(run(1).unwrap(), returned(&[-1]), "{name}");
        assert_eq!(run(2).unwrap(), returned(&[0]), "{name}");
    });
}

/// In loops, in recursion and in calls of the host, also of a module that has no deadline itself.
#[test]
fn a_call_ends_at_its_deadline_or_when_it_is_interrupted() {
    let text = r#"(module (import "env" "stop" (func $stop)) (memory 1)
      (func (export "loop") (call $stop) (loop (br 0)))
      (func (export "calls") (call $stop) (call $stop) unreachable)
      (func $twice (param i32) (if (local.get 0) (then
        (call $twice (i32.sub (local.get 0) (i32.const 1)))
        (call $twice (i32.sub (local.get 0) (i32.const 1))))))
      (func (export "recursion") (call $stop) (call $twice (i32.const 60)))
      (func (export "fine") (call $stop)))"#;
    let handle = InterruptHandle::new();
    let (interrupting, mut functions) = (handle.clone(), Functions::none());
    functions.wrap("env", "stop", move |call: &mut HostCall<'_>| {
        // Only where a context says so.
        if call.context::<()>().is_ok() {
            interrupting.interrupt();
        }
        Ok(())
    });
    let config = Config { interruptible: true, functions, ..Config::default() };
    everywhere(text, &config, |name, module| {
        let mut instance = module.new_instance().unwrap();
        for export in ["loop", "recursion", "calls"] {
            handle.clear();
            let mut context = ();
            let options = CallOptions {
                context: Some(touchstone_executor::Context::new(&mut context)),
                interrupt: Some(handle.clone()),
                ..CallOptions::default()
            };
            let ended = call_with(module, &mut *instance, (export, b""), options).unwrap();
            assert_eq!(ended.0, Outcome::Trapped(TrapKind::Interrupted.into()), "{name} {export}");
            // A later call without the handle runs.
            let ended = call(module, &mut *instance, "fine");
            assert_eq!(ended.0, Outcome::Returned, "{name}");
            let deadline =
                if export == "calls" { Duration::ZERO } else { Duration::from_millis(3) };
            let limits = Limits { deadline: Some(deadline), ..Limits::default() };
            let options = CallOptions { limits, ..CallOptions::default() };
            let ended = call_with(module, &mut *instance, (export, b""), options).unwrap();
            let expected = Outcome::Trapped(TrapKind::DeadlineExceeded.into());
            assert_eq!(ended.0, expected, "{name} {export}");
        }
    });
}

#[test]
fn limits_that_nothing_checks_are_refused() {
    let (text, handle) = ("(module (memory 1) (func (export \"f\")))", InterruptHandle::new());
    everywhere(text, &Config::default(), |name, module| {
        let mut instance = module.new_instance().unwrap();
        let deadline = Limits { deadline: Some(Duration::MAX), ..Limits::default() };
        let fuel = Limits { fuel: Some(9), ..Limits::default() };
        for (limits, interrupt) in
            [(deadline, None), (fuel, None), (Limits::default(), Some(handle.clone()))]
        {
            let options = CallOptions { limits, interrupt, ..CallOptions::default() };
            let ended = call_with(module, &mut *instance, ("f", b""), options);
            assert!(matches!(ended, Err(Error::LimitUnsupported { .. })), "{name}: {ended:?}");
        }
        assert_eq!(call(module, &mut *instance, "f").0, Outcome::Returned, "{name}");
    });
}
