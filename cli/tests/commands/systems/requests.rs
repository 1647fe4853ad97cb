//! Requests under load: the command, and what it records.

use crate::command::{Folder, Ran, touchstone};
use touchstone::record::{self, InstanceState, Line, Requests, SystemFound};

/// Runs `touchstone systems requests --small`; what it said, and its records.
fn requests(folder: &Folder, arguments: &[&str]) -> (Ran, Vec<(String, Requests)>) {
    let records = folder.at("systems.jsonl");
    let own = ["systems", "requests", "--small", "--seed", "7", "--records"];
    let ran = touchstone(&[&own[..], &[records.to_str().unwrap()], arguments].concat());
    let runs = record::load(&records).map(|loaded| loaded.runs).unwrap_or_default();
    let lines = runs.into_iter().flat_map(|(_, lines)| lines);
    let found = lines.filter_map(|line| match line {
        Line::System(system) => match system.found {
            SystemFound::Requests(found) => Some((system.executor.to_string(), found)),
            _ => None,
        },
        _ => None,
    });
    let found = found.collect();
    (ran, found)
}

#[test]
fn every_request_is_answered_rightly_at_each_load() {
    let folder = Folder::new();
    let (ran, found) = requests(&folder, &["--filter", "^wasmi_"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let states: Vec<InstanceState> = found.iter().map(|(_, found)| found.state).collect();
    let used = states.iter().filter(|state| **state == InstanceState::Used).count();
    assert_eq!((states.len(), used), (3, 1), "{}", ran.err);
    for (executor, found) in &found {
        assert!(found.capacity > 0.0 && found.round == 0, "{executor}");
        let mut shares: Vec<u32> = found.loads.iter().map(|load| load.percent).collect();
        shares.sort_unstable();
        assert_eq!(shares, [50, 80, 95], "{executor}");
        // A clean instance also gets a share of what the used one can do.
        let has_used = executor.ends_with("reuse_tracked") && found.state == InstanceState::Clean;
        let beside: Vec<u32> = found.beside.iter().map(|load| load.percent).collect();
        assert_eq!(beside, if has_used { vec![80] } else { vec![] }, "{executor}");
        for load in found.loads.iter().chain(&found.beside) {
            assert_eq!(load.wrong, 0, "{executor}");
            assert!(load.latency.calls > 100 && load.offered > 0.0, "{executor} {load:?}");
            assert!(load.cpu_ns > 0.0 && load.rss_kib > 0, "{executor} {load:?}");
            assert!(load.latency.p50_ns <= load.latency.p999_ns);
        }
    }
}

#[test]
fn a_planted_stall_shows_in_the_tail() {
    let folder = Folder::new();
    let filter = ["--filter", "^wasmi_instance_reuse_tracked$", "--stall-ms", "100"];
    let (ran, found) = requests(&folder, &filter);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(found.len(), 2, "{}", ran.err);
    for load in found.iter().flat_map(|(_, found)| &found.loads) {
        assert!(load.latency.p999_ns >= 100_000_000, "{load:?}");
    }
}
