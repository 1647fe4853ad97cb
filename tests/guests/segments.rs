//! The guest with many data segments, on every engine and strategy.

use crate::run::each;
use touchstone::case::{self, Guests};
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::HeapPages;

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
    each("many-segments", |run| {
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
