//! Worker processes: what becomes of a run whose workers crash, hang, exit or take too long.
//! A worker is this program again, running the test `child` alone.

use crate::mocked::time::{LIMIT, with_longer_limits};
use crate::mocked::{CASE, Place, REUSE, Ran, Told, one_strategy};
use anyhow::Result;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use touchstone::case;
use touchstone::case::Guests;
use touchstone::plan::Budget;
use touchstone::record::{Metric, Status};
use touchstone::run::{Came, FromWorker, Host, Job, Observer, ToWorker, no_pairs, run, serve};
use touchstone::supervise::{Death, Parent, Stop};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::GuestModule;
use touchstone_executor::harness::mock::{Answer, MockEngine};
use touchstone_executor::{Artifact, Config, Engine, Execution, Module, Strategy, Support};

/// The folder of the case, for workers.
const FOLDER: &str = "TOUCHSTONE_TEST_FOLDER";
/// How long a call of the slow engine takes, and the budget that it is over.
const SLOW: Duration = Duration::from_millis(3500);
const BUDGET: &str = "budget_s = 1";

/// An engine with two strategies that writes down each process that calls it, and does
/// something under the first of the two.
fn behaving(id: &'static str, folder: &Path, what: fn()) -> Arc<dyn MeasuredEngine> {
    let pids = folder.join(format!("{id}.pids"));
    let engine = MockEngine::new(id)
        .supporting(|strategy| match strategy.to_string().as_str() {
            "instance_reuse" | "pooling" => Support::Native,
            _ => Support::unsupported("two are enough"),
        })
        .answering(move |call| {
            if call.calls_before == 0 {
                let mut file =
                    std::fs::OpenOptions::new().create(true).append(true).open(&pids).unwrap();
                writeln!(file, "{}", std::process::id()).unwrap();
            }
            if call.strategy == REUSE {
                what();
            }
            Answer::Output(call.input.to_vec())
        });
    Arc::new(engine)
}

/// An engine that crashes while it compiles for the first of its two strategies.
struct CrashingCompiler(Arc<dyn MeasuredEngine>);

impl Engine for CrashingCompiler {
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

    fn artifact_class(&self, strategy: Strategy) -> &'static str {
        if strategy == REUSE { "crashes" } else { "compiles" }
    }

    fn compile(
        &self,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
    ) -> touchstone_executor::Result<Artifact> {
        if strategy == REUSE {
            std::process::abort();
        }
        self.0.compile(guest, strategy, config)
    }

    fn load(
        &self,
        guest: &GuestModule,
        artifact: &Artifact,
        strategy: Strategy,
        config: &Config,
    ) -> touchstone_executor::Result<Box<dyn Module>> {
        self.0.load(guest, artifact, strategy, config)
    }
}

impl MeasuredEngine for CrashingCompiler {}

fn all_engines(folder: &Path) -> Vec<Arc<dyn MeasuredEngine>> {
    vec![
        behaving("fine", folder, || {}),
        behaving("other", folder, || {}),
        behaving("crashing", folder, || std::process::abort()),
        Arc::new(CrashingCompiler(behaving("compiling", folder, || {}))),
        behaving("exiting", folder, || std::process::exit(7)),
        behaving("hanging", folder, || std::thread::sleep(LIMIT)),
        Arc::new(one_strategy("slow").answering(|call| {
            std::thread::sleep(SLOW);
            Answer::Output(call.input.to_vec())
        })),
    ]
}

/// Not a test, but the program of the workers.
#[test]
fn child() {
    let Some(parent) = Parent::<ToWorker, FromWorker>::join().unwrap() else { return };
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let cases = case::load(folder.join("echo.toml")).unwrap();
    serve(parent, &cases, &all_engines(&folder), Guests::in_folder(&folder)).unwrap();
    std::process::exit(0);
}

