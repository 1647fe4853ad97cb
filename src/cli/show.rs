//! `touchstone show`.

use super::Ended;
use super::common::{judged, newest};
use anyhow::{Result, bail};
use serde_json::{Value, json};
use std::path::PathBuf;
use touchstone::compare::Judged;
use touchstone::plan::{Filter, near};
use touchstone::record::{
    self, BENCH, Book, CellKey, Estimate, Match, Metric, Refusal, SoakPoint, Swap, SwapFound, Tail,
    Unit,
};
use touchstone::report::units::{
    marked, median, rate, ratio_with_interval, time, time_with_interval,
};
use touchstone::run::shown;
use touchstone::terminal::{Style, Table, print};

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
        let book = newest(&path)?;
        let filter = Filter::new(self.filter.as_deref())?;
        let all = entries(&book);
        let names: Vec<String> = all.iter().map(|entry| entry.name(&book)).collect();
        let meant: Vec<(&String, &Entry<'_>)> =
            names.iter().zip(&all).filter(|(name, _)| filter.matches(name)).collect();
        if let (Some(text), true) = (&self.filter, meant.is_empty()) {
            bail!("nothing in {} matches '{text}'{}", shown(&path), near(text, &names));
        }
        if self.json {
            let lines = meant
                .iter()
                .map(|(name, entry)| Ok(format!("{}\n", entry.json(&book, name, self.samples)?)));
            print(&lines.collect::<Result<String>>()?)?;
        } else {
            print(&tables(&book, meant.into_iter().map(|(_, entry)| entry)))?;
        }
        Ok(Ended::Well)
    }
}

/// All entries of a run, cells first.
fn entries(book: &Book) -> Vec<Entry<'_>> {
    let cells = book.cells.keys().map(Entry::Cell);
    let comparisons = book
        .comparisons
        .iter()
        .filter_map(|(of, processes)| Some(Entry::Comparison(of, judged(processes)?)));
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
        let (kind, mut line) = match self {
            Self::Cell(cell) => ("cell", serde_json::to_value(cell)?),
            Self::Comparison(of, _) => ("comparison", serde_json::to_value(of)?),
            Self::Swap(swap) => ("swap", serde_json::to_value(swap)?),
            Self::Refusal(refusal) => ("refusal", serde_json::to_value(refusal)?),
        };
        line["id"] = name.into();
        line["kind"] = kind.into();
        match self {
            Self::Cell(cell) => {
                for &metric in Metric::ALL {
                    let key = serde_json::to_value(metric)?;
                    line[key.as_str().unwrap_or_default()] = estimate(book.estimate(cell, metric));
                }
                line["throughput_per_s"] = estimate(book.throughput(cell));
                if raw {
                    line["processes"] = serde_json::to_value(book.cells.get(*cell))?;
                }
            }
            Self::Comparison(of, judged) => {
                line["ratio"] = estimate(Some(judged.ratio));
                line["verdict"] = judged.verdict.to_string().into();
                line["subject_ns"] = judged.subject_ns.into();
                line["baseline_ns"] = judged.baseline_ns.into();
                if raw {
                    line["processes"] = serde_json::to_value(book.comparisons.get(*of))?;
                }
            }
            Self::Swap(_) | Self::Refusal(_) => {}
        }
        Ok(line)
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
    let has =
        |metric: &&Metric| book.cells.keys().any(|cell| book.estimate(cell, **metric).is_some());
    let metrics: Vec<Metric> = Metric::ALL.iter().filter(has).copied().collect();
    let mut tables: Vec<(String, Table)> = Vec::new();
    let mut left_out = 0;
    for entry in entries {
        // What was left out on purpose is counted: `touchstone list` has the reasons.
        if matches!(entry, Entry::Refusal(refusal) if !refusal.status.is_failure()) {
            left_out += 1;
            continue;
        }
        let heading = entry.heading();
        if tables.last().is_none_or(|(last, _)| *last != heading) {
            tables.push((heading, entry.table(&metrics)));
        }
        if let Some((_, table)) = tables.last_mut() {
            table.row(entry.row(book, &metrics));
        }
    }
    let part =
        |(name, table): (String, Table)| format!("{}\n{}", style.bold(&name), table.render(style));
    let mut parts: Vec<String> = tables.into_iter().map(part).collect();
    if left_out > 0 {
        parts.push(format!("{left_out} refusals; --json prints them with their reasons\n"));
    }
    parts.join("\n")
}

