//! Host functions of the embedder inside WasmEdge: values, growth while the guest waits, faults of
//! guests that wait or are called meanwhile, and limits.

#[path = "../../../tests/fixtures/host_calls.rs"]
mod host_calls;

use host_calls::{call, call_with, everywhere, growth, guest, load, returned, with};
use std::sync::Mutex;
use std::time::Duration;
use touchstone_executor::{
    CallOptions, Config, Context, Error, Functions, HostCall, InterruptHandle, Limits, Module,
    Outcome, Result, State, TrapKind,
};
use touchstone_wasmedge::engines;

fn trapped(kind: TrapKind) -> (Outcome, Vec<u8>) {
    (Outcome::Trapped(kind.into()), Vec::new())
}

#[test]
fn values_of_all_types_keep_their_bits() {
    let text = r#"(module
      (import "env" "turn" (func $turn (param i32 f32 i64 f64 v128 funcref externref)
        (result externref v128 f64 i64 f32 i32)))
      (func (export "f") (param i32 f32 i64 f64 v128) (result externref v128 f64 i64 f32 i32)
        (call $turn (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4)
          (ref.null func) (ref.null extern))))"#;
    let mut functions = Functions::none();
    let signature = guest(text).info().imports[0].signature.clone().unwrap();
    functions.add("env", "turn", signature, |call| match *call.params() {
        [i32, f32, i64, f64, v128, _, null] => call.give(&[null, v128, f64, i64, f32, i32]),
        _ => Err(call.refuse("other parameters")),
    });
    everywhere(text, &with(functions), |name, module| {
        let mut input = Vec::new();
        input.extend((-2_i32).to_le_bytes());
        // NaNs with a payload that do not signal: compiled code changes those that do.
        input.extend(0xffe0_0001_u32.to_le_bytes());
        input.extend((-3_i64).to_le_bytes());
        input.extend(0x7ffc_0000_0000_0005_u64.to_le_bytes());
        input.extend(1..17);
        let mut instance = module.new_instance().unwrap();
        let options = CallOptions::default();
        let ended = call_with(module, &mut *instance, ("f", &input), options).unwrap();
        let mut turned = vec![0];
        for range in [24..40, 16..24, 8..16, 4..8, 0..4] {
            turned.extend(&input[range]);
        }
        assert_eq!(ended, (Outcome::Returned, turned), "{name}");
    });
}

/// Of compiled code, pages behind the memory are closed between calls.
#[test]
fn memory_that_grows_while_the_guest_waits_is_the_guests_at_once() {
    let text = r#"(module (import "env" "grow" (func $grow (param i32) (result i32)))
      (memory 1 60) (data (i32.const 8) "\07")
      (func (export "f") (param i32) (result i32 i32 i32)
        (i32.store (i32.const 12) (i32.const 5))
        (i32.load (call $grow (local.get 0)))
        (i32.add (i32.load8_u (i32.const 8)) (i32.load (i32.const 12)))
        (memory.size))
      (func (export "beyond") (drop (call $grow (i32.const 1)))
        (drop (i32.load (i32.const 131072)))))"#;
    everywhere(text, &with(growth()), |name, module| {
        let mut instance = module.new_instance().unwrap();
        let mut run = |export, pages: i32| {
            let input = pages.to_le_bytes();
            let input = (export, if export == "f" { &input[..] } else { b"" });
            call_with(module, &mut *instance, input, CallOptions::default()).unwrap()
        };
        for pages in [1, 0, 1, 50, 3, 59] {
            assert_eq!(run("f", pages), returned(&[9, 12, 1 + pages]), "{name}: {pages}");
            assert_eq!(run("beyond", 0), trapped(TrapKind::MemoryOutOfBounds), "{name}");
        }
        let (outcome, _) = run("f", 60);
        let kind = outcome.trap().map(|trap| &trap.kind);
        assert!(matches!(kind, Some(TrapKind::HostFunction { .. })), "{name}: {kind:?}");
    });
}

