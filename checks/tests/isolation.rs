//! The isolation matrix: planted leaks are found, and no executor of this build leaks.

mod command;
#[path = "../../tests/fixtures/leaky.rs"]
mod leaky;

use command::{checks, texts};
use leaky::{Leaky, Reach};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use touchstone::record::{Check, Outcome};
use touchstone_checks::conformance::known::Known;
use touchstone_checks::isolation::{self, Isolation, KINDS, Verdict, jobs};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::harness::mock::{Answer, MockEngine};
use touchstone_executor::{InstanceFrom, Strategy, Support, Trap, TrapKind};

fn find(engines: &[Arc<dyn MeasuredEngine>], filter: Option<&str>) -> Isolation {
    isolation::find(&jobs(engines, filter).unwrap(), |_| {}).unwrap()
}

/// Engines that run modules, each with its first supported strategy.
fn first_strategies() -> Vec<(Arc<dyn MeasuredEngine>, Strategy)> {
    let all = Strategy::all();
    touchstone_runtimes::engines()
        .into_iter()
        .filter_map(|engine| {
            // Strategies without reuse first: they refuse no guest.
            let plain = all.iter().filter(|one| one.instance != InstanceFrom::Reuse);
            let strategy = plain.chain(&all).find(|one| engine.support(**one).is_supported());
            strategy.copied().map(|strategy| (engine, strategy))
        })
        .collect()
}

/// Kinds with a result, and their verdicts.
fn verdicts(found: &Isolation) -> BTreeMap<&str, Verdict> {
    let row = &found.engines[0].rows[0];
    found
        .kinds
        .iter()
        .map(|kind| (kind.name.as_str(), row.verdict(&kind.name)))
        .filter(|(_, verdict)| !matches!(verdict, Verdict::Refused | Verdict::Absent))
        .collect()
}

fn a_leaky_engine_is_caught(reach: Reach) {
    for (inner, strategy) in first_strategies() {
        let name = format!("{} {strategy}", inner.id());
        let leaky: Arc<dyn MeasuredEngine> = Arc::new(Leaky { inner, reach });
        let filter = format!("_{strategy}/");
        let found = find(&[leaky], Some(&filter));
        let verdicts = verdicts(&found);
        assert!(!verdicts.is_empty(), "{name}: nothing was run");
        println!("{name}: {} kinds", verdicts.len());
        for (kind, verdict) in verdicts {
            // Some changes are invisible by the rules of the language.
            if KINDS.iter().any(|known| known.name == kind && known.lasting) {
                let why = found.engines[0].rows[0].others.get(kind);
                assert_eq!(verdict, Verdict::Leaks, "{name} {kind}: {why:?}");
            }
        }
    }
}

#[test]
fn an_instance_that_is_not_reset_leaks_in_every_kind() {
    a_leaky_engine_is_caught(Reach::Instance);
}

#[test]
fn instances_that_are_one_leak_in_every_kind() {
    a_leaky_engine_is_caught(Reach::Module);
}

/// A few kinds of state, each restored in another way; `make checks` covers all. A build without
/// engines passes.
#[test]
fn no_executor_leaks() {
    let kinds = "/(memory_above_data|globals_hidden|table_entries|grown_size|halfway_host|\
                 host_placed_input|host_kept_input|start_function)$";
    let engines = touchstone_runtimes::engines();
    if engines.is_empty() {
        return;
    }
    let mut found = find(&engines, Some(kinds));
    let tally = found.tally();
    println!("{tally:?}, swapped out: {:?}", found.swapped);
    // On a machine with swap space, Wasmtime's pool is known to leak.
    found.explain(&Known::of_project().unwrap());
    for verdict in [Verdict::Leaks, Verdict::Failed, Verdict::Unproven] {
        let mut reasons = found.reasons(verdict);
        reasons.retain(|reason| reason.cause.is_none());
        assert!(reasons.is_empty(), "{verdict:?}: {reasons:#?}");
    }
    assert!(found.swapped != Some(0), "no page was swapped out");
    assert!(tally.cells > 0 && tally.checks > 100 * tally.cells as u64 / 2);
}

/// A mock that answers like a clean instance, and differently where `dirty` says so.
fn mock(
    kind: &'static isolation::Kind,
    dirty: impl Fn(&str, u64) -> bool + Send + Sync + 'static,
) -> Arc<dyn MeasuredEngine> {
    let only = |strategy| {
        if strategy == Strategy::INTERPRETED {
            Support::Native
        } else {
            Support::unsupported("not here")
        }
    };
    Arc::new(MockEngine::new("mock").supporting(only).answering(move |call| {
        let dirty = dirty(call.export, call.calls_before);
        if call.export == kind.observe.export {
            let mut clean = kind.clean();
            clean[0] ^= u8::from(dirty);
            return Answer::Output(clean);
        }
        match kind.spoils.iter().find(|spoil| spoil.act.export == call.export).unwrap().ends {
            isolation::Ends::Returning => Answer::Output(Vec::new()),
            isolation::Ends::Trapping | isolation::Ends::Recursing => {
                Answer::Trap(Trap::new(TrapKind::Unreachable))
            }
            isolation::Ends::Stopped => Answer::Trap(Trap::new(TrapKind::DeadlineExceeded)),
            isolation::Ends::Interrupted
            | isolation::Ends::OutOfFuel
            | isolation::Ends::Panicking => Answer::Fail("not for mocks".to_owned()),
        }
    }))
}

