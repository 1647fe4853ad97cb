//! Results of a component's functions, as JSON in the output of the typed convention.

use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, Config, Instance, Module, Outcome, Strategy, Trap, TrapKind};

const GUEST: &str = r#"(component
    (core module $m
        (memory (export "memory") 1)
        (global $next (mut i32) (i32.const 4096))
        (func (export "realloc") (param i32 i32 i32 i32) (result i32)
            (global.get $next)
            (global.set $next (i32.add (global.get $next) (local.get 3))))
        (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
        (func (export "half") (param f64) (result f64) (f64.div (local.get 0) (f64.const 2)))
        (func (export "same") (param f32) (result f32) (local.get 0))
        (func (export "echo") (param i32 i32) (result i32)
            (i32.store (i32.const 8) (local.get 0)) (i32.store (i32.const 12) (local.get 1))
            (i32.const 8))
        (func (export "shape") (param i32) (result i32)
            (i32.store8 (i32.const 8) (local.get 0)) (i32.store (i32.const 12) (i32.const 7))
            (i32.const 8)))
    (core instance $i (instantiate $m))
    (alias core export $i "memory" (core memory $memory))
    (alias core export $i "realloc" (core func $realloc))
    (type $variant' (variant (case "none-at-all") (case "some-number" u32)))
    (export $variant "shape-type" (type $variant'))
    (func (export "add") (param "a" u32) (param "b" u32) (result u32)
        (canon lift (core func $i "add")))
    (func (export "half") (param "a" f64) (result f64) (canon lift (core func $i "half")))
    (func (export "same") (param "a" f32) (result f32) (canon lift (core func $i "same")))
    (func (export "echo") (param "a" string) (result string)
        (canon lift (core func $i "echo") (memory $memory) (realloc $realloc)))
    (func (export "numbers") (param "a" (list u16)) (result (list u16))
        (canon lift (core func $i "echo") (memory $memory) (realloc $realloc)))
    (func (export "option") (param "a" u32) (result (option u32))
        (canon lift (core func $i "shape") (memory $memory)))
    (func (export "result") (param "a" u32) (result (result u32 (error u32)))
        (canon lift (core func $i "shape") (memory $memory)))
    (func (export "variant") (param "a" u32) (result $variant)
        (canon lift (core func $i "shape") (memory $memory)))
    (func (export "record") (param "a" u32) (result (tuple u8 u32))
        (canon lift (core func $i "shape") (memory $memory))))"#;

#[test]
fn results_are_json_under_every_strategy() {
    let bytes = wat::parse_str(GUEST).unwrap();
    let guest = GuestModule::new("guest", &bytes, HeapPages::default()).unwrap();
    let config = Config { instances: 2, ..Config::default() };
    for engine in touchstone_wasmtime::engines() {
        let ways = ["recreate_instance", "instance_reuse_cow", "pooling_cow"];
        for strategy in ways.map(|name| name.parse::<Strategy>().unwrap()) {
            if !engine.support_for(strategy, &guest).is_supported() {
                continue;
            }
            let artifact = engine.compile(&guest, strategy, &config).unwrap();
            let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
            let mut instance = module.new_instance().unwrap();
            for (export, input, expected) in [
                ("add", "[40, 2]", "42"),
                ("half", "3", "1.5"),
                ("half", "\"inf\"", "\"inf\""),
                ("same", "3.4028235e38", "3.4028235e+38"),
                ("same", "-3.4028235677973362e38", "-3.4028235e+38"),
                ("same", "\"-inf\"", "\"-inf\""),
                ("same", "\"nan\"", "\"nan\""),
                ("echo", "\"a \\\"text\\\" ü\"", "\"a \\\"text\\\" ü\""),
                ("numbers", "[1, 65535]", "[1,65535]"),
                ("option", "0", "null"),
                ("option", "1", "7"),
                ("result", "0", "{\"ok\":7}"),
                ("result", "1", "{\"err\":7}"),
                ("variant", "0", "\"none_at_all\""),
                ("variant", "1", "{\"some_number\":7}"),
                ("record", "5", "[5,7]"),
            ] {
                let place = format!("{} {strategy} {export} {input}", engine.id());
                for _ in 0..2 {
                    let output = called(&*module, &mut *instance, export, input);
                    assert_eq!(output, expected, "{place}");
                }
            }
        }
    }
}

fn called(module: &dyn Module, instance: &mut dyn Instance, name: &str, input: &str) -> String {
    let export = module.export(name, Abi::Typed).unwrap();
    let mut output = Vec::new();
    let outcome = instance.call(export, input.as_bytes(), &mut output).unwrap();
    assert_eq!(outcome, Outcome::Returned);
    String::from_utf8(output).unwrap()
}

#[test]
fn numbers_out_of_range_are_bad_input() {
    let bytes = wat::parse_str(GUEST).unwrap();
    let guest = GuestModule::new("guest", &bytes, HeapPages::default()).unwrap();
    let (engines, config) = (touchstone_wasmtime::engines(), Config::default());
    let strategy = "recreate_instance".parse().unwrap();
    let artifact = engines[0].compile(&guest, strategy, &config).unwrap();
    let module = engines[0].load(&guest, &artifact, strategy, &config).unwrap();
    let mut instance = module.new_instance().unwrap();
    for (export, input, why) in [
        ("same", "1e39", "f32 expected, the number 1e+39 found"),
        ("same", "-3.4028235677973366e38", "f32 expected"),
        ("same", "1e400", "number out of range"),
        ("half", "1e400", "number out of range"),
        ("half", "\"NaN\"", "f64 expected, a string found"),
        ("add", "[4294967296, 1]", "u32 expected, the number 4294967296 found"),
        ("add", "[-1, 1]", "u32 expected"),
        ("add", "[1.5, 1]", "u32 expected"),
        ("add", "[18446744073709551616, 1]", "u32 expected"),
        ("numbers", "[1, 65536]", "entry 1: u16 expected"),
    ] {
        let export = module.export(export, Abi::Typed).unwrap();
        let mut output = Vec::new();
        match instance.call(export, input.as_bytes(), &mut output).unwrap() {
            Outcome::Trapped(Trap { kind: TrapKind::BadInput { reason }, .. }) => {
                assert!(reason.contains(why), "{input}: {reason}");
            }
            other => panic!("{input}: {other:?}"),
        }
    }
}

/// Only the typed convention has a place for a result.
#[test]
fn other_conventions_refuse_functions_with_results() {
    let bytes = wat::parse_str(GUEST).unwrap();
    let guest = GuestModule::new("guest", &bytes, HeapPages::default()).unwrap();
    let (engines, config) = (touchstone_wasmtime::engines(), Config::default());
    let strategy = "recreate_instance".parse().unwrap();
    let artifact = engines[0].compile(&guest, strategy, &config).unwrap();
    let module = engines[0].load(&guest, &artifact, strategy, &config).unwrap();
    for abi in [Abi::Plain, Abi::Input, Abi::Bytes] {
        assert!(module.export("half", abi).is_err(), "{abi}");
    }
}