fn worker(folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "workers::child", "--nocapture"]).env(FOLDER, folder);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Some of the engines, and the job of their cells.
fn job(place: &Place, names: &[&str]) -> (Vec<Arc<dyn MeasuredEngine>>, Job) {
    let mut engines = all_engines(place.folder());
    engines.retain(|engine| names.contains(&engine.id()));
    let job = place.job(&engines);
    let budget = Budget { samples: 2, ..job.budget.clone() };
    (engines, Job { in_process: false, budget, ..job })
}

fn host<'a>(
    place: &'a Place,
    engines: &'a [Arc<dyn MeasuredEngine>],
    worker: &'a dyn Fn() -> Result<Command>,
    guests: &'a dyn Fn() -> Guests,
    limit: Duration,
) -> Host<'a> {
    let (cases, stop) = (place.cases(), Stop::default());
    Host { cases, engines, guests, worker, pairs: &no_pairs, limit, until: None, stop }
}

fn run_in_workers(place: &Place, names: &[&str], limit: Duration) -> Ran {
    let (engines, job) = job(place, names);
    let (mut lines, mut told) = (Vec::new(), Told::default());
    let (worker, guests) = (|| Ok(worker(place.folder())), || place.guests());
    let host = host(place, &engines, &worker, &guests, limit);
    let came = run(job, &host, &mut lines, &mut told).unwrap();
    Ran { came, lines, told }
}

