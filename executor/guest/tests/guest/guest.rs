//! Preparing guests: what is refused and with which words, and what rewriting
//! does to a module.

use touchstone_guest::text::similar;
use touchstone_guest::{
    Error, Feature, Features, Growth, GuestModule, HeapPages, ModuleInfo, SegmentTrap,
};

fn guest(wat: &str) -> touchstone_guest::Result<GuestModule> {
    with_heap(wat, HeapPages::default())
}

fn with_heap(wat: &str, heap: HeapPages) -> touchstone_guest::Result<GuestModule> {
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
    assert!(guest.info().supplied.is_empty());
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
    let drops =
        guest(r#"(module (memory 1) (data $d "x") (func (export "f") (data.drop $d)))"#).unwrap();
    assert!(drops.info().reuse_refusal().unwrap().contains("data.drop"));
    assert_eq!(drops.info().image_refusal(), None);
    let starts = guest("(module (memory 1) (func $s) (start $s))").unwrap();
    assert_eq!(starts.info().reuse_refusal(), None);
    assert!(starts.info().image_refusal().unwrap().contains("start function"));
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
        (r#"(module (import "env" "g" (global (ref func))))"#, "global env.g"),
        (r#"(module (import "other" "m" (memory 1 1 shared)))"#, "threads"),
        (r#"(module (import "other" "m" (memory i64 65537)))"#, "65537 pages"),
        (r#"(module (func) (export "memory" (func 0)))"#, "'memory'"),
        (r#"(module (memory 1) (memory 1) (export "memory" (memory 1)))"#, "first"),
    ] {
        let error = guest(wat).unwrap_err();
        assert!(matches!(error, Error::Unhostable { .. }), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
}

/// The canonical module as text, without what rewriting exports.
fn canonical(wat: &str) -> String {
    let guest = guest(wat).unwrap();
    assert!(guest.info().supplied.is_empty());
    assert!(!guest.info().features.has(Feature::ExtendedConst));
    wasmprinter::print_bytes(guest.wasm()).unwrap()
}

#[test]
fn imported_memories_tables_and_globals_become_definitions_with_the_same_index() {
    let text = canonical(
        r#"(module (type (func))
          (import "a" "b" (memory 2 9)) (import "env" "f" (func))
          (import "env" "__indirect_function_table" (table 5 funcref))
          (import "env" "__stack_pointer" (global (mut i32)))
          (import "env" "unknown" (global i64)) (import "env" "e" (global externref))
          (import "global" "NaN" (global f64)) (import "env" "base" (global i32))
          (table 7 externref) (global i32 (i32.const 77)) (global i32 (global.get 4))
          (elem (table 0) (global.get 4) func 0) (data (global.get 4) "x")
          (func (export "g") (result i32) (drop (table.get 1 (i32.const 0))) (global.get 5)))"#,
    );
    for part in [
        r#"(import "env" "f" (func (;0;) (type 0)))"#,
        "(table (;0;) 5 funcref)",
        "(table (;1;) 7 externref)",
        "(memory (;0;) 2 9)",
        "(global (;0;) (mut i32) i32.const 131072)",
        "(global (;1;) i64 i64.const 0)",
        "(global (;2;) externref ref.null extern)",
        "(global (;3;) f64 f64.const nan ",
        "(global (;4;) i32 i32.const 0)",
        "(global (;5;) i32 i32.const 77)",
        "(global (;6;) i32 i32.const 0)",
        "(elem (;0;) (table 0) (i32.const 0) func 0)",
        "(data (;0;) (i32.const 0) \"x\")",
        "global.get 5",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

/// A library of `wasm-ld -shared`: data and functions at a base, symbols through globals.
#[test]
fn a_library_is_linked_with_itself() {
    let text = canonical(
        r#"(module (@custom "dylink.0" (before first) "\01\05\e8\07\04\02\00")
          (import "env" "memory" (memory 0)) (import "env" "__indirect_function_table" (table 0 funcref))
          (import "env" "__memory_base" (global i32)) (import "env" "__table_base" (global i32))
          (import "env" "__stack_pointer" (global (mut i32)))
          (import "GOT.mem" "symbol" (global (mut i32))) (import "GOT.mem" "gone" (global (mut i32)))
          (import "GOT.func" "g" (global (mut i32))) (import "GOT.mem" "__heap_base" (global (mut i32)))
          (global (export "symbol") i32 (i32.const 12))
          (global (export "sum") i32 (i32.add (global.get 0) (i32.const 12)))
          (elem (global.get 1) func $f $g)
          (data (global.get 0) "data")
          (func $f) (func $g (export "g")))"#,
    );
    for part in [
        "(memory (;0;) 17)",
        "(table (;0;) 4 funcref)",
        "(global (;0;) i32 i32.const 1024)",
        "(global (;1;) i32 i32.const 1)",
        // 1024 + 1000 bytes of data, 1 MiB of stack.
        "(global (;2;) (mut i32) i32.const 1050608)",
        "(global (;3;) (mut i32) i32.const 1036)",
        "(global (;4;) (mut i32) i32.const 0)",
        "(global (;5;) (mut i32) i32.const 3)",
        "(global (;6;) (mut i32) i32.const 1050608)",
        "(global (;8;) i32 i32.const 1036)",
        "(elem (;0;) (i32.const 1) func $f $g)",
        "(elem (;1;) (i32.const 3) func $g)",
        "(data (;0;) (i32.const 1024) \"data\")",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

#[test]
fn what_answers_an_import_is_told() {
    let wasm = wat::parse_str(
        r#"(module (import "a" "m" (memory 1)) (import "a" "f" (func)) (import "a" "t" (table 1 funcref))
             (import "a" "__memory_base" (global i32)) (import "a" "r" (global funcref)))"#,
    );
    let info = ModuleInfo::read(&wasm.unwrap()).unwrap();
    let answers: Vec<_> =
        info.supplied.iter().map(|given| format!("{}: {}", given.name, given.item)).collect();
    assert_eq!(
        answers,
        [
            "m: a zeroed memory",
            "t: a table of null entries",
            "__memory_base: a global, 1024",
            "r: a global, null or zero"
        ]
    );
}

#[test]
fn several_memories_keep_their_limits_and_refuse_touchstones_memories() {
    let heap = HeapPages { extra: 1, growth: Growth::UpTo(10) };
    let guest = with_heap(
        r#"(module (memory 2 9) (memory 3) (memory i64 1 4)
             (data (memory 1) (i32.const 0) "second") (data (i32.const 8) "first"))"#,
        heap,
    )
    .unwrap();
    let text = wasmprinter::print_bytes(guest.wasm()).unwrap();
    for part in ["(memory (;0;) 3 9)", "(memory (;1;) 3 10)", "(memory (;2;) i64 1 4)"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    // The maximum of the first memory is none of the others.
    for (growth, second) in
        [(Growth::AsDeclared, "0 2"), (Growth::UpTo(1), "0 1"), (Growth::Fixed, "0 0")]
    {
        let small = with_heap("(module (memory 0 0) (memory 0 2))", HeapPages { extra: 0, growth });
        let text = wasmprinter::print_bytes(small.unwrap().wasm()).unwrap();
        assert!(text.contains(&format!("(memory (;1;) {second})")), "{growth:?}: {text}");
    }
    let info = guest.info();
    assert_eq!(info.data_bytes, 5, "of the first memory");
    let all: Features = Feature::ALL.into_iter().collect();
    assert!(info.reuse_refusal().unwrap().contains("more than one memory"));
    assert!(info.image_refusal().unwrap().contains("more than one memory"));
    assert_eq!(info.feature_refusal(all), None);
    let refused = info.feature_refusal(Features::WASM2).unwrap();
    assert!(refused.contains("more than one memory, 64-bit memories"), "{refused}");
}

#[test]
fn a_64_bit_memory_without_a_limit_gets_one() {
    let guest = guest("(module (memory i64 1))").unwrap();
    let text = wasmprinter::print_bytes(guest.wasm()).unwrap();
    assert!(text.contains("(memory (;0;) i64 1 65536)"), "{text}");
}

#[test]
fn objects_that_are_collected_refuse_reuse() {
    let guest = guest(
        "(module (type $s (struct (field (mut i32))))
           (global $g (ref $s) (struct.new $s (i32.const 1)))
           (func (export \"f\") (struct.set $s 0 (global.get $g) (i32.const 2))))",
    )
    .unwrap();
    assert!(guest.info().reuse_refusal().unwrap().contains("garbage-collected"));
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
        assert_eq!(guest(text).unwrap().info().changeable(), expected, "{text}");
    }
}

#[test]
fn only_what_is_lost_for_good_refuses_reuse() {
    let refusal = |text: &str| guest(text).unwrap().info().reuse_refusal();
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
        guest.initial_content().map(|content| {
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
        let error = memory(outside).unwrap_err();
        assert!(matches!(error, Error::Segment(SegmentTrap::Memory)), "{error}");
    }
}

#[test]
fn names_that_resemble_are_looked_for_within_bounds() {
    let names: Vec<String> = (0..100_000).map(|at| format!("{at}{}", "x".repeat(200))).collect();
    let all = || names.iter().map(String::as_str);
    assert_eq!(similar("7y", all().take(10).chain(["7"])), ["7"]);
    // Of very many names, only the first ones are looked at.
    let wanted = format!("{}{}", 99_999, "x".repeat(199));
    assert!(!similar(&wanted, all()).contains(&names[99_999]));
    assert_eq!(similar(&wanted, all().skip(99_990))[0], names[99_999]);
    assert_eq!(similar(&"x".repeat(1_000_000), all()), [""; 0]);
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
        assert_eq!(guest.info().features.has(Feature::Vectors), vectors, "{wat}");
        let without = Features::WASM2.without(Feature::Vectors);
        assert_eq!(guest.info().feature_refusal(without).is_some(), vectors, "{wat}");
    }
}

#[test]
fn names_of_the_host_are_refused() {
    for export in [
        r#"(func (export "__touchstone_reset"))"#,
        r#"(func (export "__touchstone_global_0"))"#,
        r#"(global (export "__touchstone_global_0") (mut i32) (i32.const 0))"#,
        r#"(table (export "__touchstone_x") 1 funcref)"#,
    ] {
        let wat = format!("(module (global $own (mut i32) (i32.const 0)) {export})");
        let error = guest(&wat).unwrap_err().to_string();
        assert!(error.contains("'__touchstone_"), "{error}");
    }
    // What an earlier rewriting has added is added once.
    let wat = "(module (global (mut i32) (i32.const 0)) (table 1 funcref)
        (func (table.set (i32.const 0) (ref.null func))))";
    let once = guest(wat).unwrap();
    let twice = GuestModule::new("again", once.wasm(), HeapPages::default()).unwrap();
    assert_eq!(once.wasm(), twice.wasm());
}

#[test]
fn one_name_with_two_types_is_seen() {
    let refusal = |second: &str| {
        let imports = format!(
            r#"(module (import "env" "x" (func (param i32))) (import "a" "x" (func (param i64)))
                (import "env" "x" (func (param {second}))))"#
        );
        guest(&imports).unwrap().info().import_refusal()
    };
    assert!(refusal("i64").unwrap().contains("env.x with two types"));
    assert_eq!(refusal("i32"), None);
}

/// Each inside the next one, or one beside the other. Reading and rewriting take stack and time for
/// each.
#[test]
fn components_without_end_are_refused() {
    const HEADER: &[u8] = b"\0asm\x0d\0\x01\0";
    let section = |id: u8, content: &[u8]| {
        let mut bytes = vec![id];
        let mut length = content.len();
        while length > 127 {
            bytes.push(length as u8 | 128);
            length >>= 7;
        }
        bytes.push(length as u8);
        [&bytes, content].concat()
    };
    let nested = |depth: usize| {
        let inside = |inner: Vec<u8>, _| [HEADER, &section(4, &inner)].concat();
        (1..depth).fold(HEADER.to_vec(), inside)
    };
    let refusal = |bytes: &[u8]| {
        let read = GuestModule::new("guest", bytes, HeapPages::default());
        read.err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(refusal(&nested(90)), "");
    for depth in [200, 2000] {
        let refused = refusal(&nested(depth));
        assert!(refused.contains("more than 100 deep"), "{depth}: {refused}");
    }
    let empty = section(1, b"\0asm\x01\0\0\0");
    let beside = |count: usize| [HEADER, &empty.repeat(count)].concat();
    assert_eq!(refusal(&beside(900)), "");
    let refused = refusal(&beside(20_000));
    assert!(refused.contains("modules"), "{refused}");
}
