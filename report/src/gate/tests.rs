//! Each rule, over small runs.

use super::*;
use std::collections::BTreeMap;
use std::path::Path;
use touchstone_executor::Strategy;
use touchstone_record::{
    Comparison, Contender, EngineFacts, Executor, Header, Line, Machine, Match, Metric,
    Observations, Purpose, SCHEMA, Sample, Samples, Sampling, Tools,
};

fn header(commit: &str) -> Header {
    let text = |text: &str| text.to_owned();
    Header {
        schema: SCHEMA,
        run: text("run"),
        started_at: text("2026-01-01T00:00:00Z"),
        machine: Machine {
            cpu: text("cpu"),
            cores: 2,
            siblings: Vec::new(),
            memory_kib: 1,
            kernel: text("6.18"),
            os: text("os"),
            pagemap_scan: true,
            protection_keys: false,
            huge_pages: text("never"),
            ..Machine::default()
        },
        tools: Tools {
            touchstone: text("0.1.0"),
            rustc: text("rustc"),
            profile: text("opt-level 3"),
            commit: text(commit),
            binary: text("0123"),
        },
        sampling: Sampling {
            name: text("full"),
            seed: 1,
            processes: 3,
            samples: 10,
            sample_us: 100,
            in_process: false,
        },
        engines: BTreeMap::new(),
        works: Vec::new(),
        questions: String::new(),
        state: None,
        shard: None,
        merged: Vec::new(),
    }
}

fn executor(engine: &str) -> Executor {
    Executor { engine: engine.to_owned(), strategy: Strategy::INTERPRETED }
}

fn cell(engine: &str, threads: usize) -> CellKey {
    CellKey {
        case: "case".to_owned(),
        guest: "guest".to_owned(),
        engine: engine.to_owned(),
        strategy: Strategy::INTERPRETED,
        threads,
    }
}

/// A sample of `calls` calls on each thread, each of `ns`.
fn sample(threads: usize, calls: u64, ns: f64) -> Sample {
    let all = calls * threads as u64;
    Sample { calls: all, total: all as f64 * ns, slowest: calls, clean: true }
}

fn observed(cell: &CellKey, processes: u32, sample: Sample) -> Vec<Line> {
    let line = |process| {
        let metrics = BTreeMap::from([(Metric::Call, Samples(vec![sample; 10]))]);
        Line::Observations(Observations { cell: cell.clone(), process, probe_ns: 0, metrics })
    };
    (0..processes).map(line).collect()
}

/// One process of a cell each, with its time and whether interference touched it.
fn processes(threads: usize, of: &[(f64, bool)]) -> Vec<Line> {
    let line = |(process, &(ns, clean)): (u32, &(f64, bool))| {
        let of = Sample { clean, ..sample(threads, 1000, ns) };
        let metrics = BTreeMap::from([(Metric::Call, Samples(vec![of; 6]))]);
        Line::Observations(Observations { cell: cell("a", threads), process, probe_ns: 0, metrics })
    };
    (0..).zip(of).map(line).collect()
}

/// A call of `ns` in three processes, with nothing wrong.
fn timed(engine: &str, threads: usize, ns: f64) -> Vec<Line> {
    observed(&cell(engine, threads), 3, sample(threads, 1000, ns))
}

fn compared(purpose: Purpose, ratio: f64, noisy: bool) -> Vec<Line> {
    let side = |engine| Contender::new(executor(engine), 1);
    let of = Match {
        purpose,
        case: "case".to_owned(),
        guest: "guest".to_owned(),
        subject: side("a"),
        baseline: side("b"),
    };
    let noisy: Vec<usize> = if noisy { (0..10).collect() } else { Vec::new() };
    let line = |process| {
        let rounds = vec![(100.0 * ratio, 100.0); 10];
        let comparison = Comparison { of: of.clone(), process, rounds, noisy: noisy.clone() };
        Line::Comparison(Box::new(comparison))
    };
    (0..3).map(line).collect()
}

fn book(lines: impl IntoIterator<Item = Vec<Line>>) -> Book {
    Book::of(header("abc"), lines.into_iter().flatten().collect())
}

fn reasons(gate: &Gate) -> Vec<String> {
    gate.publish().err().map(|closed| closed.reasons).unwrap_or_default()
}

/// The gate's answer to some lines.
fn said(lines: impl IntoIterator<Item = Vec<Line>>) -> Vec<String> {
    reasons(&check(&book(lines), None, Vec::new()))
}

fn explanation(rule: Rule, engine: &str) -> Explanation {
    let text = "known".to_owned();
    let engine = engine.to_owned();
    Explanation { rule, engine, strategy: None, case: None, guest: None, threads: None, text }
}

