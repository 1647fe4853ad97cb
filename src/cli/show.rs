//! `touchstone show`.

use super::Ended;
use anyhow::{Result, bail};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use touchstone::compare::{self, Judged, MARGIN};
use touchstone::plan::{Filter, near};
use touchstone::record::{
    self, BENCH, Book, CellKey, Estimate, Match, Metric, Refusal, SoakPoint, Swap, SwapFound, Tail,
};
use touchstone::report::units::{median, rate, ratio_with_interval, time, time_with_interval};
use touchstone::terminal::{Style, Table, print, short, warn_of_skipped};

/// Shows the newest run of a record file.
#[derive(Debug, clap::Args)]
pub(super) struct Show {
    /// Show only what has a name that this regular expression matches
    filter: Option<String>,
    /// Print one JSON object per line; what was not measured is null
    #[arg(long)]
    json: bool,
    /// With --json: print the raw samples and rounds too
    #[arg(long, requires = "json")]
    samples: bool,
    /// Read the records from FILE [default: the project's records/records.jsonl]
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
}

/// A named entry of a run.
enum Entry<'a> {
    Cell(&'a CellKey),
    Comparison(&'a Match, Judged),
    Swap(&'a Swap),
    Refusal(&'a Refusal),
}

impl Show {
    pub(super) fn execute(self) -> Result<Ended> {
        let path = self.records.unwrap_or_else(|| record::default_path(BENCH));
        let mut loaded = record::load(&path)?;
        warn_of_skipped(&path, &loaded.skipped);
        let Some((header, lines)) = loaded.runs.pop() else {
            bail!("{} holds no run that this build can read; `make bench` makes one", short(&path));
        };
        let book = Book::of(header, lines);
        let filter = Filter::new(self.filter.as_deref())?;
        let all = entries(&book);
        let names: Vec<String> = all.iter().map(|entry| entry.name(&book)).collect();
        let shown: Vec<(&String, &Entry<'_>)> =
            names.iter().zip(&all).filter(|(name, _)| filter.matches(name)).collect();
        if let (Some(text), true) = (&self.filter, shown.is_empty()) {
            bail!("nothing in {} matches '{text}'{}", short(&path), near(text, &names));
        }
        if self.json {
            let lines = shown
                .iter()
                .map(|(name, entry)| Ok(format!("{}\n", entry.json(&book, name, self.samples)?)));
            print(&lines.collect::<Result<String>>()?)?;
        } else {
            print(&tables(&book, shown.into_iter().map(|(_, entry)| entry)))?;
        }
        Ok(Ended::Well)
    }
}

/// All entries of a run, cells first.
fn entries(book: &Book) -> Vec<Entry<'_>> {
    let cells = book.cells.keys().map(Entry::Cell);
    let comparisons = book.comparisons.iter().filter_map(|(of, processes)| {
        let judged = compare::judge(&processes.iter().collect::<Vec<_>>(), MARGIN)?;
        Some(Entry::Comparison(of, judged))
    });
    let swaps = book.swaps.iter().map(Entry::Swap);
    let refusals = book.refusals.iter().map(Entry::Refusal);
    cells.chain(comparisons).chain(swaps).chain(refusals).collect()
}

impl Entry<'_> {
    /// The name for filters.
    fn name(&self, book: &Book) -> String {
        match self {
            Self::Cell(cell) => book.name(cell),
            Self::Comparison(of, _) => of.name(),
            Self::Swap(swap) => format!("swap/{}/{}", swap.executor, swap.method),
            Self::Refusal(refusal) => {
                let Refusal { engine, strategy, guest, case, .. } = refusal;
                let work: Vec<&str> = [case, guest].into_iter().flatten().map(|s| &**s).collect();
                let strategy = strategy.map(|strategy| strategy.to_string());
                let executor: Vec<&str> =
                    std::iter::once(engine.as_str()).chain(strategy.as_deref()).collect();
                let parts = [work.join("_from_"), executor.join("_")];
                parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
            }
        }
    }

    /// The JSON object of the entry: its record and its estimates.
    fn json(&self, book: &Book, name: &str, raw: bool) -> Result<Value> {
        let mut line = Map::new();
        let mut add = |value: Value| match value {
            Value::Object(fields) => line.extend(fields),
            other => drop(line.insert("value".to_owned(), other)),
        };
        match self {
            Self::Cell(cell) => {
                add(json!({ "id": name, "kind": "cell" }));
                add(serde_json::to_value(cell)?);
                for &metric in Metric::ALL {
                    let Value::String(key) = serde_json::to_value(metric)? else { continue };
                    add(json!({ key: estimate(book.estimate(cell, metric)) }));
                }
                add(json!({ "throughput_per_s": estimate(book.throughput(cell)) }));
                if raw {
                    add(json!({ "processes": book.cells.get(cell) }));
                }
            }
            Self::Comparison(of, judged) => {
                add(json!({ "id": name, "kind": "comparison" }));
                add(serde_json::to_value(of)?);
                add(json!({
                    "ratio": estimate(Some(judged.estimate())),
                    "verdict": judged.verdict.to_string(),
                    "subject_ns": judged.subject_ns,
                    "baseline_ns": judged.baseline_ns,
                }));
                if raw {
                    add(json!({ "processes": book.comparisons.get(of) }));
                }
            }
            Self::Swap(swap) => {
                add(json!({ "id": name, "kind": "swap" }));
                add(serde_json::to_value(swap)?);
            }
            Self::Refusal(refusal) => {
                add(json!({ "id": name, "kind": "refusal" }));
                add(serde_json::to_value(refusal)?);
            }
        }
        Ok(Value::Object(line))
    }
}

fn estimate(estimate: Option<Estimate>) -> Value {
    estimate.map_or(Value::Null, |Estimate { median, interval, marked }| {
        let (low, high) = interval.unzip();
        json!({ "median": median, "low": low, "high": high, "marked": marked })
    })
}

fn tables<'a>(book: &Book, entries: impl Iterator<Item = &'a Entry<'a>>) -> String {
    let style = Style::of_stdout();
    let mut works: Vec<(String, Vec<&CellKey>)> = Vec::new();
    let (mut comparisons, mut swaps, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
    for entry in entries {
        match entry {
            Entry::Cell(cell) => match works.iter_mut().find(|(work, _)| *work == cell.work()) {
                Some((_, cells)) => cells.push(cell),
                None => works.push((cell.work(), vec![cell])),
            },
            Entry::Comparison(of, judged) => comparisons.push((*of, judged)),
            Entry::Swap(swap) => swaps.push(*swap),
            Entry::Refusal(refusal) => refusals.push(*refusal),
        }
    }
    let heading = |name: &str, table: String| format!("{}\n{table}", style.bold(name));
    let mut parts: Vec<String> =
        works.iter().map(|(name, cells)| heading(name, cell_table(book, cells, style))).collect();
    if !comparisons.is_empty() {
        parts.push(heading("comparisons", comparison_table(&comparisons, style)));
    }
    if !swaps.is_empty() {
        parts.push(heading("swaps", swap_table(&swaps, style)));
    }
    // What was left out on purpose is counted: `touchstone list` has the reasons.
    let failures: Vec<&Refusal> =
        refusals.iter().copied().filter(|refusal| refusal.status.is_failure()).collect();
    if !failures.is_empty() {
        parts.push(heading("failures", refusal_table(&failures, style)));
    }
    if refusals.len() > failures.len() {
        let others = refusals.len() - failures.len();
        parts.push(format!("{others} refusals; --json prints them with their reasons\n"));
    }
    parts.join("\n")
}

fn cell_table(book: &Book, cells: &[&CellKey], style: Style) -> String {
    let head = ["executor", "threads", "time of a call [95 %]", "all threads", ""];
    let mut table = Table::new(&head).right(&[1, 3]).indented(2);
    for cell in cells {
        let nothing = || "–".to_owned();
        let call = book.estimate(cell, Metric::Call);
        let throughput = book.throughput(cell);
        let setup = book.setups.get(&(cell.executor(), cell.guest.clone()));
        let emulated = setup.and_then(|setup| setup.emulated.as_ref());
        table.row([
            cell.executor().to_string(),
            cell.threads.to_string(),
            call.as_ref().map_or_else(nothing, time_with_interval),
            throughput.as_ref().map_or_else(nothing, rate),
            emulated.map_or_else(String::new, |how| format!("emulated: {how}")),
        ]);
    }
    table.render(style)
}

fn comparison_table(comparisons: &[(&Match, &Judged)], style: Style) -> String {
    let head =
        ["purpose", "subject", "baseline", "call", "subject / baseline [95 %]", "verdict", "", ""];
    let mut table = Table::new(&head).right(&[6, 7]).indented(2);
    for (of, judged) in comparisons {
        let Match { purpose, case, guest, subject, baseline } = of;
        let threads = match (subject.threads, baseline.threads) {
            (1, 1) => String::new(),
            (subject, baseline) if subject == baseline => format!(", {subject} threads"),
            (subject, baseline) => format!(", {subject} threads against {baseline}"),
        };
        let time = |ns| median(&Estimate { median: ns, interval: None, marked: judged.marked });
        table.row([
            purpose.to_string(),
            subject.to_string(),
            baseline.to_string(),
            format!("{case}_from_{guest}{threads}"),
            ratio_with_interval(&judged.estimate()),
            judged.verdict.to_string(),
            time(judged.subject_ns),
            time(judged.baseline_ns),
        ]);
    }
    table.render(style)
}

/// The table of swaps under load and of memory over many swaps.
pub(super) fn swap_table(swaps: &[&Swap], style: Style) -> String {
    let mut table = Table::new(&["executor", "method", ""]).indented(2);
    for swap in swaps {
        table.row([swap.executor.to_string(), swap.method.clone(), found(&swap.found)]);
    }
    table.render(style)
}

/// A finding about swaps in one line.
fn found(found: &SwapFound) -> String {
    match found {
        SwapFound::UnderLoad { threads, replacements, failed, wrong, swapping, still, .. } => {
            let tail = |tail: &Tail| {
                let Tail { calls, p50_ns, p99_ns, p999_ns, max_ns } = *tail;
                let [p50, p99, p999, max] =
                    [p50_ns, p99_ns, p999_ns, max_ns].map(|ns| time(ns as f64));
                format!("p50 {p50}, p99 {p99}, p99.9 {p999}, max {max} of {calls}")
            };
            format!(
                "{threads} threads, {replacements} replacements, {failed} failed, {wrong} wrong; \
                 {}; without: {}",
                tail(swapping),
                tail(still)
            )
        }
        SwapFound::Soak { points } => {
            let point = |point: &SoakPoint| format!("{} KiB at {}", point.rss_kib, point.swaps);
            points.iter().map(point).collect::<Vec<_>>().join(", ")
        }
    }
}

fn refusal_table(refusals: &[&Refusal], style: Style) -> String {
    let mut table =
        Table::new(&["engine", "strategy", "case", "guest", "status", "reason"]).indented(2);
    for refusal in refusals {
        let Refusal { engine, strategy, guest, case, status, reason, .. } = refusal;
        let any = || "any".to_owned();
        table.row([
            engine.clone(),
            strategy.map_or_else(any, |strategy| strategy.to_string()),
            case.clone().unwrap_or_else(any),
            guest.clone().unwrap_or_else(any),
            status.to_string(),
            reason.clone(),
        ]);
    }
    table.render(style)
}