fn pids(place: &Place, id: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(place.folder().join(format!("{id}.pids"))).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn each_engine_has_a_fresh_process_in_each_pass() {
    let place = Place::new("[1]");
    let ran = run_in_workers(&place, &["fine", "other"], LIMIT);
    assert_eq!((ran.came.cells.measured, ran.came.deaths, ran.came.failed()), (4, 0, 0));
    let (fine, other) = (pids(&place, "fine"), pids(&place, "other"));
    assert_eq!((fine.len(), other.len(), fine.is_disjoint(&other)), (3, 3, true));
    assert!(!fine.contains(&std::process::id().to_string()));
    let book = ran.book();
    for (cell, seen) in &book.cells {
        let processes: Vec<u32> = seen.iter().map(|seen| seen.process).collect();
        assert_eq!(processes, [0, 1, 2], "{cell:?}");
        assert!(book.estimate(cell, Metric::Call).is_some());
    }
}

/// The two cells of an engine and those of a good one: what became of the bad cell, in words.
fn one_bad_cell(name: &str, deaths: usize) -> (Ran, String) {
    let ran = run_in_workers(&Place::new("[1]"), &["fine", name], LIMIT);
    let reason = the_bad_cell(&ran, name, deaths);
    (ran, reason)
}

fn the_bad_cell(ran: &Ran, name: &str, deaths: usize) -> String {
    assert_eq!((ran.came.cells.measured, ran.came.cells.failed), (3, 1));
    assert!(ran.came.has_result());
    assert_eq!(ran.came.deaths, deaths);
    let [refusal] = ran.refusals()[..] else { panic!("{:?}", ran.refusals()) };
    assert_eq!((refusal.engine.as_str(), refusal.strategy), (name, Some(REUSE)));
    assert_eq!((refusal.status, refusal.threads), (Status::Failed, Some(1)));
    let book = ran.book();
    assert!(book.cells.values().all(|seen| seen.len() == 3));
    refusal.reason.clone()
}

#[test]
fn a_worker_that_crashes_fails_its_cell_and_the_run_goes_on() {
    let (ran, reason) = one_bad_cell("crashing", 1);
    assert_eq!(reason, "the process that ran it was killed by SIGABRT");
    let name = "echo_from_guest/crashing_instance_reuse/1_threads";
    assert_eq!(ran.told.said, [format!("{name} failed: {reason}")]);
}

#[test]
fn a_worker_that_crashes_while_it_compiles_fails_the_cells_of_that_module_alone() {
    let (_, reason) = one_bad_cell("compiling", 1);
    assert_eq!(reason, "the process that ran it was killed by SIGABRT");
}

#[test]
fn a_worker_that_exits_fails_its_cell_and_the_run_goes_on() {
    let (_, reason) = one_bad_cell("exiting", 1);
    assert!(reason.contains("exit") && reason.contains('7'), "{reason}");
}

#[test]
fn a_worker_that_hangs_is_killed_at_the_limit() {
    with_longer_limits(2.0, |limit| {
        let ran = run_in_workers(&Place::new("[1]"), &["fine", "hanging"], limit);
        if ran.refusals().len() > 1 {
            return None;
        }
        let reason = the_bad_cell(&ran, "hanging", 1);
        assert_eq!(reason, format!("the process that ran it {}", Death::Time(limit)));
        Some(())
    });
}

#[test]
fn a_call_over_the_budget_is_refused_or_broken_off_as_that() {
    let place = Place::of(&CASE.replace("[case]", &format!("[case]\n{BUDGET}")));
    let ran = run_in_workers(&place, &["fine", "hanging", "slow"], LIMIT);
    assert_eq!((ran.came.cells.measured, ran.came.cells.left_out), (3, 2));
    assert_eq!((ran.came.failed(), ran.came.deaths), (0, 0));
    let reason = |engine: &str| {
        let refusal = ran.refusals().into_iter().find(|refusal| refusal.engine == engine).unwrap();
        // The reason is the call's, on however many threads; if it was broken off, on any guest.
        assert_eq!((refusal.status, refusal.threads), (Status::OverBudget, None));
        assert_eq!(refusal.guest.is_none(), engine == "hanging");
        refusal.reason.clone()
    };
    assert!(reason("slow").contains("a call takes about"), "{}", reason("slow"));
    let hanging = reason("hanging");
    assert!(hanging.contains("the case's budget for a call is 1.000 s"), "{hanging}");
}

#[test]
fn a_worker_that_cannot_begin_ends_the_run_with_the_reason() {
    let place = Place::new("[1]");
    let (engines, job) = job(&place, &["fine"]);
    let (worker, guests) = (|| Ok(Command::new("false")), || place.guests());
    let host = host(&place, &engines, &worker, &guests, LIMIT);
    let came = run(job, &host, &mut Vec::new(), &mut Told::default()).unwrap();
    assert!(came.broken_off.unwrap().contains("before its first task"));
}

/// A process limit, or a program that is gone: what was measured before is kept and counts.
#[test]
fn a_worker_that_cannot_be_started_breaks_off_the_run_and_loses_nothing() {
    let place = Place::new("[1]");
    let (engines, job) = job(&place, &["fine"]);
    let started = Cell::new(0);
    let worker = || match started.replace(started.get() + 1) {
        0 | 1 => Ok(worker(place.folder())),
        _ => Ok(Command::new("/does/not/exist")),
    };
    let guests = || place.guests();
    let host = host(&place, &engines, &worker, &guests, LIMIT);
    let (mut lines, mut told) = (Vec::new(), Told::default());
    let came = run(job, &host, &mut lines, &mut told).unwrap();
    let reason = came.broken_off.as_ref().unwrap();
    assert!(reason.contains("cannot start a child process"), "{reason}");
    assert_eq!((came.cells.measured, came.cells.failed, came.has_result()), (2, 0, true));
    let seen = Ran { came, lines, told }.book().cells;
    assert!(seen.len() == 2 && seen.values().all(|seen| seen.len() == 2), "{seen:?}");
}

/// Stops the run as soon as a task begins.
struct Stopping(Stop);

impl Observer for Stopping {
    fn begins(&mut self, _: &str) {
        self.0.now();
    }

    fn more(&mut self, _: usize) {}

    fn says(&mut self, sentence: &str) {
        panic!("{sentence}");
    }
}

#[test]
fn a_run_that_is_stopped_ends_its_workers_and_fails_nothing() {
    let place = Place::new("[1]");
    let (engines, job) = job(&place, &["hanging"]);
    let (worker, guests) = (|| Ok(worker(place.folder())), || place.guests());
    let host = host(&place, &engines, &worker, &guests, LIMIT);
    let mut stopping = Stopping(host.stop.clone());
    let came: Came = run(job, &host, &mut Vec::new(), &mut stopping).unwrap();
    assert!(came.stopped);
    assert_eq!((came.failed(), came.deaths), (0, 0));
}
