//! An engine compiles and loads all that it claims to support: `support_for` is the only answer of
//! every command.

use crate::everywhere::on_every_engine;
#[path = "../common/guests.rs"]
#[allow(dead_code, reason = "not every guest is used")]
mod texts;

use crate::everywhere::in_process as strategies;
use parking_lot::Mutex;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Artifact, Config, Error, Imports, Strategy, Support};

/// Modules that use what engines differ in, each in another place: types of imports, of exports
/// that nobody calls, of tables and globals, instructions, limits.
const MODULES: &[&str] = &[
    // Types of imports.
    r#"(import "./x_bg.js" "__wbg_new" (func $new (result externref)))
       (import "./x_bg.js" "__wbg_log" (func (param externref i32)))
       (table $t 4 externref)
       (func (export "g") (table.set $t (i32.const 1) (call $new)))"#,
    r#"(import "a" "b" (func (param v128 funcref) (result v128)))"#,
    r#"(import "a" "b" (func (param i64 i32 f32 f64) (result f64 f32 i64 i32)))"#,
    r#"(type $t (func)) (import "a" "b" (func (param (ref null $t)) (result (ref $t))))"#,
    r#"(import "a" "b" (func (param anyref i31ref structref)))"#,
    r#"(import "a" "b" (func (param exnref)))"#,
    r#"(import "a" "b" (func (param i32))) (import "a" "b" (func (param externref)))"#,
    r#"(import "" "" (func (result funcref)))"#,
    // Functions that this host has, and does not have with this type.
    r#"(import "wasi_snapshot_preview1" "fd_write" (func (param externref)))"#,
    r#"(import "wasi_snapshot_preview1" "unknown" (func (param v128)))"#,
    r#"(import "wasi_unstable" "fd_write" (func (param i32 i32 i32 i32) (result i32)))"#,
    r#"(import "env" "ext_allocator_malloc_version_1" (func (param v128) (result externref)))"#,
    // Other imports.
    r#"(import "a" "b" (table 2 externref)) (import "a" "c" (global externref))"#,
    r#"(import "a" "b" (global (mut v128))) (import "a" "c" (global (mut funcref)))"#,
    r#"(import "a" "b" (tag (param i32)))"#,
    r#"(import "a" "b" (tag (param externref v128)))"#,
    r#"(import "a" "b" (memory 1)) (import "a" "c" (memory 1))"#,
    // Types of exports.
    r#"(func (export "v") (param v128) (result v128) (local.get 0))"#,
    r#"(func (export "r") (param externref funcref) (result externref) (local.get 0))"#,
    r#"(func (export "r") (param funcref) (result funcref) (local.get 0))"#,
    r#"(type $t (func))
       (func (export "t") (param (ref null $t)) (result (ref null $t)) (local.get 0))"#,
    r#"(func (export "m") (result i32 i64 f32 f64 i32 i64 f32 f64)
         (i32.const 1) (i64.const 1) (f32.const 1) (f64.const 1)
         (i32.const 1) (i64.const 1) (f32.const 1) (f64.const 1))"#,
    r#"(import "a" "b" (func $b (param v128 externref))) (export "b" (func $b))"#,
    r#"(tag (export "e") (param i64))"#,
    r#"(table (export "t") 1 externref) (global (export "g") v128 (v128.const i64x2 1 2))"#,
    // Locals, tables, globals and instructions.
    r#"(func (local v128 externref funcref))"#,
    r#"(func (local exnref))"#,
    r#"(func (block (result externref) (ref.null extern)) (drop))"#,
    r#"(func $f (drop (ref.func $f)) (drop (ref.is_null (ref.null func)))) (elem declare func $f)"#,
    r#"(table 1 3 externref) (func (drop (table.grow (ref.null extern) (i32.const 1))))"#,
    r#"(table 1 3 funcref)
       (func (table.set (i32.const 0) (ref.null func))
         (drop (table.grow (ref.null func) (i32.const 1)))
         (table.fill (i32.const 0) (ref.null func) (i32.const 1)))"#,
    r#"(table 3 funcref) (table $b 3 3 funcref)
       (func (table.copy 0 $b (i32.const 0) (i32.const 0) (i32.const 1)))"#,
    r#"(table 1 (ref null func) (ref.null func))"#,
    r#"(type $t (func)) (table 1 (ref null $t))"#,
    r#"(table i64 1 funcref)"#,
    r#"(global $g (mut v128) (v128.const i64x2 1 2)) (func (global.set $g (global.get $g)))"#,
    r#"(global $g (mut externref) (ref.null extern)) (func (global.set $g (ref.null extern)))"#,
    r#"(global $g (mut funcref) (ref.null func)) (func (global.set $g (ref.null func)))"#,
    r#"(global $a i32 (i32.const 4)) (global $b i32 (i32.add (global.get $a) (i32.const 8)))"#,
    r#"(global $a i32 (i32.const 4)) (global $b i32 (global.get $a)) (memory 1)
       (data (global.get $b) "a")"#,
    r#"(func $f (return_call $f))"#,
    r#"(type $t (func)) (table 1 funcref) (func (return_call_indirect (type $t) (i32.const 0)))"#,
    r#"(memory 1) (memory $b 1) (data (memory $b) (i32.const 0) "a")"#,
    r#"(memory i64 1)"#,
    r#"(func (param v128) (result v128) (i32x4.relaxed_trunc_f32x4_s (local.get 0)))"#,
    r#"(type $s (struct (field (mut i32)))) (func (drop (struct.new_default $s)))"#,
    r#"(func (drop (ref.i31 (i32.const 1))))"#,
    r#"(tag $e) (func (throw $e))"#,
    r#"(tag $e) (func (block $b (try_table (catch_all $b) (throw $e))))"#,
    r#"(func (result i32) (select (result i32) (i32.const 1) (i32.const 2) (i32.const 0)))"#,
    r#"(func (param externref) (result externref)
         (select (result externref) (local.get 0) (ref.null extern) (i32.const 0)))"#,
    // What instances start with.
    r#"(memory 1) (data "passive") (func (data.drop 0))"#,
    r#"(table 1 funcref) (elem func 0) (func (elem.drop 0))"#,
    r#"(memory 1) (func $s) (start $s)"#,
    r#"(import "wasi_snapshot_preview1" "path_open"
         (func (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
       (memory 1) (func $s) (start $s)"#,
    // Sizes. Data far apart, in two places and in many.
    r#"(memory 0)"#,
    r#"(memory 0 0)"#,
    r#"(table 0 0 funcref)"#,
    r#"(table 100000 funcref)"#,
    r#"(memory 800) (data (i32.const 0) "a") (data (i32.const 0x3000000) "b")"#,
    r#"(memory 40000) (data (i32.const 0x80000010) "a")"#,
];

/// Modules that are long to write down.
fn built() -> Vec<String> {
    let deep =
        |blocks: usize| format!("(func {} {})", "block ".repeat(blocks), "end ".repeat(blocks));
    let data = |places: u32| -> String {
        let places = (0..places).map(|place| format!("(data (i32.const {}) \"a\")", place << 24));
        format!("(memory 16384) {}", places.collect::<String>())
    };
    let tables = "(table 1 funcref)".repeat(50);
    let many = format!("(func (param {}))", "i64 ".repeat(300));
    let imports = format!(r#"(import "a" "b" (func (param {}) (result i32)))"#, "v128 ".repeat(40));
    vec![deep(900), deep(1500), deep(4200), data(30), data(60), tables, many, imports]
}

fn guests() -> Vec<(String, GuestModule)> {
    let own = MODULES.iter().map(ToString::to_string).chain(built());
    let own = own
        .map(|text| format!(r#"(module {text} (func (export "f") (result i32) (i32.const 3)))"#));
    let others = [
        texts::SUBSTRATE,
        texts::INPUT,
        texts::PLAIN,
        texts::VISITS,
        texts::CHURN,
        texts::TABLE,
        texts::HOST_TABLE,
        texts::TRAPS,
        texts::BOMB,
        texts::STEPS,
        texts::START,
        texts::GROWN_AT_START,
        texts::COSTLY,
        texts::FAR,
        texts::TWO_TYPES,
        texts::RECURSION,
        texts::PASSIVE,
        texts::SEGMENTS,
    ];
    own.chain(others.map(str::to_owned))
        .map(|text| {
            let shown: String = text.chars().take(200).collect();
            let wasm = wat::parse_str(&text).unwrap_or_else(|error| panic!("{shown}: {error}"));
            let guest = GuestModule::new("guest", &wasm, HeapPages::default());
            let guest = guest.unwrap_or_else(|error| panic!("{shown}: {error}"));
            (shown, guest)
        })
        .collect()
}

#[test]
fn what_an_engine_supports_is_what_it_loads() {
    let guests = guests();
    let differences = Mutex::new(Vec::new());
    on_every_engine(|engine| {
        for (text, guest) in &guests {
            let mut artifacts: Vec<(&str, Artifact)> = Vec::new();
            // Supported strategies first: a refused one shares their artifacts.
            let mut strategies = strategies();
            strategies.sort_by_key(|way| !engine.support_for(*way, guest).is_supported());
            for strategy in strategies {
                if let Err(difference) = agree(&**engine, strategy, guest, &mut artifacts) {
                    let name = format!("{} {strategy}", engine.id());
                    differences.lock().push(format!("{name}: {difference}: {text}"));
                }
            }
        }
    });
    let differences = differences.into_inner();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn agree(
    engine: &dyn MeasuredEngine,
    strategy: Strategy,
    guest: &GuestModule,
    artifacts: &mut Vec<(&'static str, Artifact)>,
) -> Result<(), String> {
    let config = Config { instances: 4, imports: Imports::Trap, ..Config::default() };
    let class = engine.artifact_class(strategy);
    let known = artifacts.iter().find(|(known, _)| *known == class);
    let known = known.map(|(_, artifact)| artifact.clone());
    let load = |artifact: &Artifact| engine.load(guest, artifact, strategy, &config);
    match engine.support_for(strategy, guest) {
        Support::Unsupported { reason } => {
            let compiled = engine.compile(guest, strategy, &config).map(drop);
            let loaded = known.map(|artifact| load(&artifact).map(drop));
            for refused in [compiled].into_iter().chain(loaded) {
                match refused {
                    Err(Error::Unsupported { reason: said, .. }) if said == reason => {}
                    other => return Err(format!("{other:?}, but refused: {reason}")),
                }
            }
            Ok(())
        }
        Support::Native | Support::Emulated { .. } => {
            let artifact = match known {
                Some(artifact) => artifact,
                None => {
                    let made = engine.compile(guest, strategy, &config);
                    let made = made.map_err(|error| format!("supported, but {error}"))?;
                    artifacts.push((class, made.clone()));
                    made
                }
            };
            let started = load(&artifact).and_then(|mut module| {
                module.probe()?;
                module.new_instance()?.prepare()
            });
            started.map_err(|error| format!("supported, but {error}"))
        }
    }
}
