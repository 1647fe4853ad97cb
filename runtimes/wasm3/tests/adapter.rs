//! Details of this backend: threads with small stacks, blocks nested deeply, host functions that
//! panic, and growth that is closed again.

use std::sync::Arc;
use std::time::Duration;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{
    Abi, Config, Error, Imports, InstanceFrom, MemoryFrom, Module, Outcome, Strategy, TrapKind,
};

#[path = "../../../tests/fixtures/time.rs"]
mod time;

use time::LIMIT;

fn guest(text: &str) -> GuestModule {
    GuestModule::new("guest", &wat::parse_str(text).unwrap(), HeapPages::default()).unwrap()
}

/// Calls a test with every engine under every strategy that it supports.
fn everywhere(text: &str, config: &Config, test: impl Fn(&str, &dyn Module)) {
    let guest = guest(text);
    let mut tested = 0;
    for engine in touchstone_wasm3::engines() {
        for strategy in Strategy::all() {
            if engine.support_for(strategy, &guest).is_supported() {
                let module = load(&*engine, &guest, strategy, config);
                test(&format!("{} {strategy}", engine.id()), &*module);
                tested += 1;
            }
        }
    }
    assert!(tested > 0, "no strategy supports the guest");
}

fn load(
    engine: &dyn MeasuredEngine,
    guest: &GuestModule,
    strategy: Strategy,
    config: &Config,
) -> Box<dyn Module> {
    let artifact = engine.compile(guest, strategy, config).unwrap();
    engine.load(guest, &artifact, strategy, config).unwrap()
}

/// An instance that moves from thread to thread finds the stack of each.
#[test]
fn endless_recursion_ends_on_stacks_of_all_sizes() {
    let text = r#"(module
      (func $deep (export "deep") (param i64) (result i64)
        (i64.add (i64.const 1) (call $deep (i64.add (local.get 0) (i64.const 1)))))
      (func (export "fine") (param i64) (result i64) (local.get 0)))"#;
    everywhere(text, &Config::default(), |name, module| {
        let deep = module.export("deep", Abi::Plain).unwrap();
        let fine = module.export("fine", Abi::Plain).unwrap();
        let mut instance = module.new_instance().unwrap();
        for size in [8 << 20, 1 << 20, 2 << 20] {
            instance = std::thread::scope(|scope| {
                let thread = std::thread::Builder::new().stack_size(size);
                let work = move || {
                    let output = &mut Vec::new();
                    let outcome = instance.call(deep, &[0; 8], output).unwrap();
                    (outcome, instance.call(fine, &[7; 8], output).unwrap(), instance)
                };
                let (deep, fine, instance) =
                    thread.spawn_scoped(scope, work).unwrap().join().unwrap();
                assert_eq!(deep, Outcome::Trapped(TrapKind::StackOverflow.into()), "{name} {size}");
                assert_eq!(fine, Outcome::Returned, "{name} {size}");
                instance
            });
        }
    });
}

/// A panic of the host must not unwind through Wasm3's frames.
#[test]
fn a_panic_in_a_log_sink_ends_there() {
    let text = r#"(module
      (import "env" "ext_logging_log_version_1" (func $log (param i32 i64 i64)))
      (memory 1)
      (func (export "log") (call $log (i32.const 0) (i64.const 0) (i64.const 0)))
      (func (export "fine")))"#;
    let config = Config {
        max_log_level: 5,
        log: Some(Arc::new(|_, _, _| panic!("expected by the test"))),
        ..Config::default()
    };
    everywhere(text, &config, |name, module| {
        let log = module.export("log", Abi::Plain).unwrap();
        let fine = module.export("fine", Abi::Plain).unwrap();
        let mut instance = module.new_instance().unwrap();
        for _ in 0..2 {
            assert_eq!(
                instance.call(log, b"", &mut Vec::new()).unwrap(),
                Outcome::Returned,
                "{name}"
            );
            assert_eq!(instance.call(fine, b"", &mut Vec::new()).unwrap(), Outcome::Returned);
        }
    });
}

/// Grown pages are gone for the next call, also for an access that Wasm3 checks
/// against a length of its own.
#[test]
fn grown_pages_are_out_of_bounds_again() {
    let text = r#"(module (memory 1 100)
      (func (export "grow") (param i32) (result i32)
        (drop (memory.grow (local.get 0)))
        (i32.store (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 4)) (i32.const -1))
        (memory.size))
      (func (export "look") (result i32) (i32.load (i32.const 65536))))"#;
    everywhere(text, &Config::default(), |name, module| {
        let grow = module.export("grow", Abi::Plain).unwrap();
        let look = module.export("look", Abi::Plain).unwrap();
        let mut instance = module.new_instance().unwrap();
        let output = &mut Vec::new();
        for pages in [0_u32, 1, 7, 99, 100, u32::MAX, 3] {
            let outcome = instance.call(grow, &pages.to_le_bytes(), output).unwrap();
            assert_eq!(outcome, Outcome::Returned, "{name}");
            let expected = if pages <= 99 { 1 + pages } else { 1 };
            assert_eq!(*output, expected.to_le_bytes(), "{name}: grow by {pages}");
            let outcome = instance.call(look, b"", output).unwrap();
            assert_eq!(outcome, Outcome::Trapped(TrapKind::MemoryOutOfBounds.into()), "{name}");
        }
    });
}

