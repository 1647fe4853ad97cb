//! A module made of the bytes, with calls, on every strategy of every engine: what the
//! tests do with a sample (`tests/differential`).
#![no_main]
#![allow(dead_code, reason = "the tests use more of these modules")]

#[path = "../../tests/differential/additions.rs"]
mod additions;
#[path = "../../tests/differential/compare.rs"]
mod compare;
#[path = "../../tests/differential/known.rs"]
mod known;
#[path = "../../tests/differential/observe.rs"]
mod observe;
#[path = "../../tests/differential/sample.rs"]
mod sample;
#[path = "../../tests/differential/tally.rs"]
mod tally;

use sample::{Id, Sample};
use std::sync::{Arc, LazyLock};
use touchstone_executor::adapter::MeasuredEngine;

static ENGINES: LazyLock<Vec<Arc<dyn MeasuredEngine>>> = LazyLock::new(touchstone_runtimes::engines);

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let id = Id { seed: 0, index: 0 };
    let Ok(sample) = Sample::from_bytes(id, bytes) else { return };
    let compared = compare::compare(&sample, &ENGINES, &|_, _| true, &mut tally::Tally::default());
    if let Err(failure) = compared {
        panic!("{failure}");
    }
});
