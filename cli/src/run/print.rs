//! The output: the call, a row per combination, and the times.

use super::answer::{Answer, State};
use super::content::Content;
use super::difference::Difference;
use super::row::Row;
use super::target::Target;
use serde_json::json;
use std::path::Path;
use std::time::Duration;
use touchstone::case::init::Means;
use touchstone::inspect::Identity;
use touchstone::lab::abbreviate_to;
use touchstone::plain;
use touchstone::terminal::{Style, Table};
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::{Growth, ModuleInfo};
use touchstone_executor::text::{harmless, name, plural};
use touchstone_report::units::{ratio_with_interval, time_with_interval};

/// Shown bytes of an output in a row.
const IN_A_ROW: usize = 12;
/// Shown bytes of the input.
const INPUT: usize = 32;
/// Shown bytes of a single output.
const ALONE: usize = 256;

/// The shown parts of a run.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) target: &'a Target,
    pub(super) timeout: Duration,
    pub(super) style: Style,
    /// `true` to show streams in hexadecimal.
    pub(super) hex: bool,
}

/// Column widths of a table that is printed row by row.
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

/// The exported functions, if none was named.
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
    pub(super) fn head(&self) -> String {
        let Target { file, guest, identity, linked, init, export, signature, abi, .. } =
            self.target;
        let Identity { bytes: size, is_packed, sha256 } = identity;
        let is_component = guest.info().component.is_some();
        let guessed = match self.target.guessed && !is_component {
            true => format!(" (guessed from its signature {signature})"),
            false => String::new(),
        };
        let init = init.as_ref().map_or_else(String::new, |(export, sha256)| {
            format!("\n  init        {}, SHA-256 afterwards {sha256}", harmless(export))
        });
        let linked = linked.as_ref().map_or_else(String::new, |(names, sha256)| {
            format!("\n  linked      {}, SHA-256 afterwards {sha256}", harmless(names))
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
            "{} of {}\n  {} {size} bytes{}, SHA-256 {sha256}{linked}{init}{constructors}\n  convention  \
             {abi}{guessed}\n  memory      {memory}\n  input       {}\n\n",
            self.style.bold(&harmless(export)),
            harmless(&file.display().to_string()),
            if is_component { "component  " } else { "module     " },
            if *is_packed { ", compressed" } else { "" },
            abbreviate_to(&self.target.input, INPUT),
        )
    }

    pub(super) fn row_head(&self, widths: &Widths) -> String {
        let head = widths.line(["backend", "strategy", "support", "result"]);
        format!("{}\n", self.style.dim(&head))
    }

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

    /// The JSON line of a row. Rows with the same `group` have the same result; `ratio` is times
    /// slower than the baseline.
    pub(super) fn json(&self, row: &Row, difference: Option<Difference>) -> String {
        let times = row.times();
        let failed = row.times.as_ref().and_then(|times| times.as_ref().err());
        let (low, high) = times.and_then(|times| times.call.interval).unzip();
        let answer = row.answer.as_ref();
        let output = answer.and_then(|answer| answer.output.as_ref());
        let memory = answer.and_then(|answer| answer.memory.as_ref());
        let written =
            |of: fn(&Answer) -> &Option<Content>| answer.and_then(|answer| of(answer).as_ref());
        let dump = memory.filter(|_| self.target.effects.dump.is_some());
        let line = json!({
            "file": self.target.file.display().to_string(),
            "guest_sha256": self.target.identity.sha256,
            "linked": self.target.linked.as_ref().map(|(names, _)| names),
            "linked_sha256": self.target.linked.as_ref().map(|(_, sha256)| sha256),
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
            "exit_code": answer.and_then(|answer| answer.exit_code),
            "stdout": written(|answer| &answer.stdout).map(Content::hex),
            "stdout_sha256": written(|answer| &answer.stdout).map(|content| &content.sha256),
            "stderr": written(|answer| &answer.stderr).map(Content::hex),
            "stderr_sha256": written(|answer| &answer.stderr).map(|content| &content.sha256),
            "memory_bytes": memory.map(|memory| memory.length),
            "memory_sha256": memory.map(|memory| &memory.sha256),
            "memory_dump": dump.map(|memory| memory.hex()),
            "reason": answer.and_then(|answer| answer.reason.as_ref()).or(failed),
            "group": row.group,
            "difference": difference.map(Difference::class),
            "median_ns": times.map(|times| times.call.median),
            "low_ns": low,
            "high_ns": high,
            "ratio": times.map(|times| times.judged.ratio.median),
            "verdict": times.map(|times| times.judged.verdict.to_string()),
        });
        format!("{line}\n")
    }

    /// A result in one line, with the written streams.
    fn result(&self, answer: &Answer) -> String {
        let mut line = match (answer.state, &answer.output) {
            (State::Returned, Some(output)) if self.is_text() => self.line(output, IN_A_ROW),
            (State::Returned, Some(output)) => output.abbreviated(IN_A_ROW),
            _ => self.end(answer),
        };
        for (name, content) in answer.written() {
            line += &format!(", {name} {}", self.line(content, IN_A_ROW));
        }
        line
    }

    /// The end of a call that did not return.
    fn end(&self, answer: &Answer) -> String {
        let reason = answer.reason.as_deref().unwrap_or_default();
        match answer.state {
            State::Stopped => {
                format!("stopped: still running after {} s", self.timeout.as_secs_f64())
            }
            State::Trapped if answer.exit_code.is_some() => reason.to_owned(),
            State::Trapped => format!("trap: {reason}"),
            state => format!("{}: {reason}", state.to_string().replace('_', " ")),
        }
    }

    /// A result with its meaning and the written streams. Further lines begin with `indent`.
    pub(super) fn full(&self, answer: &Answer, indent: &str) -> String {
        let mut text = match &answer.output {
            Some(output) if answer.state == State::Returned => {
                self.output(output, answer.memory.is_some(), indent)
            }
            _ => self.end(answer),
        };
        for (name, content) in answer.written() {
            text += &format!("\n{indent}{name}: {}", self.written(content, indent));
        }
        text
    }

    fn output(&self, output: &Content, has_memory: bool, indent: &str) -> String {
        if self.is_text() {
            return self.written(output, indent);
        }
        let shown = output.abbreviated(ALONE);
        match self.meaning(&output.bytes().unwrap_or_default()) {
            Some(meaning) if self.target.abi == Abi::Plain => meaning,
            Some(meaning) => format!("{shown} = {meaning}"),
            None if output.length == 0 && has_memory => "no result".to_owned(),
            None => shown,
        }
    }

    /// `true` if the output is a program's, or JSON.
    fn is_text(&self) -> bool {
        matches!(self.target.abi, Abi::Wasi | Abi::Typed)
    }

    fn line(&self, content: &Content, most: usize) -> String {
        if self.hex { content.abbreviated(most) } else { content.line(most) }
    }

    fn written(&self, content: &Content, indent: &str) -> String {
        let indent = format!("{indent}  ");
        if self.hex { content.abbreviated(ALONE) } else { content.block(ALONE, &indent) }
    }

    pub(super) fn memory(&self, memory: &Content) -> String {
        let mut text = format!("memory of {} bytes, SHA-256 {}", memory.length, memory.sha256);
        if let Some((start, length)) = self.target.effects.dump {
            text += &match start.checked_add(length).is_some_and(|end| end <= memory.length) {
                true => format!("; at {start:#x}: {}", memory.hex()),
                false => format!("; {length} bytes at {start:#x} lie outside"),
            };
        }
        text
    }

    /// Values, if the export returns any, or a text.
    fn meaning(&self, output: &[u8]) -> Option<String> {
        let results = &self.target.signature.results;
        if self.target.abi != Abi::Substrate && !results.is_empty() {
            return plain::words(results, output).map(|words| words.join(", "));
        }
        let text = std::str::from_utf8(output).ok()?;
        let readable = !text.is_empty() && output.len() <= ALONE && harmless(text) == text;
        readable.then(|| format!("{text:?}"))
    }
}
