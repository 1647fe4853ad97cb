//! A run in words: its entries in tables for a terminal, and as JSON.

mod systems;

use crate::units::{marked, median, rate, ratio_with_interval, time, time_with_interval};
use anyhow::Result;
use serde_json::{Value, json};
pub use systems::Found;
use touchstone_record::compare::{Judged, MARGIN, judge};
use touchstone_record::terminal::{Style, Table};
use touchstone_record::{
    Book, CellKey, Count, Density, Estimate, Match, Metric, Refusal, ResetKey, SoakPoint, Swap,
    SwapFound, Tail, Unit,
};

/// A named entry of a run.
pub enum Entry<'a> {
    /// A cell with its metrics.
    Cell(&'a CellKey),
    /// A comparison and its verdict.
    Comparison(&'a Match, Judged),
    /// The counts of a case.
    Count(&'a Count),
    /// Swaps under load, or memory over many swaps.
    Swap(&'a Swap),
    /// Many live instances.
    Density(&'a Density),
    /// Clean calls that write pages, and the time of one.
    Reset(&'a ResetKey, Estimate),
    /// A system under an executor.
    System(Found<'a>),
    /// The reason why something was not measured.
    Refusal(&'a Refusal),
}

/// All entries of a run, cells first.
#[must_use]
pub fn entries(book: &Book) -> Vec<Entry<'_>> {
    let cells = book.cells.keys().map(Entry::Cell);
    let comparisons = book
        .comparisons
        .iter()
        .filter_map(|(of, processes)| Some(Entry::Comparison(of, judge(processes, MARGIN)?)));
    let counts = book.counts.values().map(Entry::Count);
    let swaps = book.swaps.iter().map(Entry::Swap);
    let densities = book.densities.iter().map(Entry::Density);
    let resets = book.resets.keys();
    let resets = resets.filter_map(|key| Some(Entry::Reset(key, book.reset(key)?)));
    let refusals = book.refusals.iter().map(Entry::Refusal);
    let measured = cells.chain(comparisons).chain(counts).chain(swaps).chain(densities);
    let systems = Found::all(book).into_iter().map(Entry::System);
    measured.chain(resets).chain(systems).chain(refusals).collect()
}

impl Entry<'_> {
    /// The name for filters.
    #[must_use]
    pub fn name(&self, book: &Book) -> String {
        match self {
            Self::Cell(cell) => book.name(cell),
            Self::Comparison(of, _) => of.name(),
            Self::Count(count) => format!("{}_from_{}", count.case, count.guest),
            Self::Swap(swap) => format!("swap/{}/{}", swap.executor, swap.method),
            Self::Density(density) => {
                format!("density/{}/{}_instances", density.executor, density.instances)
            }
            Self::Reset(key, _) => format!("reset/{}/{}", key.executor, key.point),
            Self::System(found) => found.name(),
            Self::Refusal(Refusal { engine, strategy, guest, case, .. }) => {
                let strategy = strategy.map(|strategy| strategy.to_string());
                let join = |parts: [Option<&str>; 2], with: &str| {
                    let parts: Vec<&str> = parts.into_iter().flatten().collect();
                    Some(parts.join(with)).filter(|joined| !joined.is_empty())
                };
                let work = join([case.as_deref(), guest.as_deref()], "_from_");
                let executor = join([Some(engine), strategy.as_deref()], "_");
                join([work.as_deref(), executor.as_deref()], "/").unwrap_or_default()
            }
        }
    }

    /// The JSON object of the entry: its record and its estimates; with the samples if `raw`.
    ///
    /// # Errors
    ///
    /// When a record cannot be written as JSON.
    pub fn json(&self, book: &Book, raw: bool) -> Result<Value> {
        let (kind, mut line) = match self {
            Self::Cell(cell) => ("cell", serde_json::to_value(cell)?),
            Self::Comparison(of, _) => ("comparison", serde_json::to_value(of)?),
            Self::Count(count) => ("count", serde_json::to_value(count)?),
            Self::Swap(swap) => ("swap", serde_json::to_value(swap)?),
            Self::Density(density) => ("density", serde_json::to_value(density)?),
            Self::Reset(key, _) => ("reset", serde_json::to_value(key)?),
            Self::System(found) => ("system", found.json()?),
            Self::Refusal(refusal) => ("refusal", serde_json::to_value(refusal)?),
        };
        line["id"] = self.name(book).into();
        line["kind"] = kind.into();
        match self {
            Self::Cell(cell) => {
                for &metric in Metric::ALL {
                    let key = serde_json::to_value(metric)?;
                    line[key.as_str().unwrap_or_default()] = estimate(book.estimate(cell, metric));
                }
                line["threads"] = cell.threads.into();
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
            Self::Reset(key, call) => {
                line["call"] = estimate(Some(*call));
                if raw {
                    line["processes"] = serde_json::to_value(book.resets.get(*key))?;
                }
            }
            Self::Count(_)
            | Self::Swap(_)
            | Self::Density(_)
            | Self::System(_)
            | Self::Refusal(_) => {}
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

/// Everything of a run in tables.
#[must_use]
pub fn all(book: &Book) -> String {
    tables(book, &entries(book))
}

/// Some entries of a run in tables.
#[must_use]
pub fn tables(book: &Book, entries: &[Entry<'_>]) -> String {
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
        let (heading, columns, row) = entry.row(book, &metrics);
        if tables.last().is_none_or(|(last, _)| *last != heading) {
            let numbers = |(index, column): (usize, &Column)| column.1.then_some(index);
            let right: Vec<usize> = columns.iter().enumerate().filter_map(numbers).collect();
            let head: Vec<&str> = columns.iter().map(|column| column.0).collect();
            tables.push((heading, Table::new(&head).right(&right).indented(2)));
        }
        if let Some((_, table)) = tables.last_mut() {
            table.row(row);
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

fn or_none(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".to_owned())
}

/// A heading, and whether numbers stand below it.
type Column = (&'static str, bool);

fn texts<const N: usize>(headings: [&'static str; N]) -> Vec<Column> {
    headings.map(|heading| (heading, false)).to_vec()
}

impl Entry<'_> {
    /// Its row, the columns of the table in which it stands, and that table's heading. Cells have
    /// a column for each of the metrics.
    fn row(&self, book: &Book, metrics: &[Metric]) -> (String, Vec<Column>, Vec<String>) {
        match self {
            Self::Cell(cell) => {
                let mut columns = vec![("executor", false), ("threads", true)];
                let mut row = vec![cell.executor().to_string(), cell.threads.to_string()];
                for &metric in metrics {
                    columns.push((metric.name(), true));
                    row.push(or_none(book.estimate(cell, metric).map(
                        |estimate| match metric.unit() {
                            _ if metric == Metric::Call => time_with_interval(&estimate),
                            Unit::Nanoseconds => median(&estimate),
                            Unit::Bytes | Unit::Count => estimate.median.to_string(),
                        },
                    )));
                }
                let setup = book.setups.get(&(cell.executor(), cell.guest.clone()));
                let emulated = setup.and_then(|setup| setup.emulated.as_ref());
                columns.extend([("all threads", true), ("", false)]);
                row.push(or_none(book.throughput(cell).as_ref().map(rate)));
                row.push(emulated.map_or_else(String::new, |how| format!("emulated: {how}")));
                (cell.work(), columns, row)
            }
            Self::Comparison(of, judged) => {
                let Match { purpose, case, guest, subject, baseline } = of;
                let threads = match (subject.threads, baseline.threads) {
                    (1, 1) => String::new(),
                    (subject, baseline) if subject == baseline => format!(", {subject} threads"),
                    (subject, baseline) => format!(", {subject} threads against {baseline}"),
                };
                let ratio = "subject / baseline [95 %]";
                let mut columns =
                    texts(["purpose", "subject", "baseline", "call", ratio, "verdict"]);
                columns.extend([("subject", true), ("baseline", true)]);
                let row = vec![
                    purpose.to_string(),
                    subject.to_string(),
                    baseline.to_string(),
                    format!("{case}_from_{guest}{threads}"),
                    ratio_with_interval(&judged.ratio),
                    judged.verdict.to_string(),
                    marked(time(judged.subject_ns), judged.ratio.marked),
                    marked(time(judged.baseline_ns), judged.ratio.marked),
                ];
                ("comparisons".to_owned(), columns, row)
            }
            Self::Count(count) => {
                let numbers = [Metric::Operators, Metric::WarmOperators, Metric::GuestBytes];
                let number = |metric| count.metrics.get(metric).map(ToString::to_string);
                let mut columns = vec![("operators", true), ("second call", true)];
                columns.extend([("guest bytes", true), ("case and guest", false)]);
                columns.push(("counted by", false));
                let mut row = numbers.each_ref().map(|metric| or_none(number(metric))).to_vec();
                row.extend([self.name(book), count.counted_by.join(", ")]);
                ("counts".to_owned(), columns, row)
            }
            Self::Swap(swap) => {
                let row = vec![swap.executor.to_string(), swap.method.clone(), found(&swap.found)];
                ("swaps".to_owned(), texts(["executor", "method", ""]), row)
            }
            Self::Density(density) => {
                let columns = ["instances", "PSS each", "used", "mappings", "used", "making"];
                let calls = ["first call p50", "p99", "call p50", "p99"];
                let columns = columns.iter().chain(&calls).map(|name| (*name, true));
                let columns = std::iter::once(("executor", false)).chain(columns).collect();
                let [idle, used] = [&density.idle, &density.used].map(|now| density.each(now));
                let [making, first, calls] =
                    [&density.making, &density.first_calls, &density.calls]
                        .map(|tail| [tail.p50_ns, tail.p99_ns].map(|ns| time(ns as f64)));
                let mut row = vec![density.executor.to_string(), density.instances.to_string()];
                row.extend([idle[1], used[1]].map(|kib| format!("{kib:.1} KiB")));
                row.extend([idle[3], used[3]].map(|mappings| format!("{mappings:.2}")));
                row.push(making[0].clone());
                row.extend(first.into_iter().chain(calls));
                ("live instances".to_owned(), columns, row)
            }
            Self::Reset(ResetKey { point, executor }, call) => {
                let columns = [
                    ("touch", false),
                    ("place", false),
                    ("drift", false),
                    ("threads", true),
                    ("pages", true),
                    ("executor", false),
                    ("call", true),
                ];
                let row = vec![
                    point.touch.to_string(),
                    point.place.to_string(),
                    point.drift.to_string(),
                    point.threads.to_string(),
                    point.pages.to_string(),
                    executor.to_string(),
                    time_with_interval(call),
                ];
                ("resets".to_owned(), columns.to_vec(), row)
            }
            Self::System(found) => found.row(),
            Self::Refusal(Refusal { engine, strategy, guest, case, status, reason, .. }) => {
                let strategy = strategy.map(|strategy| strategy.to_string());
                let [strategy, case, guest] = [&strategy, case, guest]
                    .map(|name| name.clone().unwrap_or_else(|| "any".to_owned()));
                let columns = texts(["engine", "strategy", "case", "guest", "status", "reason"]);
                let (engine, reason) = (engine.clone(), reason.clone());
                let row = vec![engine, strategy, case, guest, status.to_string(), reason];
                ("failures".to_owned(), columns, row)
            }
        }
    }
}

/// What a swap left behind, in a sentence.
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
