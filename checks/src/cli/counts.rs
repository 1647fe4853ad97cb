//! `touchstone-checks costs` and `touchstone-checks gate`.

use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use touchstone::case;
use touchstone::plan::Filter;
use touchstone::record::{Book, COUNTS, Count, Metric, RecordFile, default_path, newest};
use touchstone::run::shown;
use touchstone::supervise::this_program;
use touchstone::terminal::{Style, Table, complain, print, warn_of_skipped};
use touchstone_checks::count::{self, Change, Counted, Verdict, compare};

/// How often events that grew are counted again, each time in a new process: an allocator that
/// happens to grow or return its heap between the calls causes some in one process and not in the
/// next. A cost of the code is there in each.
const RECOUNTS: usize = 2;
/// Engines that count operators for the gate: the rest takes minutes, most of them to compile ahead
/// of time.
const GATE_ENGINES: usize = 2;

/// Counts the costs of calls: executed operators, page faults, system calls, signals, bytes of
/// code.
///
/// Every engine of this build that can count operators does so for each case, and all engines must
/// agree. Writes nothing without --store.
#[derive(Debug, clap::Args)]
pub(super) struct Costs {
    /// Count only names that this regular expression matches: `<case>_from_<guest>`, or a
    /// cell
    filter: Option<String>,
    /// Replace the stored counts; not with a filter
    #[arg(long, conflicts_with = "filter")]
    store: bool,
    /// Store the counts in this file [default: records/counts.jsonl of the project]
    #[arg(long, value_name = "FILE")]
    counts: Option<PathBuf>,
    /// Serve as the counted process of another run
    #[arg(long, hide = true)]
    worker: bool,
}

/// Counts again and compares with the stored counts.
///
/// Operators and sizes of guests must be the same on every machine; two engines count the operators
/// of each call. Page faults, system calls and signals are compared only on the kernel of the
/// stored counts, sizes of artifacts only on its processor. These may grow by 0.5 %. Events that
/// grew are counted again in two new processes, and must have grown in each.
///
/// Exits with 1 when a count grew, with a table, and when nothing could be compared.
#[derive(Debug, clap::Args)]
pub(super) struct Gate {
    /// Count only names that this regular expression matches: `<case>_from_<guest>`, or a
    /// cell
    filter: Option<String>,
    /// Compare with this file [default: records/counts.jsonl of the project]
    #[arg(long, value_name = "FILE")]
    counts: Option<PathBuf>,
}

impl Costs {
    pub(super) fn execute(self) -> Result<bool> {
        if self.worker {
            count::serve(&case::built_in()?, &touchstone_runtimes::engines())?;
            return Ok(true);
        }
        let path = self.counts.unwrap_or_else(|| default_path(COUNTS));
        self.store.then(|| RecordFile::ensure_replaceable(&path)).transpose()?;
        let counted = count(usize::MAX, &Filter::new(self.filter.as_deref())?)?;
        print(&tables(&counted.book()))?;
        say(&counted);
        if !counted.problems.is_empty() {
            return Ok(false);
        }
        if self.store {
            if let Some(reason) = counted.untraced {
                bail!("counts without system calls are not stored: {reason}");
            }
            count::store(&path, &counted.header, &counted.lines)?;
            print(&format!("wrote {}\n", shown(&path)))?;
        }
        Ok(true)
    }
}

