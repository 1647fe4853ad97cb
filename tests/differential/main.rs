//! Proof of cleanness by comparison: on random modules, random calls on every strategy of every
//! engine show the same as on brand-new instances, and engines agree with each other.
//!
//! A fixed sample is part of `make test`; `make fuzz` runs for a given time.

mod additions;
mod compare;
mod counts;
mod known;
mod long;
mod observe;
mod sample;
mod tally;

use compare::compare;
use long::{Share, Workers};
use sample::{Id, Sample};
use std::collections::BTreeSet;
use std::sync::Arc;
use tally::Tally;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::harness::mock::{Leak, MockEngine};
use touchstone_executor::{InstanceFrom, MemoryFrom, Strategy};

/// Modules of the fixed sample.
const FIXED: u64 = 150;
/// One seed for ever: a change of the code is what changes the result.
const SEED: u64 = 1;

#[test]
fn every_strategy_is_like_a_new_instance_on_the_fixed_sample() {
    let workers = Workers::new(touchstone_runtimes::engines(), Share::Most);
    let tally = workers.run(SEED, 0..FIXED, |_| true).unwrap_or_else(|failed| panic!("{failed}"));
    println!("{tally}\n{}", long::reasons(&tally));
    assert!(tally.modules >= FIXED * 9 / 10, "{tally}");
}

#[test]
fn operators_are_counted_alike_by_guests_that_count_themselves_and_by_meters() {
    let engines = touchstone_runtimes::engines();
    let mut counted = 0;
    for index in 0..FIXED / 3 {
        if let Ok(sample) = Sample::new(Id { seed: SEED, index }) {
            counted += counts::compare(&sample, &engines);
        }
    }
    println!("{counted} calls counted by two means or more");
    assert!(counted >= FIXED || engines.len() < 3, "only {counted}");
}

/// `make fuzz`: `FUZZ_SECONDS` from `FUZZ_SEED` on, or the one module `FUZZ_INDEX`.
#[test]
#[ignore = "takes as long as it is told to; make fuzz runs it"]
fn fuzz() {
    match long::run_as_told(touchstone_runtimes::engines()) {
        Ok(tally) => println!("{}\nno difference: {tally}", long::reasons(&tally)),
        Err(failed) => panic!("{failed}"),
    }
}

#[test]
fn a_sample_is_told_from_its_numbers_alone() {
    let mut different = BTreeSet::new();
    for index in 0..20 {
        let sample = || {
            Sample::new(Id { seed: 7, index }).map(|sample| {
                (sample.guest.wasm().to_vec(), format!("{:?} {:?}", sample.steps, sample.readers))
            })
        };
        assert_eq!(sample(), sample());
        different.insert(sample());
    }
    assert_eq!(different.len(), 20);
}

/// The comparison of an engine whose strategies leak as told.
fn compared(leaks: fn(Strategy) -> Option<Leak>) -> Vec<Result<(), String>> {
    let engines: Vec<Arc<dyn MeasuredEngine>> =
        vec![Arc::new(MockEngine::new("mock").leaking(leaks))];
    (0..20)
        .map(|index| {
            let sample = Sample::new(Id { seed: SEED, index }).expect("a module");
            compare(&sample, &engines, &|_, _| true, &mut Tally::default())
                .map_err(|failure| failure.describe(&sample))
        })
        .collect()
}

const LEAKY: Strategy = Strategy::new(InstanceFrom::Pooling, MemoryFrom::Resident);

#[test]
fn a_clean_engine_passes() {
    for compared in compared(|_| None) {
        assert_eq!(compared, Ok(()));
    }
}

#[test]
fn a_leaky_strategy_is_caught() {
    for leaks in [
        (|strategy| (strategy == LEAKY).then_some(Leak::Memory)) as fn(Strategy) -> _,
        |strategy| (strategy == LEAKY).then_some(Leak::Global),
    ] {
        let caught: Vec<_> = compared(leaks).into_iter().filter_map(Result::err).collect();
        assert!(caught.len() >= 15, "only {} of 20 sequences showed it", caught.len());
        for words in caught {
            assert!(words.contains("mock pooling_cow_resident, held against mock"), "{words}");
            assert!(words.contains("(module"), "{words}");
            assert!(words.contains("make fuzz FUZZ_SEED=1 FUZZ_INDEX="), "{words}");
        }
    }
}
