//! `touchstone systems node`: small, on every engine of the build.

use crate::command::{Folder, touchstone};
use std::collections::BTreeSet;
use touchstone::record::{self, Line};

#[test]
fn blocks_are_made_on_every_engine_or_refused_with_the_reason() {
    let folder = Folder::new();
    let path = folder.at("systems.jsonl");
    let records = path.to_str().unwrap();
    let ran = touchstone(&["systems", "node", "--small", "--seed", "7", "--records", records]);
    // Roots, balances and answers were compared.
    assert_eq!(ran.code, 0, "{}", ran.err);
    let (book, skipped) = record::newest(&path, "the test").unwrap();
    assert!(skipped.is_empty(), "{skipped:?}");
    let points = &book.points["node"];
    let engine = |place: &record::Place| place.executor().unwrap().engine;
    let engines: BTreeSet<_> = points.measured().map(|own| engine(&own.place)).collect();
    for engine in touchstone_runtimes::engines() {
        let mut refused = points.refused();
        let is_refused = refused.any(|(own, ..)| own.place.text("engine") == Some(engine.id()));
        assert!(engines.contains(engine.id()) || is_refused, "{}", engine.id());
    }
    let nodes: Vec<_> = points.measured().collect();
    assert!(!nodes.is_empty());
    for node in &nodes {
        let value = |name: &str| node.values(name)[0];
        assert_eq!(["blocks", "transfers", "accounts"].map(value), [2.0, 20.0, 50.0]);
        // All executors make the same calls of the storage.
        assert_eq!(value("storage_calls"), nodes[0].values("storage_calls")[0]);
        assert!(value("total_ns") >= value("calls_ns") && value("calls_ns") > value("storage_ns"));
    }
    // What was found is shown, and only what the filter selects.
    let executor = nodes[0].place.executor().unwrap().to_string();
    assert!(ran.out.contains("blocks per second") && ran.out.contains(&executor), "{}", ran.out);
    let shown =
        touchstone(&["show", "--records", records, "--json", &format!("^node/{executor}$")]);
    let shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(shown["id"], format!("node/{executor}"));
    assert_eq!(shown["values"]["accounts"]["median"], 50.0);
    // Systems are measured in the order in which they are named.
    let filter = format!("^{executor}$");
    let both = ["systems", "node", "fan_out", "--small", "--filter", &filter, "--records", records];
    let ran = touchstone(&both);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lines = record::load(&path).unwrap().runs.remove(0).1;
    let points = lines.iter().filter_map(|line| match line {
        Line::Point(point) => Some(&*point.experiment),
        _ => None,
    });
    let mut named: Vec<&str> = points.collect();
    named.dedup();
    assert_eq!(named, ["node", "fan_out"]);
}
