//! `touchstone show`.

use super::Ended;
use touchstone::terminal::{Style, Table, complain, near, print, short, warn_of_skipped};
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};
use std::path::PathBuf;
use touchstone::matrix::Filter;
use touchstone::record::{
    self, CellRecord, PairRecord, Record, SoakPoint, Status, SwapFound, SwapRecord, SwapTail,
};
use touchstone::report::units::{difference, rate, time, time_with_interval};

/// Shows the latest record of each cell and of each pair.
#[derive(Debug, clap::Args)]
pub(super) struct Show {
    /// Regular expression over the names, as `touchstone list` and `cargo bench`
    /// take it
    filter: Option<String>,
    /// One JSON object a line; what was not measured is null
    #[arg(long)]
    json: bool,
    /// With --json: the raw samples and rounds too
    #[arg(long, requires = "json")]
    samples: bool,
    /// The records [default: $TOUCHSTONE_RECORDS, or the project's records/records.jsonl]
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
}

impl Show {
    pub(super) fn execute(self) -> Result<Ended> {
        let path = self.records.unwrap_or_else(record::default_path);
        let loaded = record::load(&path)?;
        warn_of_skipped(&path, &loaded.skipped);
        let records = record::newest(loaded.records);
        if records.is_empty() {
            bail!("{} holds no usable record; `make bench` makes them", short(&path));
        }
        let names: Vec<String> = records.iter().map(Record::id).collect();
        let filter = Filter::new(self.filter.as_deref());
        let records: Vec<Record> =
            records.into_iter().filter(|record| filter.matches(&record.id())).collect();
        if let (Some(text), true) = (&self.filter, records.is_empty()) {
            bail!("no record in {} matches '{text}'{}", short(&path), near(text, &names));
        }
        if self.json {
            let lines: Vec<String> = records
                .iter()
                .map(|record| json(record, self.samples).map(|line| line + "\n"))
                .collect::<Result<_>>()?;
            print(&lines.concat())?;
        } else {
            note_mixture(&records);
            print(&tables(&records))?;
        }
        Ok(Ended::Well)
    }
}

/// What is left out of a line when it was not measured, and must be seen to be.
const NULLABLE: [&str; 9] = [
    "reason",
    "support",
    "median_ns",
    "low_ns",
    "high_ns",
    "throughput_per_s",
    "throughput_low_per_s",
    "throughput_high_per_s",
    "phases",
];

/// The raw data, of which there may be thousands.
const RAW: [&str; 3] = ["samples", "throughput_rounds", "rounds"];

fn json(record: &Record, raw: bool) -> Result<String> {
    let context = "a record that JSON cannot hold";
    let Value::Object(fields) = serde_json::to_value(record).context(context)? else {
        bail!(context);
    };
    let mut line = Map::new();
    line.insert("id".to_owned(), record.id().into());
    line.extend(fields);
    if let Record::Cell(_) = record {
        for name in NULLABLE {
            line.entry(name).or_insert(Value::Null);
        }
        if raw {
            for name in ["samples", "throughput_rounds"] {
                line.entry(name).or_insert_with(|| Vec::<Value>::new().into());
            }
        }
    }
    if !raw {
        for name in RAW {
            line.remove(name);
        }
        if let Some(ladder) = line.get_mut("found").and_then(|found| found.get_mut("ladder")) {
            ladder.as_object_mut().and_then(|ladder| ladder.remove("rounds"));
        }
    }
    serde_json::to_string(&line).context(context)
}

/// Numbers of several machines do not belong side by side; the report keeps
/// them apart, here it is only said.
fn note_mixture(records: &[Record]) {
    let machine = |record: &Record| record.provenance().machine.clone();
    let first = records.first().map(machine);
    if records.iter().any(|record| Some(machine(record)) != first) {
        complain("warning: these records were made on more than one machine");
    }
}

