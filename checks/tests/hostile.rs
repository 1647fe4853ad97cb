//! Attacks: the check finds each fault of a mock; malformed modules and tampered artifacts on the
//! engines of this build.

#[path = "../../tests/fixtures/time.rs"]
mod time;

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use time::{LIMIT, with_longer_limits};
use touchstone::supervise::CHILD;
use touchstone_checks::engines;
use touchstone_checks::hostile::{Hostile, Limits, Verdict, Watch, attack_in_this_process};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::GuestModule;
use touchstone_executor::harness::mock::{Answer, MockCall, MockEngine};
use touchstone_executor::{
    Artifact, Config, Engine, Error, Execution, Module, Result, Strategy, Support, TrapKind,
};

/// The attacking process of the other tests.
#[test]
#[ignore = "started by the other tests"]
fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let mut engines = touchstone_runtimes::engines();
    engines.extend(mocks());
    attack_in_this_process(&engines).unwrap();
    // Without the output of the test harness, and without its threads.
    std::process::exit(0);
}

/// Attacks an engine, by its name, in child processes.
fn attacked(engine: &str, filter: &str, limits: Limits) -> Hostile {
    let mut watch = Watch::new(Some(filter), limits);
    let command = || {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--exact", "child", "--ignored", "--nocapture"]);
        Ok(command)
    };
    watch.attack(engine, command, |_| {}).unwrap();
    watch.found()
}

/// Limits of time that only a hang meets.
fn wide() -> Limits {
    Limits { compile: LIMIT, attack: Some(LIMIT), ..Limits::default() }
}

/// The same with limits that a mock meets soon, for memory and for unstoppable calls.
fn mocked(engine: &str, filter: &str) -> Hostile {
    let limits = Limits { memory: 1 << 30, unstoppable: Duration::from_millis(100), ..wide() };
    attacked(engine, filter, limits)
}

