//! `touchstone systems fan_out`: small, on every engine of the build.

use crate::command::{Folder, touchstone};
use std::collections::BTreeSet;
use touchstone::record::{self, Shape, Status, SystemFound, Way};

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
    for system in &book.systems {
        let SystemFound::FanOut(found) = &system.found else { panic!("{system:?}") };
        assert_eq!((found.bytes, found.rounds), (64 << 10, 1));
        assert_eq!(found.reads, if found.shape == Shape::Direct { 1 } else { 3 });
        let executor = system.executor.to_string();
        assert!(seen.insert((executor, found.shape, found.way)), "{system:?}");
    }
    for (executor, shape, _) in &seen {
        for way in [Way::Copied, Way::Mapped] {
            assert!(seen.contains(&(executor.clone(), *shape, way)), "{executor} {shape} {way}");
        }
    }
    let measured: BTreeSet<_> =
        book.systems.iter().map(|system| &*system.executor.engine).collect();
    for engine in touchstone_runtimes::engines() {
        let mut own = book.refusals.iter().filter(|refusal| refusal.engine == engine.id());
        let is_refused =
            own.any(|refusal| refusal.status == Status::Unsupported && !refusal.reason.is_empty());
        assert!(measured.contains(engine.id()) || is_refused, "{}", engine.id());
    }
}
