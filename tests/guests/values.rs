//! Vectors and references in the types of functions that the guest exports or imports, on every
//! engine and strategy that supports them.

use crate::everywhere::everywhere;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, Error, Feature, Instance, Module, Outcome, Strategy, TrapKind};

fn guest(text: &str) -> GuestModule {
    GuestModule::new("guest", &wat::parse_str(text).unwrap(), HeapPages::default()).unwrap()
}

/// A call by the plain convention.
fn call(
    module: &dyn Module,
    instance: &mut dyn Instance,
    name: &str,
    input: &[u8],
) -> (Outcome, Vec<u8>) {
    let export = module.export(name, Abi::Plain).unwrap();
    let mut output = b"left over".to_vec();
    (instance.call(export, input, &mut output).unwrap(), output)
}

/// Calls each function twice.
fn each_returns(text: &str, calls: &[(&str, &[u8], &[u8])]) {
    everywhere(&guest(text), |engine, strategy, module| {
        let mut instance = module.new_instance().unwrap();
        for (name, input, expected) in calls.iter().chain(calls) {
            let found = call(module, &mut *instance, name, input);
            let expected = (Outcome::Returned, expected.to_vec());
            assert_eq!(found, expected, "{engine} {strategy}: {name}");
        }
    });
}

const NUMBERED: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
const ONES: [u8; 16] = [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0];

#[test]
fn vectors_go_in_and_out() {
    let text = r#"(module
      (global $kept (mut i32) (i32.const 7))
      (func (export "swap") (param v128 i32 v128) (result v128 i32 v128)
        (global.set $kept (i32.add (global.get $kept) (local.get 1)))
        (local.get 2) (global.get $kept) (local.get 0))
      (func (export "add") (param v128 v128) (result v128)
        (i32x4.add (local.get 0) (local.get 1)))
      (func (export "lane") (param f64 v128) (result i32) (i8x16.extract_lane_u 9 (local.get 1)))
      (func (export "constant") (result v128)
        (v128.const i64x2 0x0706050403020100 0x0f0e0d0c0b0a0908)))"#;
    let swapped = [&ONES[..], &[9, 0, 0, 0], &NUMBERED].concat();
    let mut sum = NUMBERED;
    sum.iter_mut().zip(ONES).for_each(|(byte, one)| *byte += one);
    each_returns(
        text,
        &[
            ("swap", &[&NUMBERED[..], &[2, 0, 0, 0], &ONES].concat(), &swapped),
            ("add", &[NUMBERED, ONES].concat(), &sum),
            ("lane", &[&[0; 8][..], &NUMBERED].concat(), &[9, 0, 0, 0]),
            ("constant", &[], &NUMBERED),
        ],
    );
}

#[test]
fn references_to_functions_come_out_and_null_goes_in() {
    let text = r#"(module
      (elem declare func $own)
      (func $own (export "own") (result funcref) (ref.func $own))
      (func (export "null") (param i64) (result funcref i64) (ref.null func) (local.get 0))
      (func (export "is_null") (param i32 funcref) (result i32)
        (i32.add (local.get 0) (ref.is_null (local.get 1))))
      (func (export "back") (param funcref) (result funcref) (local.get 0)))"#;
    each_returns(
        text,
        &[
            ("own", &[], &[1]),
            ("null", &5_i64.to_le_bytes(), &[0, 5, 0, 0, 0, 0, 0, 0, 0]),
            ("is_null", &[8, 0, 0, 0, 0], &[9, 0, 0, 0]),
            ("back", &[0], &[0]),
        ],
    );
}

#[test]
fn null_goes_in_as_a_reference_to_an_object_of_the_host_and_nothing_else_does() {
    let text = r#"(module
      (table $t 1 externref)
      (func (export "is_null") (param externref i32) (result i32)
        (table.set $t (i32.const 0) (local.get 0))
        (i32.add (local.get 1) (ref.is_null (table.get $t (i32.const 0)))))
      (func (export "back") (param externref externref) (result externref) (local.get 1)))"#;
    each_returns(text, &[("is_null", &[0, 6, 0, 0, 0], &[7, 0, 0, 0]), ("back", &[0, 0], &[0])]);
    everywhere(&guest(text), |engine, strategy, module| {
        let mut instance = module.new_instance().unwrap();
        for input in [[0, 1], [255, 0]] {
            let export = module.export("back", Abi::Plain).unwrap();
            let called = instance.call(export, &input, &mut Vec::new());
            assert!(matches!(called, Err(Error::WrongArguments(_))), "{engine} {strategy}");
        }
    });
}

