//! The output: the call, a row for each combination, and the times.

use super::answer::{Answer, State};
use super::row::Row;
use super::target::Target;
use serde_json::json;
use std::path::Path;
use std::time::Duration;
use touchstone::case::init::Means;
use touchstone::lab::abbreviate_to;
use touchstone::report::units::{ratio_with_interval, time_with_interval};
use touchstone::terminal::{Style, Table};
use touchstone_executor::Value;
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::{Growth, ModuleInfo};
use touchstone_executor::text::{harmless, name, plural};

/// Bytes of an output that a row shows.
const IN_A_ROW: usize = 12;
/// Bytes of the input that are shown.
const INPUT: usize = 32;
/// Bytes of an output that are shown where it stands alone.
const ALONE: usize = 256;

/// What is shown of a run.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) target: &'a Target,
    pub(super) timeout: Duration,
    pub(super) style: Style,
}

/// Widths of the columns of a table whose rows are printed one by one.
pub(super) struct Widths {
    engine: usize,
    strategy: usize,
}

impl Widths {
    pub(super) fn of(rows: &[Row]) -> Self {
        let widest = |text: fn(&Row) -> usize| rows.iter().map(text).max().unwrap_or(0);
        Self {
            engine: widest(|row| row.engine.id().len()).max("backend".len()),
            strategy: widest(|row| row.strategy.to_string().len()),
        }
    }

    fn line(&self, cells: [&str; 4]) -> String {
        let [engine, strategy, support, result] = cells;
        let line = format!(
            "{engine:0$}  {strategy:1$}  {support:8}  {result}",
            self.engine, self.strategy
        );
        line.trim_end().to_owned()
    }
}

/// The exported functions, for somebody who named none.
pub(super) fn exports(file: &Path, info: &ModuleInfo) -> String {
    let mut text = format!("exported functions of {}:\n", harmless(&file.display().to_string()));
    if info.exports.is_empty() {
        text += "  none\n";
    }
    for export in &info.exports {
        let signature = export.signature.as_ref().map(ToString::to_string);
        text += &format!("  {} {}\n", name(&export.name), signature.unwrap_or_default());
    }
    text
}

