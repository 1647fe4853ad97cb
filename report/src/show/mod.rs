//! A run in words: its entries in tables for a terminal, and as JSON.

use crate::experiment::Row;
use crate::markdown::NOTHING;
use crate::units::{median, rate, ratio_with_interval, time_with_interval};
use anyhow::Result;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;
use touchstone_record::compare::{Judged, MARGIN, judge};
use touchstone_record::terminal::{Style, Table};
use touchstone_record::{
    Book, CellKey, Coordinate, Count, Estimate, Experiment, Match, Metric, Mode, Place,
    PointColumn, PointRefusal, Points, Refusal, Shown, Unit, experiments_folder,
};

/// A named entry of a run.
#[allow(clippy::large_enum_variant, reason = "an entry is printed at once")]
pub enum Entry<'a> {
    /// A cell with its metrics.
    Cell(&'a CellKey),
    /// A comparison and its verdict.
    Comparison(&'a Match, Judged),
    /// The counts of a case.
    Count(&'a Count),
    /// Points of an experiment.
    Points(Shape<'a>),
    /// The reason why something was not measured.
    Refusal(&'a Refusal),
}

/// Points at one place, and how their experiment shows them.
pub struct Shape<'a> {
    experiment: &'a str,
    declared: Option<&'static Experiment>,
    points: &'a Points,
}

/// The declarations of the project; none if they cannot be read.
fn declared(name: &str) -> Option<&'static Experiment> {
    static ALL: LazyLock<Vec<Experiment>> =
        LazyLock::new(|| Experiment::all(experiments_folder()).unwrap_or_default());
    ALL.iter().find(|own| own.name == name)
}

/// All entries of a run, cells first.
pub fn entries(book: &Book) -> Vec<Entry<'_>> {
    let cells = book.cells.keys().map(Entry::Cell);
    let comparisons = book
        .comparisons
        .iter()
        .filter_map(|(of, processes)| Some(Entry::Comparison(of, judge(processes, MARGIN)?)));
    let counts = book.counts.values().map(Entry::Count);
    let points = book.points.iter().flat_map(|(experiment, own)| {
        let declared = declared(experiment);
        let shape = move |points| Entry::Points(Shape { experiment, declared, points });
        let refused = own.refused().filter(|(points, ..)| points.measured().next().is_none());
        own.measured().map(shape).chain(refused.map(move |(points, ..)| shape(points)))
    });
    let refusals = book.refusals.iter().map(Entry::Refusal);
    cells.chain(comparisons).chain(counts).chain(points).chain(refusals).collect()
}

impl Entry<'_> {
    /// The name for filters.
    pub fn name(&self, book: &Book) -> String {
        match self {
            Self::Cell(cell) => book.name(cell),
            Self::Comparison(of, _) => of.name(),
            Self::Count(count) => format!("{}_from_{}", count.case, count.guest),
            Self::Points(own) => format!("{}/{}", own.experiment, own.points.place),
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
    /// Fails when a record cannot be written as JSON.
    pub fn json(&self, book: &Book, raw: bool) -> Result<Value> {
        let (kind, mut line) = match self {
            Self::Cell(cell) => {
                let mut line = serde_json::to_value(cell)?;
                for &metric in Metric::ALL {
                    let key = serde_json::to_value(metric)?;
                    line[key.as_str().unwrap_or_default()] = estimate(book.estimate(cell, metric));
                }
                line["threads"] = cell.threads.into();
                line["throughput_per_s"] = estimate(book.throughput(cell));
                if raw {
                    line["processes"] = serde_json::to_value(book.cells.get(*cell))?;
                }
                ("cell", line)
            }
            Self::Comparison(of, judged) => {
                let mut line = serde_json::to_value(of)?;
                line["ratio"] = estimate(Some(judged.ratio));
                line["verdict"] = judged.verdict.to_string().into();
                line["subject_ns"] = judged.subject.median.into();
                line["baseline_ns"] = judged.baseline.median.into();
                if raw {
                    line["processes"] = serde_json::to_value(book.comparisons.get(*of))?;
                }
                ("comparison", line)
            }
            Self::Count(count) => ("count", serde_json::to_value(count)?),
            Self::Points(own) => ("point", own.json(raw)?),
            Self::Refusal(refusal) => ("refusal", serde_json::to_value(refusal)?),
        };
        line["id"] = self.name(book).into();
        line["kind"] = kind.into();
        Ok(line)
    }
}

fn estimate(estimate: Option<Estimate>) -> Value {
    estimate.map_or(Value::Null, |Estimate { median, interval, marked, modes }| {
        let (low, high) = interval.unzip();
        let mut own = json!({ "median": median, "low": low, "high": high, "marked": marked });
        if let Some(modes) = modes {
            let mode = |of: Mode| json!({ "median": of.median, "processes": of.processes });
            own["modes"] = modes.map(mode).to_vec().into();
        }
        own
    })
}

/// Everything of a run in tables.
pub fn all(book: &Book) -> String {
    tables(book, &entries(book))
}

/// Some entries of a run in tables.
pub fn tables(book: &Book, entries: &[Entry<'_>]) -> String {
    let style = Style::of_stdout();
    let has =
        |metric: &&Metric| book.cells.keys().any(|cell| book.estimate(cell, **metric).is_some());
    let metrics: Vec<Metric> = Metric::ALL.iter().filter(has).copied().collect();
    let mut tables: Vec<(String, Table)> = Vec::new();
    let mut left_out = 0;
    for entry in entries {
        // What was left out on purpose is counted: `touchstone list` has the reasons.
        let status = match entry {
            Entry::Refusal(refusal) => Some(refusal.status),
            Entry::Points(own) => own.refusal().map(|refusal| refusal.status),
            _ => None,
        };
        if status.is_some_and(|status| !status.is_failure()) {
            left_out += 1;
            continue;
        }
        let Line { table: heading, columns, row } = entry.line(book, &metrics);
        if tables.last().is_none_or(|(last, _)| *last != heading) {
            let is_right = |(index, column): (usize, &(String, bool))| column.1.then_some(index);
            let right: Vec<usize> = columns.iter().enumerate().filter_map(is_right).collect();
            let head: Vec<&str> = columns.iter().map(|column| column.0.as_str()).collect();
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

struct Line {
    table: String,
    /// Headings, and `true` where numbers stand below them.
    columns: Vec<(String, bool)>,
    row: Vec<String>,
}

impl Line {
    fn of(table: impl Into<String>) -> Self {
        Self { table: table.into(), columns: Vec::new(), row: Vec::new() }
    }

    fn add(&mut self, heading: &str, is_number: bool, text: impl Into<Option<String>>) {
        self.columns.push((heading.to_owned(), is_number));
        self.row.push(text.into().unwrap_or_else(|| NOTHING.to_owned()));
    }

    fn text(&mut self, heading: &str, text: impl Into<Option<String>>) {
        self.add(heading, false, text);
    }

    fn number(&mut self, heading: &str, text: impl Into<Option<String>>) {
        self.add(heading, true, text);
    }
}

impl Entry<'_> {
    /// Its line. Cells have a column for each of the metrics.
    fn line(&self, book: &Book, metrics: &[Metric]) -> Line {
        match self {
            Self::Cell(cell) => {
                let mut line = Line::of(cell.work());
                line.text("executor", cell.executor().to_string());
                let threads = match book.is_crowded(cell) {
                    true => format!("{} on {}", cell.threads, book.header.machine.cores),
                    false => cell.threads.to_string(),
                };
                line.number("threads", threads);
                for &metric in metrics {
                    let shown = |estimate: Estimate| match metric.unit() {
                        _ if metric == Metric::Call => time_with_interval(&estimate),
                        Unit::Nanoseconds => median(&estimate),
                        Unit::Bytes | Unit::Count => estimate.median.to_string(),
                    };
                    line.number(metric.name(), book.estimate(cell, metric).map(shown));
                }
                line.number("all threads", book.throughput(cell).as_ref().map(rate));
                let setup = book.setups.get(&(cell.executor(), cell.guest.clone()));
                let emulated = setup.and_then(|setup| setup.emulated.as_ref());
                line.text("", emulated.map_or_else(String::new, |how| format!("emulated: {how}")));
                line
            }
            Self::Comparison(of, judged) => {
                let Match { purpose, subject, baseline, .. } = of;
                let threads = match (subject.threads, baseline.threads) {
                    (1, 1) => String::new(),
                    (subject, baseline) if subject == baseline => format!(", {subject} threads"),
                    (subject, baseline) => format!(", {subject} threads against {baseline}"),
                };
                let mut line = Line::of("comparisons");
                line.text("purpose", purpose.to_string());
                line.text("subject", subject.to_string());
                line.text("baseline", baseline.to_string());
                line.text("call", format!("{}{threads}", of.work()));
                line.text("subject / baseline [95 %]", ratio_with_interval(&judged.ratio));
                line.text("verdict", judged.verdict.to_string());
                line.number("subject", median(&judged.subject));
                line.number("baseline", median(&judged.baseline));
                line
            }
            Self::Count(count) => {
                let number = |metric| count.metrics.get(&metric).map(ToString::to_string);
                let mut line = Line::of("counts");
                line.number("operators", number(Metric::Operators));
                line.number("second call", number(Metric::WarmOperators));
                line.number("guest bytes", number(Metric::GuestBytes));
                line.text("case and guest", self.name(book));
                line.text("counted by", count.counted_by.join(", "));
                line
            }
            Self::Points(own) => own.line(),
            Self::Refusal(Refusal { engine, strategy, guest, case, status, reason, .. }) => {
                let or_any = |name: Option<String>| name.unwrap_or_else(|| "any".to_owned());
                let mut line = Line::of("failures");
                line.text("engine", engine.clone());
                line.text("strategy", or_any(strategy.map(|strategy| strategy.to_string())));
                line.text("case", or_any(case.clone()));
                line.text("guest", or_any(guest.clone()));
                line.text("status", status.to_string());
                line.text("reason", reason.clone());
                line
            }
        }
    }
}

impl Shape<'_> {
    /// The reason why no process measured it.
    fn refusal(&self) -> Option<&PointRefusal> {
        let is_refused = self.points.measured().next().is_none();
        self.points.refusal().filter(|_| is_refused).map(|(refusal, _)| refusal)
    }

    /// The place and the estimates of all metrics; with the samples if `raw`.
    fn json(&self, raw: bool) -> Result<Value> {
        let names = self.points.processes.iter().flat_map(|point| point.values.keys());
        let names: BTreeSet<&String> = names.collect();
        let value = |name: &str| match self.declared.and_then(|own| own.metric(name)) {
            Some(metric) if metric.sampled => self.points.sampled(name),
            _ => self.points.median(name),
        };
        let values = names.into_iter().map(|name| (name.clone(), estimate(value(name))));
        let values: serde_json::Map<String, Value> = values.collect();
        let mut line = json!({
            "experiment": self.experiment, "where": self.points.place, "values": values,
        });
        if let Some(refusal) = self.refusal() {
            line["refused"] = serde_json::to_value(refusal)?;
        }
        if raw {
            line["processes"] = serde_json::to_value(&self.points.processes)?;
        }
        Ok(line)
    }

    /// Dimensions and the columns of the first table that is not laid out across.
    fn line(&self) -> Line {
        let place = &self.points.place;
        let executor = place.executor().map(|own| own.to_string());
        if let Some(refusal) = self.refusal() {
            let mut line = Line::of(format!("{}, refused", self.experiment));
            line.text("executor", executor);
            line.text("where", place.without_executor().to_string());
            line.text("status", refusal.status.to_string());
            line.text("reason", refusal.reason.clone());
            return line;
        }
        let title = self.declared.map_or(self.experiment, |own| &own.title);
        let mut line = Line::of(title);
        line.text("executor", executor);
        let Some(experiment) = self.declared else { return line };
        for dimension in &experiment.dimensions {
            let value = place.get(&dimension.name);
            let is_number = matches!(value, Some(Coordinate::Number(_)));
            line.add(&dimension.name, is_number, value.map(ToString::to_string));
        }
        let own = Row::of(experiment, self.points);
        // Values that stand beside each other in the table have rows of their own here.
        let table = experiment.tables.first().filter(|table| table.beside.is_empty());
        let declared = Some(&experiment.show).filter(|columns| !columns.is_empty());
        match declared.or(table.map(|table| &table.columns)) {
            Some(columns) => {
                for column in columns {
                    let PointColumn { heading, value, shown, .. } = column;
                    let is_value = !matches!(shown, Shown::Words | Shown::Code);
                    if is_value && experiment.dimension(value).is_none() {
                        line.number(heading, own.cell(column, &Place::default(), &[]));
                    }
                }
            }
            None => {
                for (name, metric) in &experiment.metrics {
                    for part in metric.unit.parts() {
                        let name = format!("{name}{part}");
                        line.number(&name, own.text(&name, metric.unit.shown(&name)));
                    }
                }
            }
        }
        line
    }
}