/// The faulty answer of a mock to a call; `None` for the right one.
type Fault = fn(&MockCall<'_>) -> Option<Answer>;

/// Mocks with one fault each.
fn mocks() -> Vec<Arc<dyn MeasuredEngine>> {
    let faults: [(&'static str, Fault); 7] = [
        ("mock_good", |_| None),
        ("mock_never_stops", |call| {
            (call.export == "endless").then(|| {
                loop {
                    std::hint::spin_loop();
                }
            })
        }),
        ("mock_leaks", |call| {
            if call.export == "memory_by_pages" {
                std::hint::black_box(Box::leak(vec![1_u8; 16 << 20].into_boxed_slice()));
            }
            None
        }),
        ("mock_is_not_clean", |call| {
            // The fifth call follows the second hostile one.
            (call.export == "count" && call.calls_before == 3)
                .then(|| Answer::Output(vec![2, 0, 0, 0, 1, 0, 0, 0]))
        }),
        ("mock_aborts", |call| (call.export == "recurse").then(|| std::process::abort())),
        ("mock_traps_otherwise", |call| {
            (call.export == "recurse").then(|| Answer::Trap(TrapKind::Unreachable.into()))
        }),
        ("mock_takes_all", |call| {
            if call.export == "memory_by_pages" {
                std::hint::black_box(vec![1_u8; 2 << 30]);
                // Until it is ended.
                std::thread::sleep(LIMIT);
            }
            None
        }),
    ];
    let mock = |(name, fault): (&'static str, Fault)| {
        let engine = MockEngine::new(name);
        Arc::new(engine.answering(move |call| fault(call).unwrap_or_else(|| right(call.export))))
            as Arc<dyn MeasuredEngine>
    };
    let mut mocks: Vec<_> = faults.into_iter().map(mock).collect();
    let endless = MockEngine::new("mock_without_deadline").answering(|call| match call.export {
        "endless" => loop {
            std::hint::spin_loop();
        },
        other => right(other),
    });
    mocks.push(Arc::new(WithoutDeadline(endless)));
    mocks
}

/// The answer of a faultless engine.
fn right(export: &str) -> Answer {
    let host = TrapKind::HostFunction { name: "some".to_owned(), reason: "no".to_owned() };
    match export {
        "count" => Answer::Output(vec![1, 0, 0, 0, 1, 0, 0, 0]),
        "memory_of_host" => Answer::Trap(host.into()),
        name if name.starts_with("memory") => Answer::Output(Vec::new()),
        name if name.starts_with("endless") => Answer::Trap(TrapKind::DeadlineExceeded.into()),
        name if name.starts_with("recurse") => Answer::Trap(TrapKind::StackOverflow.into()),
        _ => Answer::Fail("not asked for".to_owned()),
    }
}

/// A mock that refuses deadlines.
struct WithoutDeadline(MockEngine);

impl Engine for WithoutDeadline {
    fn id(&self) -> &'static str {
        self.0.id()
    }

    fn version(&self) -> &str {
        self.0.version()
    }

    fn execution(&self) -> Execution {
        self.0.execution()
    }

    fn support(&self, strategy: Strategy) -> Support {
        self.0.support(strategy)
    }

    fn compile(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Artifact> {
        self.0.compile(guest, strategy, config)
    }

    fn load(
        &self,
        guest: &GuestModule,
        artifact: &Artifact,
        strategy: Strategy,
        config: &Config,
    ) -> Result<Box<dyn Module>> {
        if config.deadline.is_some() {
            let reason = "nothing stops it".to_owned();
            return Err(Error::Unsupported { engine: self.id(), strategy, reason });
        }
        self.0.load(guest, artifact, strategy, config)
    }
}

impl MeasuredEngine for WithoutDeadline {
    fn executes_like(&self) -> Option<&'static str> {
        self.0.executes_like()
    }
}

const THREE: &str = "^(endless_loop|memory_bomb|stack_overflow)/";

/// The verdict on an attack, and its ends.
fn verdict(found: &Hostile, attack: &str) -> (Verdict, String) {
    let of: Vec<_> = found.findings.iter().filter(|found| found.attack == attack).collect();
    let worst = of.iter().max_by_key(|found| found.verdict);
    let worst = worst.unwrap_or_else(|| panic!("{attack} was not made: {found:?}"));
    (worst.verdict, worst.how.join("; "))
}

#[track_caller]
fn fails(engine: &str, attack: &str, words: &str) {
    failed(&mocked(engine, THREE), attack, words);
}

/// One attack failed, the other two held.
#[track_caller]
fn failed(found: &Hostile, attack: &str, words: &str) {
    let (verdict, how) = self::verdict(found, attack);
    assert_eq!(verdict, Verdict::Failed, "{how}");
    assert!(how.contains(words), "{how}");
    // Other attacks are made in spite of one that ends its process.
    for other in ["endless_loop", "memory_bomb", "stack_overflow"] {
        if other != attack {
            assert_eq!(self::verdict(found, other).0, Verdict::Held, "{other}");
        }
    }
}

#[test]
fn an_engine_that_does_everything_right_is_held_to_have_done_so() {
    let found = mocked("mock_good", THREE);
    assert_eq!(found.counts(), [9, 0, 0], "{found:#?}");
    let (_, how) = verdict(&found, "stack_overflow");
    assert_eq!(how, "trap: call stack exhausted");
}

#[test]
fn a_call_that_is_not_stopped_is_found_and_ended() {
    with_longer_limits(1.0, |limit| {
        let limits = Limits { attack: Some(limit), ..wide() };
        let found = attacked("mock_never_stops", THREE, limits);
        let words = format!("does not end within {} s", limit.as_secs());
        // On a busy machine, other attacks may meet a short limit as well.
        let is_late = |other| verdict(&found, other).1.contains(&words);
        if ["memory_bomb", "stack_overflow"].into_iter().any(is_late) {
            return None;
        }
        failed(&found, "endless_loop", &words);
        Some(())
    });
}

#[test]
fn memory_that_is_left_behind_is_found() {
    fails("mock_leaks", "memory_bomb", "leaks");
}

#[test]
fn a_wrong_next_call_is_found() {
    let found = mocked("mock_is_not_clean", "^stack_overflow/");
    let (verdict, how) = verdict(&found, "stack_overflow");
    assert_eq!(verdict, Verdict::Failed);
    assert!(how.contains("the next call after recurse_large: is not clean"), "{how}");
}

#[test]
fn an_end_of_the_process_is_found() {
    fails("mock_aborts", "stack_overflow", "the process of the host was killed by SIGABRT");
}

#[test]
fn another_trap_than_the_right_one_is_found() {
    fails("mock_traps_otherwise", "stack_overflow", "recurse: ended with: trap: unreachable");
}

#[test]
fn an_engine_that_takes_all_memory_is_ended() {
    fails("mock_takes_all", "memory_bomb", "the process of the host used more than 1024 MiB");
}

#[test]
fn where_nothing_stops_a_call_the_end_of_its_process_does() {
    let found = mocked("mock_without_deadline", THREE);
    assert_eq!(verdict(&found, "endless_loop").0, Verdict::HeldInChild);
    assert_eq!(verdict(&found, "stack_overflow").0, Verdict::Held);
    assert_eq!(found.counts(), [6, 3, 0], "{found:#?}");
}

#[test]
fn malformed_modules_and_bombs_are_refused_or_do_no_harm() {
    // Validation is the same for all engines; one is enough.
    let interpreter =
        |engine: &&Arc<dyn MeasuredEngine>| engine.execution() == Execution::Interpreted;
    let engines = engines();
    let Some(engine) = engines.iter().find(interpreter) else { return };
    let found = attacked(engine.id(), "^(malformed|blob_bomb)/", wide());
    assert_eq!(found.counts(), [2, 0, 0], "{found:#?}");
    let (_, how) = verdict(&found, "malformed");
    for kind in ["not a module", "does not validate", "runs without harm"] {
        assert!(how.contains(kind), "{how}");
    }
    let (_, how) = verdict(&found, "blob_bomb");
    assert!(how.contains("cannot unpack the compressed blob"), "{how}");
}

#[test]
fn tampered_artifacts_are_refused_before_they_are_mapped() {
    for engine in engines() {
        let keeps_files = Strategy::all().iter().any(|strategy| {
            strategy.code == touchstone_executor::CodeFrom::Precompiled
                && engine.support(*strategy).is_supported()
        });
        let found = attacked(engine.id(), "^artifacts/", wide());
        let [held, in_child, failed] = found.counts();
        assert_eq!((in_child, failed), (0, 0), "{found:#?}");
        assert_eq!(held > 0, keeps_files, "{}: {found:#?}", engine.id());
    }
}
