//! Refusals of executors for a module, with their words.

use touchstone_executor::adapter::Exports;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, Error, Features, InstanceFrom, MemoryFrom, Strategy};

fn guest(wat: &str) -> touchstone_executor::Result<GuestModule> {
    Ok(GuestModule::new("guest", &wat::parse_str(wat).unwrap(), HeapPages::default())?)
}

#[test]
fn a_strategy_is_refused_for_what_it_cannot_bring_back() {
    let reuse = Strategy::new(InstanceFrom::Reuse, MemoryFrom::Segments);
    let recreate = Strategy::new(InstanceFrom::Recreate, MemoryFrom::Resident);
    let drops =
        guest(r#"(module (memory 1) (data $d "x") (func (export "f") (data.drop $d)))"#).unwrap();
    assert!(reuse.refusal(drops.info(), Features::WASM2).unwrap().contains("data.drop"));
    assert_eq!(recreate.refusal(drops.info(), Features::WASM2), None);
    let starts = guest("(module (memory 1) (func $s) (start $s))").unwrap();
    assert_eq!(reuse.refusal(starts.info(), Features::WASM2), None);
    assert!(recreate.refusal(starts.info(), Features::WASM2).unwrap().contains("start function"));
}

#[test]
fn an_import_that_is_passed_on_cannot_be_called() {
    let guest = guest(
        r#"(module (import "env" "f" (func $f)) (export "passed_on" (func $f))
             (func (export "own") (call $f)))"#,
    )
    .unwrap();
    let exports = Exports::of(&guest);
    assert!(exports.find("own", Abi::Plain).is_ok());
    let error = exports.find("passed_on", Abi::Plain).unwrap_err();
    assert!(matches!(error, Error::ExportImported { .. }), "{error}");
}