/// Two imports of one name with two types, which Wasm3 would take for one.
#[test]
fn imports_are_told_apart_by_position() {
    let text = r#"(module
      (import "env" "input_len" (func $length (result i64)))
      (import "env" "input_len" (func $other (param i32) (result i64)))
      (func (export "length") (drop (call $length)))
      (func (export "other") (drop (call $other (i32.const 1)))))"#;
    let config = Config { imports: Imports::Trap, ..Config::default() };
    everywhere(text, &config, |name, module| {
        let mut instance = module.new_instance().unwrap();
        let mut call = |export| {
            let export = module.export(export, Abi::Plain).unwrap();
            instance.call(export, b"", &mut Vec::new()).unwrap()
        };
        assert_eq!(call("length"), Outcome::Returned, "{name}");
        let kind =
            TrapKind::MissingImport { module: "env".to_owned(), name: "input_len".to_owned() };
        assert_eq!(call("other"), Outcome::Trapped(kind.into()), "{name}");
    });
}

#[test]
fn an_artifact_is_for_one_guest_one_class_and_one_setting_of_the_deadline() {
    let reused = Strategy::new(InstanceFrom::Reuse, MemoryFrom::CopyOnWrite);
    let [one, other] = ["a", "b"].map(|name| guest(&format!("(module (func (export {name:?})))")));
    let (timed, untimed) =
        (Config { deadline: Some(LIMIT), ..Config::default() }, Config::default());
    for engine in touchstone_wasm3::engines() {
        let refused = |guest: &GuestModule, made_for, taken_for, made: &Config, taken: &Config| {
            let artifact = engine.compile(&one, made_for, made).unwrap();
            let loaded = engine.load(guest, &artifact, taken_for, taken);
            matches!(loaded, Err(Error::BadArtifact { .. }))
        };
        assert!(!refused(&one, reused, reused, &untimed, &untimed));
        // Not the time itself is part of it.
        let other_time = Config { deadline: Some(LIMIT / 2), ..Config::default() };
        assert!(!refused(&one, reused, reused, &timed, &other_time));
        assert!(refused(&other, reused, reused, &untimed, &untimed));
        assert!(refused(&one, reused, Strategy::INTERPRETED, &untimed, &untimed));
        assert!(refused(&one, Strategy::INTERPRETED, reused, &untimed, &untimed));
        assert!(refused(&one, reused, reused, &untimed, &timed));
        assert!(refused(&one, reused, reused, &timed, &untimed));
    }
}

/// Blocks inside each other, as compilers make them of a switch.
fn nested(opening: &str, depth: usize) -> String {
    let (open, close) = (opening.repeat(depth), "end ".repeat(depth));
    format!("{open} {close}")
}

#[test]
fn blocks_are_nested_as_deeply_as_is_said_and_not_deeper() {
    let text = |depth| format!("(module (func (export \"f\") {}))", nested("block ", depth));
    // Under a deadline, the instruction in the innermost block gets a block of its own.
    let filling = format!(
        "(module (memory 1) (func (export \"f\") (local i32) {} {} {}))",
        "block ".repeat(4094),
        "i32.const 0 i32.const 0 local.get 0 memory.fill",
        "end ".repeat(4094)
    );
    let timed = Config { interruptible: true, ..Config::default() };
    for (text, config) in [(text(4094), Config::default()), (filling, timed)] {
        everywhere(&text, &config, |name, module| {
            let f = module.export("f", Abi::Plain).unwrap();
            let outcome = module.new_instance().unwrap().call(f, b"", &mut Vec::new()).unwrap();
            assert_eq!(outcome, Outcome::Returned, "{name}");
            assert_eq!(module.effective().get("nested blocks"), Some("up to 4094"), "{name}");
        });
    }
    let deeper = guest(&text(4095));
    for engine in touchstone_wasm3::engines() {
        let refused = engine.compile(&deeper, Strategy::INTERPRETED, &Config::default());
        let refused = refused.unwrap_err();
        assert!(matches!(&refused, Error::Unsupported { reason, .. } if reason.contains("4095")));
    }
}