impl Entry<'_> {
    /// The heading that it stands under.
    fn heading(&self) -> String {
        match self {
            Self::Cell(cell) => cell.work(),
            Self::Comparison(..) => "comparisons".to_owned(),
            Self::Swap(_) => "swaps".to_owned(),
            Self::Refusal(_) => "failures".to_owned(),
        }
    }

    /// An empty table for entries like this one, with a column for each metric of cells.
    fn table(&self, metrics: &[Metric]) -> Table {
        let (head, right): (Vec<&str>, Vec<usize>) = match self {
            Self::Cell(_) => {
                let metrics = metrics.iter().map(|metric| metric.name());
                let head: Vec<&str> = ["executor", "threads"]
                    .into_iter()
                    .chain(metrics)
                    .chain(["all threads", ""])
                    .collect();
                let right = (1..head.len() - 1).collect();
                (head, right)
            }
            Self::Comparison(..) => (
                vec![
                    "purpose",
                    "subject",
                    "baseline",
                    "call",
                    "subject / baseline [95 %]",
                    "verdict",
                    "",
                    "",
                ],
                vec![6, 7],
            ),
            Self::Swap(_) => (vec!["executor", "method", ""], Vec::new()),
            Self::Refusal(_) => {
                (vec!["engine", "strategy", "case", "guest", "status", "reason"], Vec::new())
            }
        };
        Table::new(&head).right(&right).indented(2)
    }

    fn row(&self, book: &Book, metrics: &[Metric]) -> Vec<String> {
        match self {
            Self::Cell(cell) => {
                let or_none = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
                let mut row = vec![cell.executor().to_string(), cell.threads.to_string()];
                row.extend(metrics.iter().map(|metric| {
                    or_none(book.estimate(cell, *metric).map(|estimate| match metric.unit() {
                        _ if *metric == Metric::Call => time_with_interval(&estimate),
                        Unit::Nanoseconds => median(&estimate),
                        Unit::Bytes | Unit::Count => estimate.median.to_string(),
                    }))
                }));
                row.push(or_none(book.throughput(cell).as_ref().map(rate)));
                let setup = book.setups.get(&(cell.executor(), cell.guest.clone()));
                let emulated = setup.and_then(|setup| setup.emulated.as_ref());
                row.push(emulated.map_or_else(String::new, |how| format!("emulated: {how}")));
                row
            }
            Self::Comparison(of, judged) => {
                let Match { purpose, case, guest, subject, baseline } = of;
                let threads = match (subject.threads, baseline.threads) {
                    (1, 1) => String::new(),
                    (subject, baseline) if subject == baseline => format!(", {subject} threads"),
                    (subject, baseline) => format!(", {subject} threads against {baseline}"),
                };
                vec![
                    purpose.to_string(),
                    subject.to_string(),
                    baseline.to_string(),
                    format!("{case}_from_{guest}{threads}"),
                    ratio_with_interval(&judged.ratio),
                    judged.verdict.to_string(),
                    marked(time(judged.subject_ns), judged.ratio.marked),
                    marked(time(judged.baseline_ns), judged.ratio.marked),
                ]
            }
            Self::Swap(swap) => {
                vec![swap.executor.to_string(), swap.method.clone(), found(&swap.found)]
            }
            Self::Refusal(Refusal { engine, strategy, guest, case, status, reason, .. }) => {
                let strategy = strategy.map(|strategy| strategy.to_string());
                let [strategy, case, guest] = [&strategy, case, guest]
                    .map(|name| name.clone().unwrap_or_else(|| "any".to_owned()));
                vec![engine.clone(), strategy, case, guest, status.to_string(), reason.clone()]
            }
        }
    }
}

/// What a swap left behind, in a sentence.
pub(super) fn found(found: &SwapFound) -> String {
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