#[test]
fn a_sound_run_is_published() {
    let lines = [timed("a", 1, 100.0), timed("a", 2, 100.0), timed("b", 1, 200.0)];
    let lines = lines.into_iter().chain([compared(Purpose::Against, 0.5, false)]);
    assert_eq!(said(lines), [""; 0]);
}

#[test]
fn scaling_above_the_number_of_threads() {
    assert_eq!(said([timed("a", 1, 104.0), timed("a", 2, 100.0)]), [""; 0]);
    assert_eq!(
        said([timed("a", 1, 189.0), timed("a", 2, 100.0)]),
        ["scaling 3.78 on 2 threads: a_interpreted, case_from_guest (limit 2.10)"]
    );
    // Two processes give no interval, so the times of all count, whose quotient is 2.05.
    let alone = [(100.0, true), (108.0, true), (90.0, true), (91.0, true)];
    let both = [(93.0, true), (99.0, true), (160.0, false), (160.0, false), (92.0, true)];
    assert_eq!(said([processes(1, &alone), processes(2, &both)]), [""; 0]);
}

#[test]
fn a_comparison_and_its_cells() {
    let cells = || [timed("a", 1, 100.0), timed("b", 1, 100.0)];
    let with = |lines| said(cells().into_iter().chain([lines]));
    assert_eq!(with(compared(Purpose::Against, 1.25, false)), [""; 0]);
    assert_eq!(
        with(compared(Purpose::Against, 1.5, false)),
        ["comparison 1.50, cells 1.00, against b_interpreted: a_interpreted, case_from_guest \
          (limit a factor of 1.3)"]
    );
    assert_eq!(with(compared(Purpose::Against, 0.5, false)).len(), 1);
    // Cells whose processes fall into two modes have been seen in both.
    let modes = processes(1, &[(100.0, true), (98.0, true), (250.0, true)]);
    let both = [modes, timed("b", 1, 100.0), compared(Purpose::Against, 2.0, false)];
    assert_eq!(said(both), [""; 0]);
    // With interference, or where no cells are meant, nothing is said.
    assert_eq!(with(compared(Purpose::Against, 1.5, true)), [""; 0]);
    assert_eq!(with(compared(Purpose::Overhead, 1.5, false)), [""; 0]);
    // Peers lie in a file of their own and are compared with the same cells.
    let peers = book([compared(Purpose::Peers, 1.5, false)]);
    let gate = check(&book(cells()), Some(&peers), Vec::new());
    assert!(reasons(&gate)[0].starts_with("peers 1.50, cells 1.00"), "{:?}", reasons(&gate));
}

#[test]
fn few_calls_and_short_samples() {
    assert_eq!(
        said([observed(&cell("a", 1), 3, sample(1, 2, 15_000.0))]),
        ["60 calls behind 15.00 µs: a_interpreted, case_from_guest (limit 1,000 calls)"]
    );
    assert_eq!(
        said([observed(&cell("a", 2), 3, sample(2, 100, 100.0))]),
        ["call: 30 of 30 samples too short, the shortest 10.00 µs: a_interpreted, \
          case_from_guest on 2 threads (limit 20 µs)"]
    );
}

#[test]
fn fewer_processes_than_three() {
    let some = (0..50).flat_map(|n| timed(&format!("x{n}"), 1, 100.0)).collect();
    let two = observed(&cell("a", 1), 2, sample(1, 1000, 100.0));
    assert_eq!(
        said([some, two]),
        ["measured in 2 processes: a_interpreted, case_from_guest (limit 3)"]
    );
}

#[test]
fn a_baseline_that_is_slower() {
    // A warm call in each process.
    let warm = |engine: &str, ns: [f64; 3]| {
        let mut lines = observed(&cell(engine, 1), 3, sample(1, 1000, 100.0));
        for (line, ns) in lines.iter_mut().zip(ns) {
            if let Line::Observations(of) = line {
                let samples = vec![sample(1, 1000, ns); of.metrics[&Metric::Call].0.len()];
                of.metrics.insert(Metric::WarmCall, Samples(samples));
            }
        }
        lines
    };
    let gate = |native, other, all: &[Explanation]| {
        let mut header = header("abc");
        let execution = touchstone_executor::Execution::Native;
        let facts = EngineFacts { version: String::new(), execution, executes_like: None };
        header.engines.insert("native".to_owned(), facts);
        let lines = [warm("native", native), warm("b", other)].into_iter().flatten().collect();
        check(&Book::of(header, lines), None, all.to_vec())
    };
    let said = |native, other| reasons(&gate(native, other, &[]));
    assert_eq!(said([104.0; 3], [100.0; 3]), [""; 0]);
    assert_eq!(said([100.0; 3], [300.0; 3]), [""; 0]);
    let slower = "a warm call takes 300.0 ns, with b_interpreted 100.0 ns: native_interpreted, \
                  case_from_guest (limit 1.05 times)";
    assert_eq!(said([300.0; 3], [100.0; 3]), [slower]);
    // Within the interval of native code: it may be explained, but needs not be.
    let tie = [101.0, 110.0, 110.0];
    assert_eq!(said(tie, [100.0; 3]), [""; 0]);
    let known = [explanation(Rule::Baseline, "native")];
    let explained = gate(tie, [100.0; 3], &known);
    assert!(explained.publish().is_ok() && explained.explained.len() == 1);
    let within = gate([104.0; 3], [100.0; 3], &known);
    assert!(within.publish().is_ok() && within.explained.is_empty());
}