impl Gate {
    pub(super) fn execute(self) -> Result<bool> {
        let filter = Filter::new(self.filter.as_deref())?;
        let path = self.counts.unwrap_or_else(|| default_path(COUNTS));
        let (mut stored, skipped) = newest(&path, "make costs").with_context(|| {
            format!("cannot read the counts in {}; `make costs` makes them", shown(&path))
        })?;
        warn_of_skipped(&path, &skipped);
        stored.counts.retain(|(case, guest), _| filter.matches(&count::work(case, guest)));
        let counted = count(GATE_ENGINES, &filter)?;
        let mut verdict = compare(&stored, &counted.book());
        say(&counted);
        for _ in 0..RECOUNTS {
            let Some(cells) = verdict.grown_cells() else { break };
            let again = count(GATE_ENGINES, &Filter::new(Some(&cells))?)?;
            if again.untraced.is_some() || !again.problems.is_empty() {
                // What was not counted again has not shown that it did not grow.
                say(&again);
                break;
            }
            verdict.keep_grown_in(&compare(&stored, &again.book()));
        }
        print(&words(&verdict))?;
        Ok(verdict.is_open() && counted.problems.is_empty())
    }
}

fn count(most: usize, filter: &Filter) -> Result<Counted> {
    let (cases, engines) = (case::built_in()?, touchstone_runtimes::engines());
    let caller = || Ok(this_program(&["costs", "--worker"]));
    count::count(&cases, &engines, most, filter, caller)
}

/// One table of the counts of cases, one of those of cells.
fn tables(book: &Book) -> String {
    let style = Style::of_stdout();
    let mut works = Table::new(&["operators", "second call", "guest bytes", "case and guest"]);
    for Count { case, guest, metrics, .. } in book.counts.values() {
        let of = |metric| number(metrics.get(&metric).map(|count| *count as f64));
        let counts = [Metric::Operators, Metric::WarmOperators, Metric::GuestBytes].map(of);
        works.row(counts.into_iter().chain([count::work(case, guest)]));
    }
    let metrics = [Metric::PageFaults, Metric::SystemCalls, Metric::Signals, Metric::ArtifactBytes];
    let mut head = metrics.map(Metric::name).to_vec();
    head.push("cell");
    let mut cells = Table::new(&head);
    for cell in book.cells.keys() {
        let of = |metric| number(book.estimate(cell, metric).map(|estimate| estimate.median));
        cells.row(metrics.map(of).into_iter().chain([book.name(cell)]));
    }
    works.right(&[0, 1, 2]).render(style) + &cells.right(&[0, 1, 2, 3]).render(style)
}

fn say(counted: &Counted) {
    for problem in &counted.problems {
        complain(&format!("not counted: {problem}"));
    }
    if let Some(reason) = &counted.untraced {
        complain(&format!("system calls and signals are not counted: {reason}"));
    }
}

/// A count or a mean; a dash where there is none.
fn number(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value.fract() == 0.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.3}"),
    }
}

fn words(verdict: &Verdict) -> String {
    let style = Style::of_stdout();
    let mut text = String::new();
    for (changes, heading) in [
        (&verdict.grown, style.bad("grown")),
        (&verdict.shrunk, style.good("less than stored; `make costs` stores the new counts")),
    ] {
        let mut table =
            Table::new(&["what", "stored", "now", "change", "where"]).right(&[1, 2, 3]).indented(2);
        for Change { name, metric, stored, now } in changes {
            let change = match (stored, now) {
                (Some(stored), Some(now)) if *stored > 0.0 => {
                    format!("{:+.2} %", (now / stored - 1.0) * 100.0)
                }
                (None, _) => "new".to_owned(),
                (_, None) => "gone".to_owned(),
                _ => String::new(),
            };
            table.row([metric.to_string(), number(*stored), number(*now), change, name.clone()]);
        }
        if !changes.is_empty() {
            text += &format!("{heading}\n{}", table.render(style));
        }
    }
    for left_out in &verdict.left_out {
        text += &format!("not compared: {left_out}\n");
    }
    text + &match (verdict.grown.len(), verdict.compared) {
        (0, 0) => "the gate fails because nothing was compared\n".to_owned(),
        (0, compared) => format!("nothing grew: {compared} counts compared\n"),
        (grown, compared) => format!(
            "{grown} counts grew or are new, of {compared} compared. If that is intended, store \
             the new ones with `make costs` in the same commit.\n"
        ),
    }
}
