//! `cargo bench`: the run loop's samples, handed to criterion.
//!
//! This program measures like `touchstone bench` and then starts itself again to let
//! criterion print, compare and store the finished samples, with criterion's own options.

use anyhow::{Context, Result};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use criterion::{BenchmarkId, Criterion};
use nix::sys::signal::{SigHandler, Signal, signal};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use touchstone::case::Suite;
use touchstone::record::{self, Book, CellKey, Metric, Purpose, Sample};
use touchstone::run::{
    Arguments, Asked, Job, no_pairs, serve_if_worker, shown, stopped_code, watch_for_ctrl_c,
};
use touchstone::supervise::{Stop, this_program};
use touchstone::terminal::Progress;

/// Set for the process that only replays finished samples, to the record file.
const REPLAY: &str = "TOUCHSTONE_REPLAY";

/// Criterion's options that take a value, with their short forms.
const WITH_VALUE: [(&str, Option<char>); 15] = [
    ("color", Some('c')),
    ("save-baseline", Some('s')),
    ("baseline", Some('b')),
    ("baseline-lenient", None),
    ("load-baseline", None),
    ("format", None),
    ("profile-time", None),
    ("sample-size", None),
    ("warm-up-time", None),
    ("measurement-time", None),
    ("nresamples", None),
    ("noise-threshold", None),
    ("confidence-level", None),
    ("significance-level", None),
    ("output-format", None),
];

/// Criterion's options without a value, and those of the test harness that it takes.
const FLAGS: [(&str, Option<char>); 12] = [
    ("verbose", Some('v')),
    ("quiet", None),
    ("noplot", Some('n')),
    ("discard-baseline", None),
    ("list", None),
    ("ignored", None),
    ("exact", None),
    ("quick", None),
    ("test", None),
    ("bench", None),
    ("nocapture", None),
    ("show-output", None),
];

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode> {
    if let Some(records) = std::env::var_os(REPLAY) {
        return replay(&PathBuf::from(records));
    }
    let engines = touchstone_runtimes::engines();
    if serve_if_worker(&engines, &Suite::BuiltIn)? {
        return Ok(ExitCode::SUCCESS);
    }
    let matches = command().get_matches();
    let mut arguments = Arguments::from_arg_matches(&matches)?;
    if matches.get_flag("exact") {
        arguments.filter = arguments.filter.map(|name| format!("^{}$", regex::escape(&name)));
    }
    let asked = Asked {
        arguments: &arguments,
        suite: &Suite::BuiltIn,
        engines: &engines,
        purposes: vec![Purpose::Null, Purpose::Overhead, Purpose::Deadline, Purpose::Against],
        worker: &|| Ok(this_program(&[])),
        pairs: &no_pairs,
    };
    let (cases, job) = asked.job()?;
    if matches.get_flag("list") {
        return list(&job);
    }
    let wanted: Vec<CellKey> = job.cells.iter().map(|cell| cell.key.clone()).collect();
    // `cargo test --benches` gives no `--bench`, and criterion's `--test` and `--profile-time`
    // ask for calls without a measurement.
    let tries = !matches.get_flag("bench") || matches.get_flag("test");
    if tries || matches.get_one::<String>("profile-time").is_some() {
        let _ = writeln!(std::io::stderr(), "nothing is measured: use `touchstone repeat`");
        return Ok(ExitCode::SUCCESS);
    }
    let path = asked.records().path().to_owned();
    if matches.get_one::<String>("load-baseline").is_none() {
        let stop = Stop::default();
        watch_for_ctrl_c(&stop, arguments.in_process)?;
        let mut progress = Progress::new(job.tasks().len() * job.budget.processes as usize, true);
        let came = asked.run(&cases, job, &stop, &mut progress)?;
        drop(progress);
        if came.stopped {
            let hint = "stopped; finished cells are recorded: continue with `-- --resume`";
            let _ = writeln!(std::io::stderr(), "{hint}");
            return Ok(ExitCode::from(stopped_code()));
        }
        let _ = writeln!(
            std::io::stderr(),
            "{} cells and {} comparisons measured ({} marked †), {} left out with the reason, {} \
             failed; records: {}",
            came.cells.measured,
            came.comparisons.measured,
            came.cells.marked,
            came.cells.left_out,
            came.failed(),
            shown(&path),
        );
        let is_shown = hand_over(&matches, &path, &wanted)?;
        if let Some(reason) = &came.broken_off {
            anyhow::bail!("the run was broken off: {reason}");
        }
        if !is_shown || !came.has_result() {
            return Ok(ExitCode::FAILURE);
        }
        return Ok(ExitCode::SUCCESS);
    }
    Ok(if hand_over(&matches, &path, &wanted)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Our options and criterion's.
fn command() -> Command {
    let mut command = Arguments::augment_args(Command::new("matrix"))
        .about("Measures the matrix; criterion reports the samples and compares baselines")
        .max_term_width(100);
    for (name, short) in WITH_VALUE {
        let arg = Arg::new(name).long(name).num_args(1).help("Criterion's option of this name");
        command = command.arg(match short {
            Some(short) => arg.short(short),
            None => arg,
        });
    }
    for (name, short) in FLAGS {
        let arg = Arg::new(name)
            .long(name)
            .action(ArgAction::SetTrue)
            .help("Criterion's option of this name");
        command = command.arg(match short {
            Some(short) => arg.short(short),
            None => arg,
        });
    }
    command
}

/// As criterion lists: what would be measured.
fn list(job: &Job) -> Result<ExitCode> {
    let mut text = String::new();
    let cells = job.cells.iter().map(touchstone::plan::Cell::name);
    for name in cells.chain(job.compares.iter().map(|own| own.of.name())) {
        text += &format!("{name}: benchmark\n");
    }
    touchstone::terminal::print(&text).map(|()| ExitCode::SUCCESS)
}

/// Starts this program again with criterion's options alone. `false` where that failed; a
/// reader who has seen enough is no failure.
fn hand_over(matches: &ArgMatches, records: &std::path::Path, cells: &[CellKey]) -> Result<bool> {
    let mut command = this_program(&["--bench"]);
    command.env(REPLAY, records);
    for (name, _) in
        FLAGS.into_iter().filter(|(name, _)| !["bench", "list", "exact"].contains(name))
    {
        if matches.get_flag(name) {
            command.arg(format!("--{name}"));
        }
    }
    for (name, _) in WITH_VALUE {
        if let Some(value) = matches.get_one::<String>(name) {
            command.args([format!("--{name}"), value.clone()]);
        }
    }
    let cells = serde_json::to_vec(cells).context("names that JSON cannot hold")?;
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .spawn()
        .context("cannot start this program again")?;
    if let Some(mut stdin) = child.stdin.take() {
        // Where it has ended already, its status says why.
        let _ = stdin.write_all(&cells);
    }
    let status = child.wait().context("cannot wait for criterion")?;
    Ok(status.success() || status.signal() == Some(Signal::SIGPIPE as i32))
}

/// Criterion with finished samples.
fn replay(records: &std::path::Path) -> Result<ExitCode> {
    // Criterion panics where its output is closed; ending is what is meant.
    // SAFETY: no handler is installed, only the default action restored.
    unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) }.context("cannot restore SIGPIPE")?;
    let wanted: Vec<CellKey> = serde_json::from_reader(std::io::stdin().lock())
        .context("cannot read which cells were measured")?;
    let (header, lines) =
        record::load(records)?.runs.pop().context("the record file holds no run")?;
    let book = Book::of(header, lines);
    let mut criterion = Criterion::default().nresamples(10_000).configure_from_args();
    let mut groups: BTreeMap<String, Vec<&CellKey>> = BTreeMap::new();
    for cell in wanted.iter().filter(|cell| book.cells.contains_key(cell)) {
        let name = book.name(cell);
        let group = name.strip_suffix(&format!("/{}", cell.function())).unwrap_or(&name);
        groups.entry(group.to_owned()).or_default().push(cell);
    }
    for (name, cells) in groups {
        let mut group = criterion.benchmark_group(name);
        for cell in cells {
            let samples: Vec<Sample> = book
                .samples(cell, Metric::Call)
                .into_iter()
                .flat_map(|samples| samples.0.iter().copied())
                .collect();
            hand(&mut group, cell, &samples);
        }
        group.finish();
    }
    criterion.final_summary();
    Ok(ExitCode::SUCCESS)
}