impl Shown<'_> {
    /// The call.
    pub(super) fn head(&self) -> String {
        let Target { file, guest, size, packed, sha256, init, export, signature, abi, .. } =
            self.target;
        let is_component = guest.info().component.is_some();
        let guessed = match self.target.guessed && !is_component {
            true => format!(" (guessed from its signature {signature})"),
            false => String::new(),
        };
        let init = init.as_ref().map_or_else(String::new, |(export, sha256)| {
            format!("\n  init        {}, SHA-256 afterwards {sha256}", harmless(export))
        });
        let constructors = self.target.constructed.as_ref().map_or_else(String::new, |called| {
            let names = harmless(&called.exports.join(", "));
            let means = match &called.means {
                Means::Initialized => "called once, before the module is handed to the backends",
                Means::Started { .. } => "called by a start function, in each new instance",
            };
            format!("\n  constructors  {names}: {means}")
        });
        let memory = match guest.info().memory {
            None if is_component => "its own".to_owned(),
            None => "none".to_owned(),
            Some(limits) => {
                let heap = &self.target.heap;
                let growth = match heap.growth {
                    Growth::Fixed => "fixed".to_owned(),
                    _ => format!("growing up to {}", limits.largest()),
                };
                let noun = plural("page", limits.minimum);
                format!("{} {noun}, {} of them extra, {growth}", limits.minimum, heap.extra)
            }
        };
        format!(
            "{} of {}\n  {} {size} bytes{}, SHA-256 {sha256}{init}{constructors}\n  convention  \
             {abi}{guessed}\n  memory      {memory}\n  input       {}\n\n",
            self.style.bold(&harmless(export)),
            harmless(&file.display().to_string()),
            if is_component { "component  " } else { "module     " },
            if *packed { ", compressed" } else { "" },
            abbreviate_to(&self.target.input, INPUT),
        )
    }

    /// The headings of the rows.
    pub(super) fn row_head(&self, widths: &Widths) -> String {
        let head = widths.line(["backend", "strategy", "support", "result"]);
        format!("{}\n", self.style.dim(&head))
    }

    /// The row of a combination.
    pub(super) fn row(&self, row: &Row, widths: &Widths) -> String {
        let result = row.answer.as_ref().map_or_else(String::new, |answer| self.result(answer));
        let support = row.support().replace("unsupported", "–");
        let strategy = row.strategy.to_string();
        let mut text =
            format!("{}\n", widths.line([row.engine.id(), &strategy, &support, &result]));
        if self.target.effects.is_shown {
            let memory = row.answer.as_ref().and_then(|answer| answer.memory.as_ref());
            let memory = memory.map(|memory| self.memory(memory));
            text += &memory.map_or_else(String::new, |memory| format!("    {memory}\n"));
        }
        text
    }

    /// The table of `--bench`, fastest first.
    pub(super) fn times(&self, rows: &[Row]) -> String {
        let timed = |row| Some((row, Row::times(row)?));
        let mut timed: Vec<_> = rows.iter().filter_map(timed).collect();
        timed.sort_by(|(_, a), (_, b)| a.call.median.total_cmp(&b.call.median));
        let head = ["a call, median [95 %]", "times slower than the baseline", "verdict"];
        let mut table = Table::new(&[&["backend", "strategy", "support"], &head[..]].concat());
        for (row, times) in timed {
            let ratio = || ratio_with_interval(&times.judged.ratio);
            let (against, verdict) = match times.is_baseline {
                true => ("baseline".to_owned(), String::new()),
                false => (ratio(), times.judged.verdict.to_string()),
            };
            let (engine, strategy) = (row.engine.id().to_owned(), row.strategy.to_string());
            let support = row.support().to_owned();
            let call = time_with_interval(&times.call);
            table.row([engine, strategy, support, call, against, verdict]);
        }
        let mut text = format!("\n{}", table.render(self.style));
        for row in rows {
            if let Some(Err(reason)) = &row.times {
                text += &format!("{}: failed: {}\n", row.name(), harmless(reason));
            }
        }
        text + "\none thread, each call on a clean instance, in turns with the baseline, without a \
                timeout; three processes for each combination\n"
    }

    /// The line of JSON of a row, at its end. Rows with the same `group` have the same result;
    /// `ratio` is times slower than the baseline.
    pub(super) fn json(&self, row: &Row) -> String {
        let times = row.times();
        let failed = row.times.as_ref().and_then(|times| times.as_ref().err());
        let (low, high) = times.and_then(|times| times.call.interval).unzip();
        let answer = row.answer.as_ref();
        let output = answer.and_then(|answer| answer.output.as_ref());
        let memory = answer.and_then(|answer| answer.memory.as_ref());
        let dump = memory.filter(|_| self.target.effects.dump.is_some());
        let line = json!({
            "file": self.target.file.display().to_string(),
            "guest_sha256": self.target.sha256,
            "init": self.target.init.as_ref().map(|(export, _)| export),
            "init_sha256": self.target.init.as_ref().map(|(_, sha256)| sha256),
            "constructors": self.target.constructed.as_ref().map(|called| &called.exports),
            "export": self.target.export,
            "abi": self.target.abi,
            "backend": row.engine.id(),
            "runtime_version": row.engine.version(),
            "strategy": row.strategy.to_string(),
            "support": row.support(),
            "status": row.state().unwrap_or(State::NotRun).to_string(),
            "output": output.map(|output| output.hex()),
            "output_bytes": output.map(|output| output.length),
            "output_sha256": output.map(|output| &output.sha256),
            "memory_bytes": memory.map(|memory| memory.length),
            "memory_sha256": memory.map(|memory| &memory.sha256),
            "memory_dump": dump.map(|memory| memory.hex()),
            "reason": answer.and_then(|answer| answer.reason.as_ref()).or(failed),
            "group": row.group,
            "median_ns": times.map(|times| times.call.median),
            "low_ns": low,
            "high_ns": high,
            "ratio": times.map(|times| times.judged.ratio.median),
            "verdict": times.map(|times| times.judged.verdict.to_string()),
        });
        format!("{line}\n")
    }

    /// A result in one line.
    fn result(&self, answer: &Answer) -> String {
        let reason = answer.reason.as_deref().unwrap_or_default();
        match (answer.state, &answer.output) {
            (_, Some(output)) => output.abbreviated(IN_A_ROW),
            (State::Stopped, _) => {
                format!("stopped: still running after {} s", self.timeout.as_secs_f64())
            }
            (State::Trapped, _) => format!("trap: {reason}"),
            (state, _) => format!("{}: {reason}", state.to_string().replace('_', " ")),
        }
    }

    /// A result in full, with its meaning.
    pub(super) fn full(&self, answer: &Answer) -> String {
        let Some(output) = &answer.output else { return self.result(answer) };
        let bytes = output.bytes().unwrap_or_default();
        let shown = output.abbreviated(ALONE);
        match self.meaning(&bytes) {
            Some(meaning) if self.target.abi == Abi::Plain => meaning,
            Some(meaning) => format!("{shown} = {meaning}"),
            None if output.length == 0 && answer.memory.is_some() => "no result".to_owned(),
            None => shown,
        }
    }

    /// The memory after a call.
    pub(super) fn memory(&self, memory: &super::answer::Content) -> String {
        let mut text = format!("memory of {} bytes, SHA-256 {}", memory.length, memory.sha256);
        if let Some((start, length)) = self.target.effects.dump {
            text += &match start.checked_add(length).is_some_and(|end| end <= memory.length) {
                true => format!("; at {start:#x}: {}", memory.hex()),
                false => format!("; {length} bytes at {start:#x} lie outside"),
            };
        }
        text
    }

    /// Numbers, where the export returns such, or a text.
    fn meaning(&self, output: &[u8]) -> Option<String> {
        if self.target.abi != Abi::Substrate && !self.target.signature.results.is_empty() {
            let mut rest = output;
            let values: Option<Vec<String>> = (self.target.signature.results.iter())
                .map(|ty| {
                    let (bytes, tail) = rest.split_at_checked(ty.size())?;
                    rest = tail;
                    Value::from_le_bytes(*ty, bytes).map(number)
                })
                .collect();
            return values.filter(|values| !values.is_empty()).map(|values| values.join(", "));
        }
        let text = std::str::from_utf8(output).ok()?;
        let readable = !text.is_empty() && output.len() <= ALONE && harmless(text) == text;
        readable.then(|| format!("{text:?}"))
    }
}

fn number(value: Value) -> String {
    match value {
        Value::I32(value) => format!("{value}: i32"),
        Value::I64(value) => format!("{value}: i64"),
        Value::F32(bits) => format!("{:?}: f32", f32::from_bits(bits)),
        Value::F64(bits) => format!("{:?}: f64", f64::from_bits(bits)),
        Value::V128(bits) => format!("{bits:#034x}: v128"),
        Value::FuncRef(reference) => format!("{reference:?}: funcref"),
        Value::ExternRef(reference) => format!("{reference:?}: externref"),
    }
}
