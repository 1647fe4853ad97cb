//! Preparing guests: what is refused and with which words, and what rewriting
//! does to a module.

use touchstone_executor::guest::{Growth, GuestModule, HeapPages};
use touchstone_executor::{Error, InstanceFrom, MemoryFrom, Strategy};

fn guest(wat: &str) -> touchstone_executor::Result<GuestModule> {
    with_heap(wat, HeapPages::default())
}

fn with_heap(wat: &str, heap: HeapPages) -> touchstone_executor::Result<GuestModule> {
    GuestModule::new("guest", &wat::parse_str(wat).unwrap(), heap)
}

#[test]
fn files_that_are_no_module_are_named() {
    for (bytes, word) in [
        (&b""[..], "empty"),
        (b"\0a", "cut off"),
        (b"hello world, this is text", "text file"),
        (b"(module)", "wat2wasm"),
        (b"\x7fELF\x02", "ELF"),
        (b"\xff\xfe\xfd\xfc", "starts with"),
    ] {
        let error = GuestModule::new("x", bytes, HeapPages::default()).unwrap_err();
        assert!(matches!(error, Error::NotAModule { .. }), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn a_truncated_module_does_not_validate() {
    let wasm = wat::parse_str("(module (func (export \"f\")) (memory 1))").unwrap();
    for length in 8..wasm.len() {
        // Cut between two sections, what is left may be a whole module.
        if let Err(error) = GuestModule::new("x", &wasm[..length], HeapPages::default()) {
            assert!(matches!(error, Error::Invalid { .. }), "{error}");
        }
    }
}

#[test]
fn an_imported_memory_becomes_a_raised_exported_one() {
    let guest = with_heap(
        r#"(module (import "env" "f" (func)) (import "env" "memory" (memory 3 9))
             (data (i32.const 8) "abc") (global (export "__heap_base") i32 (i32.const 1234)))"#,
        HeapPages { extra: 5, growth: Growth::Fixed },
    )
    .unwrap();
    let memory = guest.info().memory.unwrap();
    assert_eq!((memory.minimum, memory.maximum), (8, Some(8)));
    assert!(!guest.info().memory_imported);
    assert_eq!(guest.info().heap_base, Some(1234));
    assert_eq!(guest.info().imports.len(), 1);

    let imported = guest.with_imported_memory().unwrap();
    let again = GuestModule::new("again", &imported, HeapPages::default()).unwrap();
    assert_eq!(again.info().memory, guest.info().memory);

    let stripped = GuestModule::new("s", &guest.without_data().unwrap(), HeapPages::default());
    assert_eq!(stripped.unwrap().info().data_bytes, 0);
}

#[test]
fn hidden_mutable_globals_and_written_tables_become_reachable() {
    let guest = guest(
        r#"(module (global $a (mut i32) (i32.const 1)) (global $b (export "b") (mut i64) (i64.const 2))
             (table 4 funcref) (func $f) (elem (i32.const 0) $f)
             (func (export "w") (table.copy (i32.const 0) (i32.const 1) (i32.const 1))))"#,
    )
    .unwrap();
    let info = guest.info();
    assert_eq!(info.mutable_globals[0].export.as_deref(), Some("__touchstone_global_0"));
    assert_eq!(info.mutable_globals[1].export.as_deref(), Some("b"));
    assert!(info.writes_tables);
    assert_eq!(info.tables[0].export.as_deref(), Some("__touchstone_table_0"));
}

#[test]
fn what_cannot_be_brought_back_refuses_reuse_with_the_reason() {
    let reuse = Strategy::new(InstanceFrom::Reuse, MemoryFrom::Segments);
    let recreate = Strategy::new(InstanceFrom::Recreate, MemoryFrom::Resident);
    let drops =
        guest(r#"(module (memory 1) (data $d "x") (func (export "f") (data.drop $d)))"#).unwrap();
    assert!(drops.info().refusal(reuse).unwrap().contains("data.drop"));
    assert_eq!(drops.info().refusal(recreate), None);
    let starts = guest("(module (memory 1) (func $s) (start $s))").unwrap();
    assert_eq!(starts.info().refusal(reuse), None);
    assert!(starts.info().refusal(recreate).unwrap().contains("start function"));
}

#[test]
fn limits_are_kept() {
    let heap = |extra, growth| HeapPages { extra, growth };
    let memory = |text: &str, heap| with_heap(text, heap).map(|guest| guest.info().memory.unwrap());
    let limits = memory("(module (memory 1 2))", heap(2048, Growth::AsDeclared)).unwrap();
    assert_eq!((limits.minimum, limits.maximum), (2049, Some(2049)));
    let limits = memory("(module (memory 1))", heap(0, Growth::UpTo(16))).unwrap();
    assert_eq!((limits.minimum, limits.maximum), (1, Some(16)));
    for error in [
        memory("(module (memory 65000))", heap(2048, Growth::AsDeclared)).unwrap_err(),
        memory("(module (memory 20))", heap(0, Growth::UpTo(16))).unwrap_err(),
    ] {
        assert!(matches!(error, Error::Unhostable { .. }), "{error}");
    }
}

#[test]
fn what_no_host_offers_is_refused() {
    for (wat, word) in [
        (r#"(module (import "env" "g" (global i32)))"#, "global env.g"),
        (r#"(module (import "env" "t" (table 1 funcref)))"#, "table env.t"),
        (r#"(module (import "other" "memory" (memory 1)))"#, "memory other.memory"),
        (r#"(module (func) (export "memory" (func 0)))"#, "'memory'"),
    ] {
        let error = guest(wat).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    }
}