/// Fewest samples that criterion takes.
const FEWEST: usize = 10;

/// The samples of a cell. Criterion's own plan of iterations does not matter: each sample's
/// time per call is multiplied with the iterations that it asks for.
fn hand(
    group: &mut criterion::BenchmarkGroup<'_, criterion::measurement::WallTime>,
    cell: &CellKey,
    samples: &[Sample],
) {
    let clean: Vec<f64> =
        samples.iter().filter(|sample| sample.clean).map(Sample::per_call).collect();
    let all: Vec<f64> = samples.iter().map(Sample::per_call).collect();
    let per_call = if clean.len() >= record::estimate::SAMPLES { clean } else { all };
    if per_call.is_empty() {
        return;
    }
    // Too few for criterion are given again in the same order.
    let count = per_call.len().max(FEWEST);
    let mut samples = per_call.iter().cycle();
    let mut is_warm_up = true;
    group.warm_up_time(Duration::from_nanos(1));
    group.measurement_time(Duration::from_millis(10));
    group.sample_size(count);
    group.bench_function(BenchmarkId::from_parameter(cell.function()), |bencher| {
        bencher.iter_custom(|iterations| {
            if std::mem::take(&mut is_warm_up) {
                return Duration::from_nanos(iterations);
            }
            let ns = samples.next().copied().unwrap_or(1.0);
            Duration::from_secs_f64(ns * iterations as f64 / 1e9)
        });
    });
}