#[test]
fn too_many_marked_cells() {
    let noisy = Sample { clean: false, ..sample(1, 1000, 100.0) };
    let run = |cells: usize| {
        let good = (1..cells).flat_map(|n| timed(&format!("x{n}"), 1, 100.0)).collect();
        said([good, observed(&cell("a", 1), 3, noisy)])
    };
    assert_eq!(run(21), [""; 0]);
    assert_eq!(run(20), ["1 of 20 cells are marked † (5.0 %; limit below 5.0 %)"]);
}

#[test]
fn a_binary_that_no_commit_holds() {
    for (commit, says) in [("abc-dirty", "tree with changes"), ("unknown", "not known")] {
        let gate = check(&Book::of(header(commit), Vec::new()), None, Vec::new());
        assert!(reasons(&gate)[0].contains(says), "{:?}", reasons(&gate));
    }
}

#[test]
fn explanations_fit_or_are_stale() {
    let book = book([timed("a", 1, 300.0), timed("a", 2, 100.0)]);
    let explained = |explanation: Explanation| check(&book, None, vec![explanation]);
    let gate = explained(explanation(Rule::Scaling, "a"));
    assert!(gate.publish().is_ok() && gate.explained.len() == 1);
    assert!(draft(&gate).is_empty() && broken_rules(&gate).is_empty());
    let section = anomalies(&gate);
    let name = "`case_from_guest/a_interpreted/2_threads`";
    assert!(section.contains(name) && section.contains("| known |"), "{section}");
    assert!(section.contains("scaling 6.00 on 2 threads (limit 2.10)"), "{section}");

    let other = Explanation { threads: Some(4), ..explanation(Rule::Scaling, "a") };
    for stale in [other, explanation(Rule::Scaling, "b")] {
        let gate = explained(stale);
        assert_eq!((gate.violations.len(), gate.stale.len()), (1, 1));
        let closed = gate.publish().unwrap_err().to_string();
        assert_eq!(closed, "2 rules of publication are broken; nothing was written");
        assert!(reasons(&gate)[1].starts_with("an explanation is of no cell of the run: scaling"));
        assert!(draft(&gate).starts_with("**Draft: 1 rule of publication is broken"));
    }
    // A rule that a cell does not break here may be broken on another machine.
    let gate = explained(explanation(Rule::FewCalls, "a"));
    assert_eq!((gate.violations.len(), gate.stale.len()), (1, 0));
}

fn load(text: &str) -> Result<Vec<Explanation>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("explanations.toml");
    std::fs::write(&path, text).unwrap();
    Explanation::load(&path)
}

#[test]
fn a_file_is_read_strictly_and_errors_have_the_line() {
    let good = "[[explanation]]\nrule = \"scaling\"\nengine = \"wasmi\"\n\
                strategy = \"pooling_cow\"\nthreads = 2\ntext = \"one\\n  two\"\n";
    let read = load(good).unwrap();
    assert_eq!(read.len(), 1);
    assert_eq!(read[0].text, "one two");
    assert!(read[0].to_string().contains("scaling, wasmi_pooling_cow, 2 threads"));
    for (change, line, says) in [
        (("scaling", "scalling"), 2, "unknown variant"),
        (("pooling_cow", "pooling_cold"), 4, "pooling_cold"),
        (("threads", "thread"), 5, "unknown field"),
        (("one\\n  two", " "), 6, "is empty"),
    ] {
        let error = format!("{:#}", load(&good.replace(change.0, change.1)).unwrap_err());
        assert!(error.contains(&format!("line {line}")), "{error}");
        assert!(error.contains(says) && error.contains("explanations.toml"), "{error}");
    }
    assert!(load("[[explanations]]\n").is_err());
    assert_eq!(load("").unwrap(), []);
    let missing = Explanation::load(Path::new("/nowhere/explanations.toml"));
    assert_eq!(missing.unwrap(), []);
}