/// The kinds whose calls a mock can end.
fn mocked() -> impl Iterator<Item = &'static isolation::Kind> {
    use isolation::Ends::{Interrupted, OutOfFuel, Panicking};
    KINDS.iter().filter(|kind| {
        ![Interrupted, OutOfFuel, Panicking].map(|end| kind.has(end)).contains(&true)
    })
}

fn of(kind: &isolation::Kind, engine: Arc<dyn MeasuredEngine>) -> (Verdict, String) {
    let found = find(&[engine], Some(&format!("/{}$", kind.name)));
    let row = &found.engines[0].rows[0];
    let reason = row.others.get(&kind.name).map(|other| other.reason.clone());
    (row.verdict(&kind.name), reason.unwrap_or_default())
}

#[test]
fn stale_locals_are_a_leak_too() {
    let kind = KINDS.iter().find(|kind| kind.name == "locals").unwrap();
    assert_eq!(of(kind, mock(kind, |_, _| false)).0, Verdict::Clean);
    let (verdict, reason) = of(kind, mock(kind, |_, calls| calls > 0));
    assert_eq!(verdict, Verdict::Leaks);
    assert!(reason.contains("on the same instance sees 1 of 8 bytes changed"), "{reason}");
}

/// An invisible change proves nothing.
#[test]
fn what_cannot_be_seen_is_not_called_clean() {
    for kind in mocked().filter(|kind| kind.lasting) {
        let (verdict, reason) = of(kind, mock(kind, |_, _| false));
        assert_eq!(verdict, Verdict::Unproven, "{}: {reason}", kind.name);
    }
}

#[test]
fn a_first_call_that_is_not_clean_is_a_failure() {
    for kind in KINDS.iter() {
        let (verdict, reason) = of(kind, mock(kind, |_, _| true));
        assert_eq!(verdict, Verdict::Failed, "{}", kind.name);
        assert!(reason.starts_with("a new instance sees"), "{}: {reason}", kind.name);
    }
}

/// A pool that mixes up returned instances: only another instance sees the leak.
#[test]
fn a_leak_into_another_instance_alone_is_found() {
    for kind in mocked() {
        let spoilt = AtomicBool::new(false);
        let engine = mock(kind, move |export, calls| {
            if export != kind.observe.export {
                spoilt.store(true, Ordering::SeqCst);
                return false;
            }
            spoilt.load(Ordering::SeqCst) && calls == 0
        });
        let (verdict, reason) = of(kind, engine);
        assert_eq!(verdict, Verdict::Leaks, "{}: {reason}", kind.name);
        assert!(reason.contains("on another instance"), "{}: {reason}", kind.name);
    }
}

/// A strategy may forget pages after many calls.
#[test]
fn a_leak_after_many_calls_is_found() {
    for kind in mocked().filter(|kind| !kind.needs_deadline()) {
        let warm = AtomicU64::new(0);
        let spoils = kind.spoils.len() as u64 * u64::from(kind.lasting);
        let engine = mock(kind, move |export, calls| {
            let observes = export == kind.observe.export;
            // The first observations on an instance that was used once are the warm ones.
            if observes && calls == 1 && warm.fetch_add(1, Ordering::SeqCst) < spoils {
                return true;
            }
            observes && calls > 40
        });
        let (verdict, reason) = of(kind, engine);
        let reaches = kind.spoils.len() * 2 * 24 > 41;
        let expected = if reaches { Verdict::Leaks } else { Verdict::Clean };
        assert_eq!(verdict, expected, "{}: {reason}", kind.name);
    }
}

#[test]
fn a_filter_that_means_nothing_names_what_is_near() {
    let engine: Arc<dyn MeasuredEngine> = Arc::new(MockEngine::new("mock"));
    let Err(error) = jobs(&[engine], Some("global_hidden")) else { panic!("it means something") };
    assert!(error.to_string().contains("globals_hidden"), "{error}");
}

#[test]
fn what_is_refused_by_the_command() {
    let refused = |arguments: &[&str], words: &str| {
        let (_, error) = texts(&checks(arguments).code(2));
        assert!(error.contains(words), "{error}");
    };
    refused(
        &["isolation", "no such thing"],
        "no executor and kind of state matches 'no such thing'",
    );
    refused(&["isolation", "memory", "--store"], "cannot be used with");
}

#[test]
fn the_command_prints_a_table_and_how_many_checks_there_were() {
    let Some((engine, strategy)) = first_strategies().pop() else { return };
    let filter = format!("^{}_{strategy}/(memory_data|globals_hidden)$", engine.id());
    let (out, _) = texts(&checks(&["isolation", &filter]).success());
    let head: Vec<&str> = out.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(head, ["engine", "memory", "globals", "strategies"]);
    assert!(out.contains("0 leaks among "), "{out}");
    assert!(out.contains(": 1 executors, 2 pairs of executor and kind"), "{out}");
}

#[test]
fn each_executor_and_kind_is_stored_with_its_outcome() {
    let engine: Arc<dyn MeasuredEngine> = Arc::new(MockEngine::new("mock"));
    let findings = find(&[engine], Some("mock_interpreted/memory_data")).findings();
    assert!(!findings.is_empty());
    for finding in findings {
        assert_eq!((finding.check, &*finding.engine), (Check::Isolation, "mock"));
        assert_eq!(finding.strategy, Some(Strategy::INTERPRETED));
        assert_eq!(finding.counts.keys().collect::<Vec<_>>(), [&Outcome::Failed]);
        assert_eq!(finding.evidence.len(), 1, "{finding:?}");
    }
}
