//! Linking: which export answers which import, and the module that comes out.

use arbitrary::Unstructured;
use touchstone_guest::{Error, GuestModule, HeapPages, Layout, LinkError, link};
use wasm_encoder::{EntityType, ImportSection, Module, RawSection, TagKind, TagType};
use wasmparser::{ExternalKind, Parser, Payload};

fn linked(main: &str, libraries: &[(&str, &str)]) -> touchstone_guest::Result<GuestModule> {
    let libraries: Vec<(&str, Vec<u8>)> =
        libraries.iter().map(|(name, text)| (*name, wat::parse_str(text).unwrap())).collect();
    let libraries: Vec<_> = libraries.iter().map(|(name, wasm)| (*name, &wasm[..])).collect();
    let wasm = link(&wat::parse_str(main).unwrap(), &libraries)?;
    GuestModule::new("linked", &wasm, HeapPages::default())
}

/// The text of the linked module.
fn text(main: &str, libraries: &[(&str, &str)]) -> String {
    let guest = linked(main, libraries).unwrap_or_else(|error| panic!("{main}: {error}"));
    wasmprinter::print_bytes(guest.wasm()).unwrap()
}

fn refusal(main: &str, libraries: &[(&str, &str)]) -> Error {
    linked(main, libraries).expect_err(main)
}

#[test]
fn without_libraries_it_is_the_module_itself() {
    let main = r#"(module (import "env" "f" (func $f (param i32))) (memory 1)
        (func $g (export "g") (call $f (i32.const 1))) (start $g) (data (i32.const 3) "x"))"#;
    let plain = GuestModule::new("x", &wat::parse_str(main).unwrap(), HeapPages::default());
    let plain = wasmprinter::print_bytes(plain.unwrap().wasm()).unwrap();
    assert_eq!(text(main, &[]), plain);
}

/// Every index space, and every instruction that names a segment.
#[test]
fn items_keep_what_they_name() {
    let library = r#"(module
        (type $t (func (param i32) (result i32)))
        (global (export "base") i32 (i32.const 64))
        (global $count (export "count") (mut i32) (i32.const 5))
        (table (export "table") 4 funcref)
        (memory (export "memory") 1)
        (elem (i32.const 1) $twice)
        (elem $passive func $twice)
        (data $d "library")
        (tag (export "tag") (param i32))
        (func $twice (export "twice") (type $t) (i32.mul (local.get 0) (i32.const 2)))
        (func $drop (elem.drop $passive) (data.drop $d)))"#;
    let main = r#"(module
        (type (func)) (type $t (func (param i32) (result i32)))
        (import "lib" "memory" (memory 1))
        (import "lib" "base" (global $base i32))
        (import "lib" "count" (global $count (mut i32)))
        (import "lib" "table" (table $table 2 funcref))
        (import "lib" "twice" (func $twice (type $t)))
        (import "lib" "tag" (tag $tag (param i32)))
        (elem (offset (global.get $base)) funcref (ref.func $own))
        (data $d "main")
        (data (offset (global.get $base)) "at 64")
        (func $own (export "run") (param i32) (result i32)
          (global.set $count (i32.const 1))
          (memory.init $d (i32.const 0) (i32.const 0) (i32.const 4))
          (call_indirect $table (type $t) (call $twice (local.get 0)) (i32.const 1))
          (throw $tag)))"#;
    let text = text(main, &[("lib", library)]);
    for part in [
        // The names of both modules, the constant in the place of a global, moved segments.
        "call $twice",
        "data.drop 0",
        "memory.init 1",
        "(elem (;2;) (i32.const 64)",
        "(data (;2;) (i32.const 64) \"at 64\")",
        "elem.drop 1",
        "(export \"run\"",
        "(export \"memory\" (memory 0))",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    // Only the main module's exports, and what a reset needs.
    assert!(!text.contains("(export \"twice\"") && !text.contains("(import"), "{text}");
}

