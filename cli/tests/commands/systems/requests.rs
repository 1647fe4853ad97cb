//! Requests under load: the command, and what it records.

use crate::command::{Folder, Ran, touchstone};
use std::collections::BTreeMap;
use touchstone::record::{self, Place, PointBook};

/// Runs `touchstone systems requests --small`; what it said, and its records.
fn requests(folder: &Folder, arguments: &[&str]) -> (Ran, PointBook) {
    let records = folder.at("systems.jsonl");
    let own = ["systems", "requests", "--small", "--seed", "7", "--records"];
    let ran = touchstone(&[&own[..], &[records.to_str().unwrap()], arguments].concat());
    let mut book = record::load(&records).unwrap().newest().unwrap();
    (ran, book.points.remove("requests").unwrap_or_default())
}

/// The rows, each with its loads: whose capacity they are shares of, and the share.
fn rows(found: &PointBook) -> BTreeMap<Place, Vec<(String, u64)>> {
    let mut rows: BTreeMap<Place, Vec<(String, u64)>> = BTreeMap::new();
    for own in found.measured() {
        let row = own.place.without(["of", "share"]);
        let loads = rows.entry(row).or_default();
        let of = own.place.text("of").map(str::to_owned);
        loads.extend(of.zip(own.place.number("share")));
    }
    rows
}

#[test]
fn every_request_is_answered_rightly_at_each_load() {
    let folder = Folder::new();
    let (ran, found) = requests(&folder, &["--filter", "^wasmi_"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let rows = rows(&found);
    let used = rows.keys().filter(|row| row.text("state") == Some("used")).count();
    assert_eq!((rows.len(), used), (3, 1), "{}", ran.err);
    for (row, mut loads) in rows {
        assert!(found.get(&row).unwrap().values("capacity")[0] > 0.0, "{row}");
        loads.sort();
        let own = ["own"; 3].map(str::to_owned).into_iter().zip([50, 80, 95]);
        // A clean instance also gets a share of what the used one can do.
        let is_reused = row.executor().unwrap().to_string().ends_with("reuse_tracked");
        let has_used = is_reused && row.text("state") == Some("clean");
        let beside = has_used.then(|| ("used".to_owned(), 80));
        assert_eq!(loads, own.chain(beside).collect::<Vec<_>>(), "{row}");
    }
    for load in found.measured().filter(|own| own.place.get("share").is_some()) {
        let value = |name: &str| load.values(name)[0];
        assert_eq!(value("wrong"), 0.0, "{load:?}");
        assert!(value("latency.calls") > 100.0 && value("offered") > 0.0, "{load:?}");
        assert!(value("cpu_ns") > 0.0 && value("rss_kib") > 0.0, "{load:?}");
        assert!(value("latency.p50_ns") <= value("latency.p999_ns"), "{load:?}");
    }
}

#[test]
fn a_planted_stall_shows_in_the_tail() {
    let folder = Folder::new();
    let filter = ["--filter", "^wasmi_instance_reuse_tracked$", "--stall-ms", "100"];
    let (ran, found) = requests(&folder, &filter);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(rows(&found).len(), 2, "{}", ran.err);
    for load in found.measured().filter(|own| own.place.text("of") == Some("own")) {
        assert!(load.values("latency.p999_ns")[0] >= 100_000_000.0, "{load:?}");
    }
}