#[test]
fn a_panic_ends_the_call_and_the_next_one_finds_a_clean_instance() {
    let text = r#"(module (import "env" "panic" (func $panic)) (memory 1 9)
      (global $g (mut i32) (i32.const 3)) (table 1 5 funcref)
      (func (export "panic")
        (global.set $g (i32.const 4)) (i32.store (i32.const 0) (i32.const 5))
        (drop (memory.grow (i32.const 2))) (drop (table.grow (ref.null func) (i32.const 2)))
        (call $panic))
      (func (export "trap") (drop (i32.load (i32.const -4))))
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
            let ended = call(module, &mut *instance, "trap");
            assert_eq!(ended, trapped(TrapKind::MemoryOutOfBounds), "{name}");
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

/// Faults of the inner guest, and then of the outer one, on one thread: with and without memory.
#[test]
fn guests_fault_inside_each_other() {
    let inner = guest(
        r#"(module (import "env" "deeper" (func $deeper (result i32))) (memory 1 5)
          (func (export "load") (drop (call $deeper)) (drop (i32.load (i32.const 65536))))
          (func (export "divide") (result i32) (i32.div_s (i32.const 1) (i32.load (i32.const 0))))
          (func (export "fine") (drop (memory.grow (i32.const 4)))
            (i32.store (i32.const 65536) (i32.const 1))))"#,
    );
    let outer = r#"(module (import "env" "inner" (func $inner (result i32))) (memory 1 9)
      (func (export "f") (result i32 i32)
        (i32.store (i32.const 0) (i32.const 3)) (drop (memory.grow (i32.const 2)))
        (i32.store (i32.const 65540) (i32.const 4))
        (call $inner)
        (i32.add (i32.load (i32.const 0)) (i32.load (i32.const 65540))))
      (func (export "load") (drop (call $inner)) (drop (i32.load (i32.const 65536))))
      (func (export "divide") (drop (i32.div_s (call $inner) (i32.load (i32.const 0))))))"#;
    /// A function that calls all exports of an instance and counts those that trap.
    fn calling(module: Box<dyn Module>, name: &str, exports: &'static [&'static str]) -> Functions {
        let (instance, mut functions) =
            (Mutex::new(module.new_instance().unwrap()), Functions::none());
        functions.wrap("env", name, move |_: &mut HostCall<'_>| {
            let mut instance = instance.lock().unwrap();
            let ended = exports.iter().map(|export| call(&*module, &mut **instance, export));
            Ok(ended.filter(|(outcome, _)| outcome.trap().is_some()).count() as i32)
        });
        functions
    }
    let deepest = guest(
        r#"(module (memory 1) (func (export "load") (drop (i32.load (i32.const -4))))
          (func (export "unreachable") unreachable))"#,
    );
    for (engine, strategy) in
        [(1, "instance_reuse_cow"), (1, "recreate_instance"), (0, "instance_reuse")]
    {
        let engine = &touchstone_wasmedge::engines()[engine];
        let strategy = strategy.parse().unwrap();
        let module = load(&**engine, &deepest, strategy, &Config::default()).unwrap();
        let config = with(calling(module, "deeper", &["load", "unreachable"]));
        let module = load(&**engine, &inner, strategy, &config).unwrap();
        let config = with(calling(module, "inner", &["load", "divide", "fine"]));
        everywhere(outer, &config, |name, module| {
            let mut instance = module.new_instance().unwrap();
            for _ in 0..3 {
                assert_eq!(call(module, &mut *instance, "f"), returned(&[2, 7]), "{name}");
                let ended = call(module, &mut *instance, "load");
                assert_eq!(ended, trapped(TrapKind::MemoryOutOfBounds), "{name}");
                let ended = call(module, &mut *instance, "divide");
                assert_eq!(ended, trapped(TrapKind::DivisionByZero), "{name}");
            }
        });
    }
}

/// Limits of one call are none of the next.
#[test]
fn growth_ends_at_the_limit_of_a_call() {
    let text = r#"(module (import "env" "grow" (func $grow (param i32) (result i32)))
      (memory 2 20)
      (func (export "guest") (param i32) (result i32 i32 i32)
        (memory.grow (i32.const 0)) (memory.grow (local.get 0)) (memory.size))
      (func (export "host") (param i32) (result i32 i32)
        (call $grow (local.get 0)) (memory.size)))"#;
    let mut functions = Functions::none();
    let grow = |call: &mut HostCall<'_>, pages: u32| Ok(i32::from(call.grow(pages)));
    functions.wrap("env", "grow", grow);
    everywhere(text, &with(functions), |name, module| {
        let mut instance = module.new_instance().unwrap();
        let mut run = |export, more: i32, pages, expected: &[i32]| {
            let limits = Limits { pages, ..Limits::default() };
            let options = CallOptions { limits, ..CallOptions::default() };
            let input = (export, &more.to_le_bytes()[..]);
            let ended = call_with(module, &mut *instance, input, options).unwrap();
            assert_eq!(ended, returned(expected), "{name} {export} {more} {pages:?}");
        };
        for _ in 0..2 {
            run("guest", 3, Some(5), &[2, 2, 5]);
            run("guest", 4, Some(5), &[2, -1, 2]);
            run("guest", 1, Some(0), &[2, -1, 2]);
            run("guest", 18, None, &[2, 2, 20]);
            run("guest", 19, Some(100), &[2, -1, 2]);
            run("host", 3, Some(5), &[1, 5]);
            run("host", 4, Some(5), &[0, 2]);
            run("host", 18, None, &[1, 20]);
        }
    });
}

/// In loops and calls, also of a module that has no deadline itself.
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
                context: Some(Context::new(&mut context)),
                interrupt: Some(handle.clone()),
                ..CallOptions::default()
            };
            let ended = call_with(module, &mut *instance, (export, b""), options).unwrap();
            assert_eq!(ended, trapped(TrapKind::Interrupted), "{name} {export}");
            // A later call without the handle runs.
            assert_eq!(call(module, &mut *instance, "fine"), returned(&[]), "{name}");
            let deadline =
                if export == "calls" { Duration::ZERO } else { Duration::from_millis(3) };
            let limits = Limits { deadline: Some(deadline), ..Limits::default() };
            let options = CallOptions { limits, ..CallOptions::default() };
            let ended = call_with(module, &mut *instance, (export, b""), options).unwrap();
            assert_eq!(ended, trapped(TrapKind::DeadlineExceeded), "{name} {export}");
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
        let entries = Limits { table_entries: Some(9), ..Limits::default() };
        for (limits, interrupt) in [
            (deadline, None),
            (fuel, None),
            (entries, None),
            (Limits::default(), Some(handle.clone())),
        ] {
            let options = CallOptions { limits, interrupt, ..CallOptions::default() };
            let ended = call_with(module, &mut *instance, ("f", b""), options);
            assert!(matches!(ended, Err(Error::LimitUnsupported { .. })), "{name}: {ended:?}");
        }
        assert_eq!(call(module, &mut *instance, "f").0, Outcome::Returned, "{name}");
    });
}
