//! Rewritten guests: valid, and changed where it is asked for.

use super::*;
use touchstone_executor::guest::{HeapPages, ModuleInfo};

const NONE: Changes = Changes { memory_of_ours: false, clock: false };
const ALL: Changes = Changes { memory_of_ours: true, clock: true };

fn rewritten(text: &str, changes: Changes) -> (Rewritten, guest::Result<ModuleInfo>) {
    let bytes = wat::parse_str(text).unwrap();
    let guest = GuestModule::new("guest", &bytes, HeapPages::default()).unwrap();
    let rewritten = rewrite(&guest, changes).unwrap();
    wasmparser::validate(&rewritten.wasm).unwrap();
    let info = ModuleInfo::read(&rewritten.wasm);
    (rewritten, info)
}

#[test]
fn names_of_imports_and_growth_change() {
    let text = r#"(module
      (import "env" "twice" (func (param i32)))
      (import "env" "twice" (func (param i64)))
      (memory 3 5) (data (i32.const 9) "content")
      (func $f (export "a") (export "b") (loop (drop (memory.grow (i32.const 1)))))
      (func (export "c") (call $f)))"#;
    let (rewritten, info) = rewritten(text, NONE);
    let info = info.unwrap();
    let names: Vec<_> = info.imports.iter().map(|import| import.name.as_str()).collect();
    assert_eq!(names, ["0", "1", "2"]);
    assert_eq!(rewritten.added, [Added::Grow]);
    assert!(!info.grows_memory);
    assert!(info.mutable_globals.is_empty() && info.data_bytes == 7);
}

/// The code section of a module.
fn code(wasm: &[u8]) -> &[u8] {
    let mut payloads = Parser::new(0).parse_all(wasm).map(Result::unwrap);
    let range = payloads.find_map(|payload| match payload {
        Payload::CodeSectionStart { range, .. } => Some(range),
        _ => None,
    });
    &wasm[range.unwrap()]
}

/// Neither counters nor other checks stand in recursive functions. The host's own call is there
/// where the memory grows, and the indices behind it shift by one.
#[test]
fn recursive_functions_stay_as_they_are() {
    let text = |growth: &str, function: &str| {
        format!(
            r#"(module (import "env" "f" (func $import)) {growth}
              (memory 1 9) (data (i32.const 8) "data") (table 2 funcref) (elem (i32.const 0) $g)
              (type $t (func (param i32) (result i32)))
              (func $f (export "f") (param i32) (result i32)
                (call $import) (i32.store (i32.const 8) (local.get 0))
                (i32.add (i32.const 1) (call $f (i32.sub (local.get 0) (i32.const 1)))))
              (func $g (type $t) (call_indirect (type $t) (local.get 0) (i32.const 0)))
              (func (export "grow") (drop ({function} (i32.const 1)))))"#
        )
    };
    let memory_of_ours = Changes { memory_of_ours: true, ..NONE };
    for changes in [NONE, memory_of_ours] {
        let plain = text("", "i32.clz");
        let (rewritten, _) = rewritten(&plain, changes);
        assert!(rewritten.added.is_empty());
        assert_eq!(code(&rewritten.wasm), code(&wat::parse_str(plain).unwrap()));
    }
    let growth = r#"(import "host" "grow" (func $grow (param i32) (result i32)))"#;
    let expected = wat::parse_str(text(growth, "call $grow")).unwrap();
    for changes in [NONE, memory_of_ours] {
        let (rewritten, _) = rewritten(&text("", "memory.grow"), changes);
        assert_eq!(rewritten.added, [Added::Grow]);
        assert_eq!(code(&rewritten.wasm), code(&expected));
    }
}

#[test]
fn everything_at_once_is_a_valid_module() {
    let text = r#"(module (import "env" "f" (func $import (result f64)))
      (memory 3 5) (data (i32.const 9) "content") (data $passive "passive")
      (global $hidden (mut i32) (i32.const 1)) (global (export "__heap_base") i32 (i32.const 8))
      (table 2 funcref) (elem (i32.const 0) $f $import)
      (type $t (func (result f64)))
      (func $f (export "f") (result f64)
        (memory.init $passive (i32.const 0) (i32.const 0) (i32.const 1))
        (loop (br_if 0 (global.get $hidden)))
        (drop (call $f)) (call_indirect (type $t) (i32.const 1))))"#;
    let (rewritten, info) = rewritten(text, ALL);
    assert_eq!(rewritten.added, [Added::Clock]);
    // The memory is imported.
    assert_eq!(info.unwrap().supplied.len(), 1);
}

/// Behind the guest's functions, of which the compiler knows the code.
#[test]
fn references_to_imports_are_to_functions_that_call_them() {
    let text = r#"(module (import "env" "f" (func $import (param i32 i64) (result f64)))
      (import "env" "g" (func $named))
      (table 2 funcref) (elem (i32.const 0) $import) (elem declare func $import)
      (export "import" (func $import)) (global funcref (ref.func $import))
      (func (export "f") (call $named) (drop (ref.func $import)) (drop (call $import
        (i32.const 1) (i64.const 2)))))"#;
    let (rewritten, info) = rewritten(text, ALL);
    assert_eq!(rewritten.added, [Added::Clock]);
    assert_eq!(info.unwrap().functions, 5);
}

/// With the exports of the guest, or in a section of its own.
#[test]
fn a_start_function_becomes_an_export() {
    for start in ["$import", "$own"] {
        for other in ["(memory 1)", "", r#"(export "own" (func $own))"#] {
            let text = format!(
                r#"(module (import "env" "f" (func $import)) (func $own) {other} (start {start}))"#
            );
            let (rewritten, info) = rewritten(&text, NONE);
            let info = info.unwrap();
            assert!(rewritten.has_start && !info.has_start);
            assert!(info.exports.iter().any(|export| export.name == super::start()), "{start}");
        }
    }
}

#[test]
fn a_module_without_code_stays_without_imports() {
    let (rewritten, info) = rewritten("(module (memory 1))", Changes { clock: true, ..NONE });
    assert!(rewritten.added.is_empty() && info.unwrap().imports.is_empty());
}
