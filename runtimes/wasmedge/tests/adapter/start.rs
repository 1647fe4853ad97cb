//! Start functions, which the host calls.

use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, Config, Error, Imports, Outcome, Result, Strategy, TrapKind};

/// The outputs of three calls of `f`, or what stops the first, under every strategy of every engine
/// that can have the guest.
fn everywhere(text: &str, config: &Config, check: impl Fn(&str, Result<Vec<Vec<u8>>>)) {
    let guest =
        GuestModule::new("starting", &wat::parse_str(text).unwrap(), HeapPages::default()).unwrap();
    let mut tried = 0;
    for engine in touchstone_wasmedge::engines() {
        for strategy in Strategy::all() {
            if !engine.support_for(strategy, &guest).is_supported() {
                continue;
            }
            let artifact = engine.compile(&guest, strategy, config).unwrap();
            let module = engine.load(&guest, &artifact, strategy, config).unwrap();
            let export = module.export("f", Abi::Plain).unwrap();
            let mut instance = module.new_instance().unwrap();
            let calls = (0..3).map(|_| {
                let mut output = Vec::new();
                let outcome = instance.call(export, b"", &mut output)?;
                assert_eq!(outcome, Outcome::Returned, "{} {strategy}", engine.id());
                Ok(output)
            });
            check(&format!("{} {strategy}", engine.id()), calls.collect());
            tried += 1;
        }
    }
    assert!(tried > 3);
}

/// Once for each instance, after the data segments, and with the guest's globals.
#[test]
fn each_instance_is_started_once() {
    let text = r#"(module (memory 1) (data (i32.const 8) "\05") (global $g (mut i32) (i32.const 1))
        (func $start
            (global.set $g (i32.add (global.get $g) (i32.load (i32.const 8))))
            (i32.store (i32.const 8) (global.get $g)))
        (start $start)
        (func (export "f") (result i32 i32)
            (global.get $g) (i32.load (i32.const 8))
            (call $start)))"#;
    everywhere(text, &Config::default(), |name, outputs| {
        assert_eq!(outputs.unwrap(), vec![vec![6, 0, 0, 0, 6, 0, 0, 0]; 3], "{name}");
    });
}

#[test]
fn what_stops_a_start_function_is_told_as_that() {
    let traps = [
        ("unreachable", TrapKind::Unreachable),
        ("(drop (i32.load (i32.const 65536)))", TrapKind::MemoryOutOfBounds),
        ("(drop (i32.load (i32.const -4)))", TrapKind::MemoryOutOfBounds),
        ("(loop (br 0))", TrapKind::DeadlineExceeded),
    ];
    for (code, expected) in traps {
        let memories: &[&str] =
            if code.contains("load") { &["(memory 1)"] } else { &["(memory 1)", ""] };
        for memory in memories {
            let text = format!(
                r#"(module {memory} (func $start {code}) (start $start) (func (export "f")))"#
            );
            let deadline = std::time::Duration::from_millis(20);
            let is_endless = expected == TrapKind::DeadlineExceeded;
            let config = Config { deadline: is_endless.then_some(deadline), ..Config::default() };
            everywhere(&text, &config, |name, outputs| match outputs {
                Err(Error::Instantiation { trap }) => {
                    assert_eq!(trap.kind, expected, "{name} {code}");
                }
                other => panic!("{name} {code}: {other:?}"),
            });
        }
    }
}

/// No code of the guest is in between.
#[test]
fn a_start_function_may_be_an_import() {
    let text = |memory| {
        format!(
            r#"(module (import "env" "nobody" (func $import)) {memory} (start $import)
                (func (export "f")))"#
        )
    };
    for memory in ["(memory 1)", ""] {
        let config = Config { imports: Imports::Trap, ..Config::default() };
        everywhere(&text(memory), &config, |name, outputs| match outputs {
            Err(Error::Instantiation { trap }) => {
                assert!(matches!(trap.kind, TrapKind::MissingImport { .. }), "{name}: {trap}");
            }
            other => panic!("{name}: {other:?}"),
        });
    }
}
