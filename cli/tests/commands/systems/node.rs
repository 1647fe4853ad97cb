//! `touchstone systems node`: small, on every engine of the build.

use crate::command::{Folder, touchstone};
use std::collections::BTreeSet;
use touchstone::record::{self, Node, SystemFound};

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
    let engines: BTreeSet<_> = book.systems.iter().map(|system| &*system.executor.engine).collect();
    for engine in touchstone_runtimes::engines() {
        let is_refused = book.refusals.iter().any(|refusal| refusal.engine == engine.id());
        assert!(engines.contains(engine.id()) || is_refused, "{}", engine.id());
    }
    let nodes = book.systems.iter().map(|system| match &system.found {
        SystemFound::Node(node) => node,
        other => panic!("{other:?}"),
    });
    let nodes: Vec<&Node> = nodes.collect();
    assert!(!nodes.is_empty());
    for node in nodes.iter().copied() {
        assert_eq!((node.blocks, node.transfers, node.accounts), (2, 20, 50));
        // All executors make the same calls of the storage.
        assert_eq!(node.storage_calls, nodes[0].storage_calls);
        assert!(node.total_ns >= node.calls_ns && node.calls_ns > node.storage_ns);
    }
    // What was found is shown, and only what the filter selects.
    let executor = book.systems[0].executor.to_string();
    assert!(ran.out.contains("blocks/s") && ran.out.contains(&executor), "{}", ran.out);
    let shown =
        touchstone(&["show", "--records", records, "--json", &format!("^node/{executor}$")]);
    let shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(shown["id"], format!("node/{executor}"));
    assert_eq!(shown["found"]["accounts"], 50);
}