#[test]
fn libraries_get_what_the_main_module_has() {
    let main = r#"(module (import "lib" "f" (func)) (import "env" "log" (func (param f64)))
        (memory 2) (table $t (export "table") 1 funcref)
        (func (export "own") (result i32) (i32.const 7)))"#;
    let library = r#"(module
        (import "env" "memory" (memory 1)) (import "main" "memory" (memory 1 65536))
        (import "env" "table" (table 1 funcref)) (import "main" "own" (func (result i32)))
        (import "env" "log" (func $log (param f64))) (import "env" "log" (func (param f32)))
        (import "env" "other" (func))
        (func (export "f") (i32.store (i32.const 0) (i32.const 1))))"#;
    let error = refusal(main, &[("lib", library)]).to_string();
    assert!(error.contains("main.memory as (memory 1 65536)"), "{error}");
    let text = text(main, &[("lib", &library.replace(" 65536", ""))]);
    assert_eq!(text.matches("(memory (;").count(), 1, "{text}");
    assert_eq!(text.matches("(table (;").count() + text.matches("(table $t").count(), 1, "{text}");
    // One of each name and type.
    let imports: Vec<_> = text.lines().filter(|line| line.contains("(import")).collect();
    assert_eq!(imports.len(), 3, "{text}");
}