/// Functions are compiled when they are first called, on the guest's stack: what
/// stays free below it has to hold the deepest of them.
#[test]
fn the_deepest_function_is_compiled_where_the_stack_ends() {
    for opening in ["block ", "loop ", "i32.const 1 if "] {
        let text = format!(
            "(module (func $deep {})
               (func $down (export \"down\") (param i32)
                 (if (local.get 0)
                   (then (call $down (i32.sub (local.get 0) (i32.const 1))))
                   (else (call $deep)))))",
            nested(opening, 4094)
        );
        let guest = guest(&text);
        let engines = touchstone_wasm3::engines();
        let module = load(&*engines[0], &guest, Strategy::INTERPRETED, &Config::default());
        let down = module.export("down", Abi::Plain).unwrap();
        let run = |frames: u32| {
            let mut instance = module.new_instance().unwrap();
            instance.call(down, &frames.to_le_bytes(), &mut Vec::new()).unwrap()
        };
        let overflow = Outcome::Trapped(TrapKind::StackOverflow.into());
        for size in [2 << 20, 8 << 20] {
            let search = || {
                // Fewer than `low` frames fit, `high` are too many.
                let (mut low, mut high) = (0, 1 << 20);
                assert_eq!(run(high), overflow);
                while high - low > 1 {
                    let middle = low + (high - low) / 2;
                    match run(middle) {
                        Outcome::Returned => low = middle,
                        outcome => {
                            assert_eq!(outcome, overflow);
                            high = middle;
                        }
                    }
                }
                assert!(low > 100, "{low} frames in {size} bytes");
            };
            std::thread::scope(|scope| {
                let thread = std::thread::Builder::new().stack_size(size);
                thread.spawn_scoped(scope, search).unwrap().join().unwrap();
            });
        }
    }
}

/// An error, and no crash.
#[test]
fn a_stack_that_is_too_small_is_an_error() {
    let text = format!("(module (func (export \"f\") {}))", nested("block ", 4094));
    everywhere(&text, &Config::default(), |name, module| {
        let f = module.export("f", Abi::Plain).unwrap();
        let call = || module.new_instance()?.call(f, b"", &mut Vec::new());
        let ended = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(384 << 10);
            thread.spawn_scoped(scope, call).unwrap().join().unwrap()
        });
        let error = ended.unwrap_err().to_string();
        assert!(error.contains("use a thread with a larger stack"), "{name}: {error}");
    });
}

/// A function that Wasm3 cannot compile is found when it is first called. What
/// that call leaves behind must not run: it jumps to where no code is.
#[test]
fn after_a_function_that_cannot_be_compiled_nothing_runs_before_the_next_call() {
    let text = r#"(module
      (func $vector (result i32) (i32x4.extract_lane 0 (i32x4.splat (i32.const 1))))
      (func (export "f") (result i32) (i32.add (i32.const 7) (call $vector)))
      (func (export "fine") (result i32) (i32.const 7)))"#;
    let guest = guest(text);
    let lazy = touchstone_wasm3::engines().into_iter().find(|engine| engine.id() == "wasm3");
    let (engine, config) = (lazy.unwrap(), Config::default());
    for strategy in Strategy::all() {
        if !engine.support_for(strategy, &guest).is_supported() {
            continue;
        }
        let module = load(&*engine, &guest, strategy, &config);
        let [f, fine] = ["f", "fine"].map(|name| module.export(name, Abi::Plain).unwrap());
        let (mut instance, mut output) = (module.new_instance().unwrap(), Vec::new());
        for _ in 0..3 {
            instance.prepare().unwrap();
            assert!(instance.invoke(f, b"", &mut output, None).is_err(), "{strategy}");
            for export in [f, fine] {
                let error =
                    instance.invoke(export, b"", &mut output, None).unwrap_err().to_string();
                assert!(error.contains("prepare another call"), "{strategy}: {error}");
            }
            instance.finish().unwrap();
            assert_eq!(instance.call(fine, b"", &mut output).unwrap(), Outcome::Returned);
            assert_eq!(output, [7, 0, 0, 0], "{strategy}");
        }
    }
}

/// Bulk instructions and host functions that take long, without a loop around them: some tenths
/// of a second in all.
#[test]
fn a_deadline_ends_code_without_a_loop() {
    let random = "(drop (call $random (i32.const 0) (i32.const 16777216)))".repeat(200);
    let fill = "(memory.fill (i32.const 0) (i32.const 1) (i32.const 16777216))".repeat(500);
    let text = format!(
        r#"(module
             (import "wasi_snapshot_preview1" "random_get"
               (func $random (param i32 i32) (result i32)))
             (memory (export "memory") 256)
             (func (export "host") {random})
             (func (export "fill") {fill}))"#
    );
    let config = Config { deadline: Some(Duration::from_millis(1)), ..Config::default() };
    everywhere(&text, &config, |name, module| {
        let mut instance = module.new_instance().unwrap();
        for export in ["host", "fill", "host", "fill"] {
            let id = module.export(export, Abi::Plain).unwrap();
            let outcome = instance.call(id, b"", &mut Vec::new()).unwrap();
            let kind = outcome.trap().map(|trap| &trap.kind);
            assert_eq!(kind, Some(&TrapKind::DeadlineExceeded), "{name}: {export}");
        }
    });
}