/// Parameters and results of imports, and instructions that give the parameters.
const IMPORTS: [(&str, &str, &str); 8] = [
    ("(param externref)", "(result externref)", "(ref.null extern)"),
    ("(param funcref)", "(result funcref)", "(ref.null func)"),
    ("(param v128)", "(result v128)", "(v128.const i64x2 1 2)"),
    (
        "(param externref i32 v128 f64)",
        "",
        "(ref.null extern) (i32.const 1) (v128.const i64x2 1 2) (f64.const 3)",
    ),
    ("", "(result i32 f64 externref v128 funcref)", ""),
    (
        "(param i64 i32 f32 f64 i32 i64)",
        "(result f64 f32 i64 i32)",
        "(i64.const 1) (i32.const 1) (f32.const 1) (f64.const 1) (i32.const 1) (i64.const 1)",
    ),
    ("(param (ref null $t))", "(result (ref null $t))", "(ref.null $t)"),
    ("(param exnref anyref)", "(result i31ref)", "(ref.null exn) (ref.null any)"),
];

/// An import that no instruction calls does not matter; a call traps by name.
#[test]
fn an_import_of_any_type_is_a_stub() {
    for (params, results, give) in IMPORTS {
        // A type with an index has a space in it.
        let results_count = results.replace("(ref null $t)", "t").split_whitespace().count();
        let drop = "(drop)".repeat(results_count.saturating_sub(1));
        let types = if params.contains("$t") { "(type $t (func))" } else { "" };
        let text = format!(
            r#"(module {types}
              (import "./x_bg.js" "__wbg_new" (func $unknown {params} {results}))
              (table 2 funcref) (elem (i32.const 0) $unknown)
              (func (export "f") (result i32) (i32.const 3))
              (func (export "g") (result i32) {give} (call $unknown) {drop} (i32.const 4)))"#
        );
        let missing = TrapKind::MissingImport {
            module: "./x_bg.js".to_owned(),
            name: "__wbg_new".to_owned(),
        };
        everywhere(&guest(&text), |engine, strategy, module| {
            let mut instance = module.new_instance().unwrap();
            for _ in 0..2 {
                let found = call(module, &mut *instance, "f", &[]);
                assert_eq!(found, (Outcome::Returned, vec![3, 0, 0, 0]), "{engine} {strategy}");
                let (outcome, _) = call(module, &mut *instance, "g", &[]);
                let kind = outcome.trap().map(|trap| &trap.kind);
                assert_eq!(kind, Some(&missing), "{engine} {strategy}: {params} {results}");
            }
        });
    }
}

/// An engine that has a feature has it in the types of imports too, under some strategy.
#[test]
fn no_engine_refuses_a_module_for_the_types_of_its_imports() {
    for (feature, ty) in [
        (Feature::HostReferences, "externref"),
        (Feature::Vectors, "v128"),
        (Feature::Vectors, "funcref v128"),
    ] {
        let text = format!(
            r#"(module (import "wbg" "log" (func (param i32 {ty}) (result {ty})))
                 (func (export "f") (result i32) (i32.const 3)))"#
        );
        let guest = guest(&text);
        for engine in touchstone_runtimes::engines() {
            let runs = |guest: &GuestModule, engine: &dyn MeasuredEngine| {
                Strategy::all().into_iter().any(|way| engine.support_for(way, guest).is_supported())
            };
            let plain = self::guest(r#"(module (func (export "f") (result i32) (i32.const 3)))"#);
            let expected = runs(&plain, &*engine) && engine.capabilities().features.has(feature);
            assert_eq!(runs(&guest, &*engine), expected, "{}: {ty}", engine.id());
        }
    }
}
