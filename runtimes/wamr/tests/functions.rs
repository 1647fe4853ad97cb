//! Host functions of the embedder inside WAMR: several results, memory that moves while the guest
//! waits, memories that WAMR would cut off, and stacks that end.

#[path = "../../../tests/fixtures/host_calls.rs"]
mod host_calls;
#[path = "../../../tests/fixtures/host_guests.rs"]
mod host_guests;

use host_calls::{call, call_with, everywhere, guest, load, returned, with};
use std::sync::{Arc, Mutex};
use touchstone_executor::{
    Abi, CallOptions, Config, Functions, HostCall, Limits, Module, Outcome, Result, Strategy,
    TrapKind,
};
use touchstone_wamr::engines;

/// WAMR's own interface knows one result, and passes the parameter behind a reference for it.
#[test]
fn values_of_all_types_and_several_results_pass() {
    let text = r#"(module
      (type $turn (func (param i32 f32 i64 f64 funcref externref) (result externref f64 i64 f32 i32)))
      (import "env" "turn" (func $turn (type $turn)))
      (import "env" "one" (func $one (param externref) (result externref)))
      (table 1 funcref) (elem (i32.const 0) $turn)
      (func $direct (export "f") (param i32 f32 i64 f64) (result externref f64 i64 f32 i32)
        (call $turn (local.get 0) (local.get 1) (local.get 2) (local.get 3)
          (ref.null func) (ref.null extern)))
      (func (export "g") (param i32 f32 i64 f64) (result externref f64 i64 f32 i32)
        (call_indirect (type $turn) (local.get 0) (local.get 1) (local.get 2) (local.get 3)
          (ref.null func) (call $one (ref.null extern)) (i32.const 0)))
      (func (export "h") (param i32 f32 i64 f64) (result externref f64 i64 f32 i32)
        (return_call $turn (local.get 0) (local.get 1) (local.get 2) (local.get 3)
          (ref.null func) (ref.null extern))))"#;
    host_guests::turned_values_keep_their_bits(text, &["f", "g", "h"]);
}

#[test]
fn memory_that_grows_while_the_guest_waits_is_the_guests_at_once() {
    host_guests::memory_that_grows_while_the_guest_waits_is_the_guests_at_once();
}

/// WAMR ends a memory at `__heap_base` where a module has a stack pointer, `__data_end`, and no
/// `memory.grow`; there the host places its input.
#[test]
fn a_memory_is_as_large_as_it_is_declared() {
    let text = r#"(module (memory (export "memory") 2 9)
      (global $sp (mut i32) (i32.const 1024)) (data (i32.const 1024) "data")
      (global (export "__data_end") i32 (i32.const 1028))
      (global (export "__heap_base") i32 (i32.const 1040))
      (func $f (export "f") (param i32 i32) (result i64)
        (global.set $sp (i32.sub (global.get $sp) (i32.const 16)))
        (i64.store (i32.const 131064) (i64.const 5))
        (i64.or (i64.extend_i32_u (local.get 0))
          (i64.shl (i64.extend_i32_u (local.get 1)) (i64.const 32)))))"#;
    everywhere(text, &Config::default(), |name, module| {
        let export = module.export("f", Abi::Substrate).unwrap();
        let mut instance = module.new_instance().unwrap();
        for length in [5, 100_000, 200_000, 7] {
            let (input, mut output) = (vec![7; length], Vec::new());
            let outcome = instance.call(export, &input, &mut output).unwrap();
            assert_eq!((outcome, output.len()), (Outcome::Returned, length), "{name}");
        }
    });
}

/// A memory of WAMR's own is limited by WAMR, one of Touchstone's by the host.
#[test]
fn a_call_is_limited_to_pages_and_the_next_one_is_not() {
    let text = r#"(module (memory 1 9)
      (func (export "f") (result i32) (memory.grow (i32.const 4))))"#;
    everywhere(text, &Config::default(), |name, module| {
        let mut instance = module.new_instance().unwrap();
        for (pages, expected) in [(Some(4), -1), (None, 1), (Some(5), 1), (Some(0), -1)] {
            let limits = Limits { pages, ..Limits::default() };
            let options = CallOptions { limits, ..CallOptions::default() };
            let ended = call_with(module, &mut *instance, ("f", b""), options).unwrap();
            assert_eq!(ended, returned(&[expected]), "{name}: {pages:?}");
        }
    });
}

/// Tables get their first size back, which WAMR's interface does not offer.
#[test]
fn a_table_that_has_grown_is_small_again() {
    let text = r#"(module (table $t 1 5 funcref) (table $u 2 funcref) (elem declare func $f)
      (func $f (export "f") (result i32 i32)
        (drop (table.grow $t (ref.func $f) (i32.const 3)))
        (table.set $u (i32.const 1) (ref.func $f))
        (table.size $t) (ref.is_null (table.get $u (i32.const 0))))
      (func (export "look") (result i32 i32 i32)
        (drop (table.grow $t (ref.null func) (i32.const 2)))
        (table.size $t) (ref.is_null (table.get $t (i32.const 2)))
        (ref.is_null (table.get $u (i32.const 1)))))"#;
    everywhere(text, &Config::default(), |name, module| {
        let mut instance = module.new_instance().unwrap();
        for _ in 0..3 {
            assert_eq!(call(module, &mut *instance, "f"), returned(&[4, 1]), "{name}");
            assert_eq!(call(module, &mut *instance, "look"), returned(&[3, 1, 1]), "{name}");
        }
    });
}

/// Each instance makes and calls another one, until the thread's stack ends.
#[test]
fn instances_inside_each_other_end_with_a_trap() {
    let nested = guest(
        r#"(module (import "env" "inner" (func $inner (result i32)))
          (func (export "f") (result i32) (i32.add (i32.const 1) (call $inner))))"#,
    );
    let engine = &engines()[0];
    for strategy in ["interpreted", "instance_reuse"] {
        let strategy: Strategy = strategy.parse().unwrap();
        let module: Arc<Mutex<Option<Arc<dyn Module>>>> = Arc::default();
        let again = Arc::clone(&module);
        let mut functions = Functions::none();
        functions.wrap("env", "inner", move |call: &mut HostCall<'_>| -> Result<i32, _> {
            let module = again.lock().unwrap().clone().unwrap();
            let mut instance = module.new_instance().unwrap();
            match call_with(&*module, &mut *instance, ("f", b""), CallOptions::default()) {
                Ok((Outcome::Trapped(trap), _)) => Err(trap),
                other => Err(call.refuse(format!("{other:?}"))),
            }
        });
        let loaded: Arc<dyn Module> =
            Arc::from(load(&**engine, &nested, strategy, &with(functions)).unwrap());
        *module.lock().unwrap() = Some(Arc::clone(&loaded));
        let thread = std::thread::Builder::new().stack_size(1 << 20);
        let ended = thread.spawn(move || {
            let mut instance = loaded.new_instance().unwrap();
            call(&*loaded, &mut *instance, "f").0
        });
        let outcome = ended.unwrap().join().unwrap();
        assert_eq!(outcome, Outcome::Trapped(TrapKind::StackOverflow.into()), "{strategy}");
        *module.lock().unwrap() = None;
    }
}
