//! Preparing guests: what is refused and with which words, and what rewriting
//! does to a module.

use touchstone_executor::abi::Abi;
use touchstone_executor::guest::{Growth, GuestModule, HeapPages};
use touchstone_executor::memory::InitialMemory;
use touchstone_executor::{Error, Exports, InstanceFrom, MemoryFrom, Strategy};

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
             (global $never (mut funcref) (ref.null func))
             (func (export "s") (global.set $a (i32.const 3)) (global.set $b (i64.const 4)))
             (table 4 funcref) (func $f) (elem (i32.const 0) $f)
             (func (export "w") (table.copy (i32.const 0) (i32.const 1) (i32.const 1))))"#,
    )
    .unwrap();
    let info = guest.info();
    assert_eq!(info.mutable_globals[0].export.as_deref(), Some("__touchstone_global_0"));
    assert_eq!(info.mutable_globals[1].export.as_deref(), Some("b"));
    assert_eq!(info.mutable_globals.len(), 2, "one is no number and never set");
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

/// Everything that a module can change is named, and nothing else.
#[test]
fn what_a_module_can_change() {
    let everything = r#"(module
        (import "env" "ext_allocator_free_version_1" (func $free (param i32)))
        (memory 2 5) (global $a (mut i32) (i32.const 1)) (global (mut i32) (i32.const 1))
        (table $t 2 9 funcref) (table $u 1 funcref) (table 1 externref)
        (data $d "passive")
        (func (export "f")
          (global.set $a (i32.const 2)) (drop (memory.grow (i32.const 1))) (data.drop $d)
          (table.set $t (i32.const 0) (ref.null func))
          (drop (table.grow $u (ref.null func) (i32.const 1)))))"#;
    for (text, expected) in [
        ("(module)", "nothing"),
        ("(module (memory 1))", "memory (1 page)"),
        ("(module (memory 1) (func (drop (memory.grow (i32.const 1)))))", "memory (1 page, grows)"),
        ("(module (memory 1 1) (func (drop (memory.grow (i32.const 1)))))", "memory (1 page)"),
        ("(module (global (mut i32) (i32.const 1)))", "nothing"),
        (
            "(module (table 1 funcref) (elem $e (i32.const 0) func $f) (func $f (elem.drop $e)))",
            "nothing",
        ),
        (
            everything,
            "memory (2 pages, grows), 1 global, 1 written table, 1 growing table, \
             passive segments (dropped), host's allocator",
        ),
    ] {
        assert_eq!(guest(text).unwrap().info().changeable().to_string(), expected, "{text}");
    }
}

#[test]
fn only_what_is_lost_for_good_refuses_reuse() {
    let reuse = Strategy::new(InstanceFrom::Reuse, MemoryFrom::Segments);
    let refusal = |text: &str| guest(text).unwrap().info().refusal(reuse);
    for (text, word) in [
        // Active and declared segments are dropped by instantiation itself.
        (r#"(memory 1) (data $d (i32.const 0) "x") (func (data.drop $d))"#, ""),
        ("(elem $e declare func $f) (func $f (elem.drop $e))", ""),
        ("(table 1 funcref) (elem $e (i32.const 0) func $f) (func $f (elem.drop $e))", ""),
        ("(elem $e func $f) (func $f (elem.drop $e))", "elem.drop"),
        (r#"(memory 1) (data $d "x") (data (i32.const 0) "y") (func (data.drop $d))"#, "data.drop"),
        (r#"(memory 1) (data $d "x") (func $s (data.drop $d)) (start $s)"#, "data.drop"),
        // Copying from a passive segment leaves it as it was.
        (
            r#"(memory 1) (data $d "x")
               (func (memory.init $d (i32.const 0) (i32.const 0) (i32.const 1)))"#,
            "",
        ),
        ("(global $g (mut funcref) (ref.null func))", ""),
        (
            "(global $g (mut funcref) (ref.null func)) (func (global.set $g (ref.null func)))",
            "not a number",
        ),
        (
            "(global $g (mut v128) (v128.const i64x2 0 0))
             (func (global.set $g (v128.const i64x2 1 1)))",
            "not a number",
        ),
    ] {
        let found = refusal(&format!("(module {text})")).unwrap_or_default();
        assert_eq!(found.is_empty(), word.is_empty(), "{text}: {found}");
        assert!(found.contains(word), "{text}: {found}");
    }
}

/// A memory of Touchstone's gets its content from the bytes: later segments lie over
/// earlier ones, and one outside is found before a guest runs.
#[test]
fn an_image_is_what_instantiation_writes() {
    let memory = |text: &str| {
        let guest = guest(&format!("(module (memory 1) {text})")).unwrap();
        InitialMemory::of(&guest).map(|content| {
            let mut memory = vec![0; content.size()];
            content.write(&mut memory);
            memory[..4].to_vec()
        })
    };
    let overlapping = r#"(data (i32.const 0) "abc") (data (i32.const 1) "XYZ")"#;
    assert_eq!(memory(overlapping).unwrap(), b"aXYZ");
    let passive = r#"(data "passive") (data (i32.const 2) "c")"#;
    assert_eq!(memory(passive).unwrap(), b"\0\0c\0");
    for outside in [r#"(data (i32.const 65535) "ab")"#, r#"(data (i32.const 65537) "")"#] {
        let error = memory(outside).unwrap_err().to_string();
        assert!(error.contains("outside its memory"), "{error}");
    }
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

#[test]
fn vectors_are_seen_wherever_they_are() {
    for (wat, vectors) in [
        ("(module (memory 1) (func (param i64) (local f64)))", false),
        ("(module (func (drop (v128.const i64x2 1 2))))", true),
        ("(module (func (result i32) (i32x4.all_true (i32x4.splat (i32.const 1)))))", true),
        ("(module (func (local v128)))", true),
        ("(module (func (param v128)))", true),
        ("(module (import \"env\" \"f\" (func (result v128))))", true),
        ("(module (global v128 (v128.const i64x2 1 2)))", true),
    ] {
        let guest = guest(wat).unwrap();
        assert_eq!(guest.info().uses_vectors, vectors, "{wat}");
        assert_eq!(guest.info().vector_refusal().is_some(), vectors, "{wat}");
    }
}