fn tables(records: &[Record]) -> String {
    let style = Style::of_stdout();
    let mut groups: Vec<(String, Vec<&CellRecord>)> = Vec::new();
    let (mut pairs, mut swaps) = (Vec::new(), Vec::new());
    for record in records {
        match record {
            Record::Cell(cell) => {
                let name = cell.key.group();
                match groups.iter_mut().find(|(group, _)| *group == name) {
                    Some((_, cells)) => cells.push(cell),
                    None => groups.push((name, vec![cell])),
                }
            }
            Record::Pair(pair) => pairs.push(&**pair),
            Record::Swap(swap) => swaps.push(&**swap),
        }
    }
    let mut parts: Vec<String> = groups
        .iter()
        .map(|(name, cells)| format!("{}\n{}", style.bold(name), cell_table(cells, style)))
        .collect();
    if !pairs.is_empty() {
        parts.push(format!("{}\n{}", style.bold("pairs"), pair_table(&pairs, style)));
    }
    if !swaps.is_empty() {
        parts.push(format!("{}\n{}", style.bold("swaps"), swap_table(&swaps, style)));
    }
    parts.join("\n")
}

fn cell_table(cells: &[&CellRecord], style: Style) -> String {
    let head = ["executor", "threads", "status", "median [95 %]", "all threads", ""];
    let mut table = Table::new(&head).right(&[1, 4]).indented(2);
    for cell in cells {
        let median = cell.median_ns.map(|ns| time_with_interval(ns, cell.low_ns, cell.high_ns));
        // A cell that was timed may have a note; the others have a reason.
        let note = cell.reason.clone().map(|reason| match cell.status {
            Status::Ok => format!("emulated: {reason}"),
            _ => reason,
        });
        table.row([
            cell.key.executor(),
            cell.key.threads.to_string(),
            cell.status.to_string(),
            median.unwrap_or_else(|| "–".to_owned()),
            cell.throughput_per_s.map_or_else(|| "–".to_owned(), rate),
            note.unwrap_or_default(),
        ]);
    }
    table.render(style)
}

fn pair_table(pairs: &[&PairRecord], style: Style) -> String {
    let head = ["what", "subject", "call", "ratio [95 %]", "subject", "reference", "held against"];
    let mut table = Table::new(&head).right(&[4, 5]).indented(2);
    for pair in pairs {
        table.row([
            pair.group.clone(),
            pair.subject.clone(),
            call(pair),
            format!("{:.3} [{:.3} – {:.3}]", pair.ratio, pair.ratio_low, pair.ratio_high),
            time(pair.subject_ns),
            time(pair.reference_ns),
            pair.reference.clone(),
        ]);
    }
    table.render(style)
}

/// What was found, as `touchstone swap` says it too.
pub(super) fn swap_table(swaps: &[&SwapRecord], style: Style) -> String {
    let mut table =
        Table::new(&["engine", "rung", "strategy", "memory", ""]).right(&[3]).indented(2);
    for swap in swaps {
        table.row([
            swap.engine.clone(),
            swap.rung.clone(),
            swap.strategy.clone(),
            format!("{:+} KiB", swap.growth_kib()),
            found(&swap.found),
        ]);
    }
    table.render(style)
}

/// In a sentence.
fn found(found: &SwapFound) -> String {
    match found {
        SwapFound::Ladder {
            messages,
            changes,
            per_message,
            per_sorted_message,
            per_swap,
            per_message_with_swap,
            ..
        } => format!(
            "{} a message, {} by kind, {} with a swap; {} a swap; {messages} messages a round, \
             {changes} changes",
            time(per_message.median_ns),
            time(per_sorted_message.median_ns),
            time(per_message_with_swap.median_ns),
            difference(per_swap.median_ns, per_swap.low_ns, per_swap.high_ns),
        ),
        SwapFound::UnderLoad { threads, replacements, failed, wrong, swapping, still, .. } => {
            let tail = |tail: &SwapTail| {
                let SwapTail { calls, p50_ns, p99_ns, p999_ns, max_ns } = *tail;
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
            let point =
                |point: &SoakPoint| format!("{} KiB at {}", point.resident_kib, point.swaps);
            points.iter().map(point).collect::<Vec<_>>().join(", ")
        }
    }
}

/// What both sides call; most pairs are of one thread.
fn call(pair: &PairRecord) -> String {
    let call = format!("{}_from_{}", pair.case, pair.guest);
    if pair.threads == 1 { call } else { format!("{call}, {} threads", pair.threads) }
}
