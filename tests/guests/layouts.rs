//! The guests that walk over scooters, on every engine: every walk adds to every distance,
//! and vectors are refused with the reason where a runtime has none.

use crate::everywhere::from_each_source;
use touchstone::case::Guests;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, Feature, Outcome, Strategy, Support};

const WALKS: [&str; 7] = ["Native", "Fixed", "Stride", "SoA", "AoP", "Fixed_SIMD", "SoA_SIMD"];

fn guest(name: &str) -> GuestModule {
    Guests::built().module(name, HeapPages::default()).unwrap()
}

/// The answer of a call: the additional distance of eight scooters, evenly spread, the last one
/// among them, and their numbers.
fn expected(count: u32, more: u32) -> u64 {
    let ends = (1..=8).map(|sample| sample * count / 8).filter(|end| *end > 0);
    let (mut distances, mut ids) = (0_u32, 0_u32);
    for end in ends {
        distances = distances.wrapping_add(more);
        ids += end - 1;
    }
    u64::from(distances) << 32 | u64::from(ids)
}

#[test]
fn every_walk_adds_to_every_distance() {
    for (name, walks) in [("layouts", &WALKS[..5]), ("layouts-simd", &WALKS)] {
        from_each_source(&guest(name), |engine, strategy, module| {
            let mut instance = module.new_instance().unwrap();
            let mut call = |walk, count: u32, more: u32| {
                let export = module.export(walk, Abi::Input).unwrap();
                let input = [count.to_le_bytes(), more.to_le_bytes()].concat();
                let mut output = Vec::new();
                let outcome = instance.call(export, &input, &mut output).unwrap();
                (outcome, output)
            };
            for walk in walks {
                // Numbers that no vector divides, and distances that wrap.
                for (count, more) in [(64, 1), (1000, 0x8000_0001), (7, 5), (1, 5), (0, 5)] {
                    let answer = expected(count, more).to_le_bytes().to_vec();
                    let found = call(walk, count, more);
                    assert_eq!(found, (Outcome::Returned, answer), "{engine} {strategy} {walk}");
                }
                let (outcome, _) = call(walk, u32::MAX, 1);
                assert!(outcome.trap().is_some(), "{engine} {strategy} {walk}");
            }
        });
    }
}

/// The state of a used instance changes no answer, nor does a smaller walk before a larger one.
#[test]
fn a_used_instance_answers_as_a_new_one_does() {
    from_each_source(&guest("layouts"), |engine, strategy, module| {
        if strategy.to_string() != "instance_reuse_tracked" {
            return;
        }
        let mut instance = module.new_instance().unwrap();
        instance.prepare().unwrap();
        for walk in &WALKS[..5] {
            let export = module.export(walk, Abi::Input).unwrap();
            for (count, more) in [(100_u32, 3_u32), (100, 3), (1000, 4), (10, 5)] {
                let input = [count.to_le_bytes(), more.to_le_bytes()].concat();
                let mut output = Vec::new();
                let outcome = instance.invoke(export, &input, &mut output, None).unwrap();
                assert_eq!(outcome, Outcome::Returned);
                assert_eq!(output, expected(count, more).to_le_bytes(), "{engine} {walk}");
            }
        }
        instance.finish().unwrap();
    });
}

/// An engine has vectors under all of its strategies or says under each why not.
#[test]
fn vectors_are_refused_with_the_reason_or_run() {
    let (plain, vectors) = (guest("layouts"), guest("layouts-simd"));
    let has = |guest: &GuestModule| guest.info().features.has(Feature::Vectors);
    assert!(!has(&plain) && has(&vectors));
    for engine in touchstone_runtimes::engines() {
        let mut answers = Vec::new();
        for strategy in Strategy::all() {
            if !engine.support_for(strategy, &plain).is_supported() {
                continue;
            }
            let support = engine.support_for(strategy, &vectors);
            if let Support::Unsupported { reason } = &support {
                assert!(reason.contains("vector"), "{} {strategy}: {reason}", engine.id());
            }
            answers.push(support.is_supported());
        }
        assert!(!answers.is_empty(), "{}", engine.id());
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{}", engine.id());
        println!("{}: vectors {}", engine.id(), if answers[0] { "run" } else { "are refused" });
    }
}
