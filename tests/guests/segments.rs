//! The guest with many data segments, on every engine and strategy.

use crate::everywhere::{load, on_every_engine};
use crate::run::each_strategy_of;
use std::collections::BTreeSet;
use touchstone::case::{self, Guests};
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, Config, Outcome, Strategy, Support};

#[test]
fn it_has_what_its_case_says() {
    let guest = Guests::built().module("many-segments", HeapPages::default()).unwrap();
    let info = guest.info();
    let tables: u64 = info.tables.iter().map(|table| table.minimum).sum();
    assert_eq!((info.segments.len(), info.functions, tables), (9_000, 4_702, 1_700));
    assert!(!info.drops_segments && !info.writes_tables);
}

/// The outputs are V8's. A call that followed another one on the same instance would have
/// another output: the guest counts its calls and leaves copies of passive segments behind.
#[test]
fn calls_answer_alike_after_each_other() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/cases/many_segments.toml");
    let cases = case::load(file).unwrap();
    let guest = Guests::built().module("many-segments", HeapPages::default()).unwrap();
    each_strategy_of(&guest, |run| {
        for _ in 0..2 {
            for case in &cases {
                let mut calls = vec![(&case.input, &case.expect.output)];
                calls.extend(case.also.iter().map(|also| (&also.input, &also.output)));
                for (input, output) in calls {
                    let [input, output] = [input, output].map(|bytes| bytes.bytes(None).unwrap());
                    run.returns(&case.export, case.abi, &input, &output);
                }
            }
            run.returns("read", Abi::Plain, &[0; 4], &1_u64.to_le_bytes());
        }
    });
}

/// Compiled code that has the segments of a memory besides its image takes long to make.
#[test]
fn no_code_has_the_segments_that_touchstones_memories_bring_along() {
    const SEGMENTS: usize = 20_000;
    const MARK: &str = "<mark>";
    let segments: String = (0..SEGMENTS)
        .map(|index| format!("(data (i32.const {}) \"{MARK}{index:05}\")", index * 16))
        .collect();
    let state = "(global $calls (mut i32) (i32.const 0))
        (func $last (export \"last\") (result i64)
          (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
          (i64.load (i32.const 319987)))";
    let module = format!("(memory 5) {segments} {state}");
    let component =
        format!("(component (core module $m {module}) (core instance (instantiate $m)))");
    for (text, is_called) in [(format!("(module {module})"), true), (component, false)] {
        let wasm = wat::parse_str(text).unwrap();
        let guest = GuestModule::new("guest", &wasm, HeapPages::default()).unwrap();
        on_every_engine(|engine| {
            let mut classes = BTreeSet::new();
            for strategy in Strategy::all() {
                let support = engine.support_for(strategy, &guest);
                let is_ours = matches!(support, Support::Emulated { .. });
                if !is_ours || !classes.insert(engine.artifact_class(strategy)) {
                    continue;
                }
                let artifact = engine.compile(&guest, strategy, &Config::default()).unwrap();
                if let Some(code) = artifact.code(engine.id()).unwrap() {
                    let is_mark = |bytes: &&[u8]| *bytes == MARK.as_bytes();
                    let left = code.bytes().windows(MARK.len()).filter(is_mark).count();
                    assert_eq!(left, 0, "{} {strategy}", engine.id());
                }
                if is_called {
                    let module = load(engine, &guest, &artifact, strategy);
                    let (mut instance, mut output) = (module.new_instance().unwrap(), Vec::new());
                    let last = module.export("last", Abi::Plain).unwrap();
                    for _ in 0..2 {
                        let outcome = instance.call(last, b"", &mut output).unwrap();
                        assert_eq!(outcome, Outcome::Returned, "{} {strategy}", engine.id());
                        assert_eq!(output, b"rk>19999", "{} {strategy}", engine.id());
                    }
                }
            }
        });
    }
}
