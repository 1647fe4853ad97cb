//! `touchstone systems fan_out`: small, on every engine of the build.

use crate::command::{Folder, touchstone};
use std::collections::BTreeSet;
use touchstone::record::{self, Status};

#[test]
fn a_state_is_read_in_each_shape_both_ways_or_refused_with_the_reason() {
    let folder = Folder::new();
    let path = folder.at("systems.jsonl");
    let records = path.to_str().unwrap();
    let ran = touchstone(&["systems", "fan_out", "--small", "--seed", "7", "--records", records]);
    // Checksums were compared.
    assert_eq!(ran.code, 0, "{}", ran.err);
    let (book, skipped) = record::newest(&path, "the test").unwrap();
    assert!(skipped.is_empty(), "{skipped:?}");
    let mut seen: BTreeSet<_> = BTreeSet::new();
    let points = &book.points["fan_out"];
    for own in points.measured() {
        let (place, rounds) = (&own.place, own.values("rounds"));
        assert_eq!((place.number("bytes"), &rounds[..]), (Some(64 << 10), &[1.0][..]));
        let shape = place.text("shape").unwrap();
        assert_eq!(place.number("reads"), Some(if shape == "direct" { 1 } else { 3 }));
        let executor = place.executor().unwrap().to_string();
        assert!(seen.insert((executor, shape, place.text("way").unwrap())), "{place}");
    }
    for (executor, shape, _) in &seen {
        for way in ["copied", "mapped"] {
            assert!(seen.contains(&(executor.clone(), *shape, way)), "{executor} {shape} {way}");
        }
    }
    let engine = |place: &record::Place| place.executor().unwrap().engine;
    let measured: BTreeSet<_> = points.measured().map(|own| engine(&own.place)).collect();
    for engine in touchstone_runtimes::engines() {
        let mut own =
            points.refused().filter(|(own, ..)| own.place.text("engine") == Some(engine.id()));
        let is_refused = own.any(|(_, refusal, _)| {
            refusal.status == Status::Unsupported && !refusal.reason.is_empty()
        });
        assert!(measured.contains(engine.id()) || is_refused, "{}", engine.id());
    }
}