#[test]
fn the_main_memory_is_the_first_one() {
    let own = "(module (memory (export \"memory\") 3) (func (export \"f\")))";
    let importing = r#"(import "lib" "f" (func))"#;
    for (main, library, pages) in [
        (format!("(module {importing} (memory 2))"), own, 2),
        (format!("(module {importing})"), own, 3),
        (format!("(module {importing} (import \"lib\" \"memory\" (memory 1)))"), own, 3),
        (
            format!("(module {importing} (import \"env\" \"memory\" (memory 4)))"),
            r#"(module (import "env" "memory" (memory 3)) (func (export "f")))"#,
            4,
        ),
        (
            format!("(module {importing} (import \"lib\" \"second\" (memory 1)))"),
            r#"(module (memory 8) (memory (export "second") 5) (func (export "f")))"#,
            5,
        ),
    ] {
        let guest = linked(&main, &[("lib", library)]).unwrap();
        assert_eq!(guest.info().memory.unwrap().minimum, pages, "{main}");
    }
    let error = refusal(
        "(module (import \"lib\" \"f\" (func)) (memory 1))",
        &[("lib", r#"(module (import "x" "m" (memory 1)) (func (export "f")))"#)],
    );
    assert!(error.to_string().contains("the library 'lib' imports the memory x.m"), "{error}");
}

#[test]
fn start_functions_run_in_the_order_of_the_libraries() {
    let started = |name: &str| format!("(module (func ${name} (nop)) (start ${name}))");
    let [first, second, main] = ["first", "second", "main"].map(started);
    let all = text(&main, &[("a", &first), ("b", &second)]);
    let calls: Vec<_> = all.lines().map(str::trim).filter(|line| line.contains("call")).collect();
    assert_eq!(calls, ["call $first", "call $second", "call $main"], "{all}");
    let only = text("(module)", &[("a", &first)]);
    assert!(only.contains("(start $first)"), "{only}");
}

/// An export declares a function for `ref.func`; it goes, so something else has to.
#[test]
fn functions_that_code_refers_to_stay_declared() {
    let library = r#"(module (func $own (export "own"))
        (func (export "reference") (result funcref) (ref.func $own)))"#;
    let main = r#"(module (import "lib" "reference" (func (result funcref))))"#;
    assert!(text(main, &[("lib", library)]).contains("declare func $own"));
}

#[test]
fn types_are_compared_by_their_structure() {
    let library = r#"(module
        (rec (type $a (struct (field (ref null $a)))) (type (array i8)))
        (type $f (sub (func (param (ref null $a))))) (type $g (sub $f (func (param (ref null $a)))))
        (func (export "f") (type $f)) (func (export "g") (type $g))
        (global (export "typed") (ref null $a) (ref.null $a))
        (global (export "changed") (mut (ref null $a)) (ref.null $a)))"#;
    let main = |import: &str| {
        format!(
            r#"(module (type (func)) (rec (type $a (struct (field (ref null $a)))) (type (array i8)))
                 (type $b (struct (field (ref null $b))))
                 (type $f (sub (func (param (ref null $a)))))
                 (type $h (sub (func (param (ref null $b)))))
                 (import "lib" {import}))"#
        )
    };
    for (import, fits) in [
        (r#""f" (func (type $f))"#, true),
        (r#""g" (func (type $f))"#, true),
        (r#""f" (func (type $h))"#, false),
        (r#""typed" (global (ref null $a))"#, true),
        (r#""typed" (global anyref)"#, true),
        (r#""typed" (global (mut (ref null $a)))"#, false),
        (r#""changed" (global (mut (ref null $a)))"#, true),
        (r#""changed" (global (mut anyref))"#, false),
        (r#""changed" (global (mut (ref null $b)))"#, false),
    ] {
        let result = linked(&main(import), &[("lib", library)]);
        match result {
            Ok(_) => assert!(fits, "{import}"),
            Err(error) => {
                assert!(
                    !fits
                        && matches!(error, Error::Link(ref link) if matches!(**link, LinkError::Import { .. })),
                    "{import}: {error}"
                );
            }
        }
    }
}

#[test]
fn errors_name_the_import_both_types_and_the_nearest_export() {
    let library = r#"(module (func (export "twice") (param i32) (result i32) (local.get 0))
        (memory (export "memory") 1 2) (global (export "g") (mut i64) (i64.const 0))
        (table (export "t") 2 funcref) (tag (export "e") (param f32)))"#;
    for (import, message) in [
        (
            r#""twise" (func (param i32))"#,
            "the main module imports lib.twise as (func (param i32)), which the library 'lib' does \
             not export; near: twice",
        ),
        (
            r#""twice" (func (param i64))"#,
            "the main module imports lib.twice as (func (param i64)), which the library 'lib' has \
             as (func (param i32) (result i32))",
        ),
        (r#""memory" (memory 2)"#, "as (memory 2), which the library 'lib' has as (memory 1 2)"),
        (r#""memory" (memory 1 1)"#, "as (memory 1 1), which"),
        (r#""memory" (memory i64 1 2)"#, "as (memory i64 1 2), which"),
        (
            r#""g" (global i64)"#,
            "as (global i64), which the library 'lib' has as (global (mut i64))",
        ),
        (r#""t" (table 3 funcref)"#, "as (table 3 funcref), which"),
        (r#""t" (table 1 externref)"#, "as (table 1 externref), which"),
        (r#""e" (tag (param i32))"#, "as (tag (param i32)), which the library 'lib' has as (tag"),
        (r#""e" (func)"#, "as (func), which the library 'lib' has as (tag (param f32))"),
    ] {
        let error = refusal(&format!("(module (import \"lib\" {import}))"), &[("lib", library)]);
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn what_no_order_answers_is_refused() {
    let f = r#"(module (func (export "f")))"#;
    let user = r#"(module (import "a" "f" (func $f)) (export "f" (func $f)))"#;
    // One after the other.
    assert!(linked(r#"(module (import "b" "f" (func)))"#, &[("a", f), ("b", user)]).is_ok());
    let dynamic = r#"(module (@custom "dylink.0" (before first) "\01\04\00\00\00\00"))"#;
    let own_memory = r#"(module
        (import "wasi_snapshot_preview1" "fd_close" (func (param i32) (result i32))) (memory 1))"#;
    for (main, libraries, message) in [
        (f, vec![("b", user), ("a", f)], "the library 'b' imports a.f, and 'a' is not linked"),
        (f, vec![("a", f), ("a", f)], "two of them are called 'a'"),
        (f, vec![("main", f)], "two of them are called 'main'"),
        (f, vec![("a", "(component)")], "cannot link 'a': the module cannot be hosted: it is a c"),
        (f, vec![("a", dynamic)], "cannot link 'a': the module cannot be hosted: it has a section"),
        (
            "(module (memory 1))",
            vec![("a", own_memory)],
            "cannot link 'a': the module cannot be hosted: it imports \
             wasi_snapshot_preview1.fd_close, a host function",
        ),
        (
            user,
            vec![("a", r#"(module (import "main" "f" (func $f)) (export "f" (func $f)))"#)],
            "the modules cannot be linked: the modules import something from each other",
        ),
        (
            r#"(module (import "a" "g" (global anyref))
                 (global (export "h") anyref (ref.i31 (i32.const 1))))"#,
            vec![(
                "a",
                r#"(module (import "main" "h" (global $h anyref))
                     (global (export "g") anyref (global.get $h)))"#,
            )],
            "the result does not validate",
        ),
    ] {
        let error = refusal(main, &libraries);
        assert!(error.to_string().contains(message), "{error}");
    }
    assert!(linked("(module)", &[("a", own_memory)]).is_ok());
    let text = link(&wat::parse_str(f).unwrap(), &[("a", b"(module)")]).unwrap_err().to_string();
    assert!(text.contains("cannot link 'a'") && text.contains("wat2wasm"), "{text}");
}

/// A random module that exports all it has, and imports what is offered.
fn random(seed: u64, imports: Vec<u8>) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
    .take(4096)
    .collect();
    let config = wasm_smith::Config {
        available_imports: Some(imports),
        export_everything: true,
        exceptions_enabled: true,
        extended_const_enabled: true,
        gc_enabled: false,
        memory64_enabled: true,
        tail_call_enabled: true,
        max_memories: 3,
        max_memory32_bytes: 1 << 20,
        max_memory64_bytes: 1 << 20,
        max_tables: 3,
        max_imports: 20,
        min_exports: 4,
        threads_enabled: false,
        wide_arithmetic_enabled: false,
        custom_page_sizes_enabled: false,
        shared_everything_threads_enabled: false,
        custom_descriptors_enabled: false,
        ..wasm_smith::Config::default()
    };
    wasm_smith::Module::new(config, &mut Unstructured::new(&bytes)).unwrap().to_bytes()
}

/// A module that imports all that another one exports, for `wasm-smith` to choose from.
fn importing(library: &[u8]) -> Vec<u8> {
    let layout = Layout::of(library).unwrap();
    let mut module = Module::new();
    for payload in Parser::new(0).parse_all(library) {
        if let Payload::TypeSection(section) = payload.unwrap() {
            module.section(&RawSection { id: 1, data: &library[section.range()] });
        }
    }
    let mut imports = ImportSection::new();
    for (name, kind, index) in &layout.exports {
        let at = *index as usize;
        let ty = match kind {
            ExternalKind::Func | ExternalKind::FuncExact => {
                EntityType::Function(layout.functions[at])
            }
            ExternalKind::Table => EntityType::Table(layout.tables[at].try_into().unwrap()),
            ExternalKind::Memory => EntityType::Memory(layout.memories[at].into()),
            ExternalKind::Global => EntityType::Global(layout.globals[at].try_into().unwrap()),
            ExternalKind::Tag => EntityType::Tag(TagType {
                kind: TagKind::Exception,
                func_type_idx: layout.tags[at],
            }),
        };
        imports.import("lib", name, ty);
    }
    module.section(&imports);
    module.finish()
}

#[test]
#[cfg_attr(miri, ignore = "makes many modules: slow")]
fn random_modules_link() {
    let mut answered = 0;
    let host = r#"(module (import "env" "f" (func (param f32))) (import "env" "g" (func))
        (import "env" "global" (global i32)) (import "env" "tag" (tag (param i64))))"#;
    for seed in 0..300 {
        let library = random(seed, wat::parse_str(host).unwrap());
        let main = random(seed + 1000, importing(&library));
        let imports = |wasm: &[u8]| Layout::of(wasm).unwrap().imported;
        let library = match link(&main, &[("lib", &library)]) {
            Ok(linked) => linked,
            // A host function that takes an address.
            Err(Error::Link(link)) if matches!(*link, LinkError::Library { .. }) => continue,
            Err(error) => panic!("{seed}: {error}"),
        };
        answered += u32::from(imports(&main) != imports(&library));
    }
    assert!(answered > 100, "{answered}");
}
