//! The output: tables for people, one JSON object per line for programs.

use super::row::{Answer, Row, State, Verdict, harmless};
use super::target::Target;
use serde_json::json;
use std::time::Duration;
use touchstone::case::hex;
use touchstone::case::init::Means;
use touchstone::lab::abbreviate_to;
use touchstone::report::units::{ratio_with_interval, time_with_interval};
use touchstone::terminal::{Style, Table};
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::Growth;
use touchstone_executor::{Support, Value};

/// Bytes of an output that a row shows.
const IN_A_ROW: usize = 12;
/// Bytes of the input that are shown.
const INPUT: usize = 32;
/// Bytes of an output that are shown where it stands alone.
const ALONE: usize = 256;

/// A run that is shown.
pub(super) struct Shown<'a> {
    pub(super) target: &'a Target,
    pub(super) rows: &'a [Row],
    pub(super) verdict: &'a Verdict,
    pub(super) timeout: Duration,
    pub(super) style: Style,
}

impl Shown<'_> {
    /// The call, every row, and whether they agree.
    pub(super) fn outcome(&self) -> String {
        let run = self.rows.iter().filter(|row| row.answer.state != State::NotRun);
        let rows = run.map(|row| (row, vec![self.result(&row.answer)]));
        format!("{}\n{}\n{}", self.head(), self.table(&["result"], rows), self.judgement())
    }

    /// The table of `--bench`, fastest first.
    pub(super) fn times(&self) -> String {
        let timed = |row| Some((row, Row::times(row)?));
        let mut timed: Vec<_> = self.rows.iter().filter_map(timed).collect();
        timed.sort_by(|(_, a), (_, b)| a.call.median.total_cmp(&b.call.median));
        let rows = timed.into_iter().map(|(row, times)| {
            let ratio = || ratio_with_interval(&times.judged.ratio);
            let (against, verdict) = match times.is_baseline {
                true => ("baseline".to_owned(), String::new()),
                false => (ratio(), times.judged.verdict.to_string()),
            };
            (row, vec![time_with_interval(&times.call), against, verdict])
        });
        let head = ["a call, median [95 %]", "times slower than the baseline", "verdict"];
        let mut text = format!("\n{}", self.table(&head, rows));
        for row in self.rows {
            if let Some(Err(reason)) = &row.times {
                text += &format!("{}: failed: {}\n", row.name(), harmless(reason));
            }
        }
        text + "\none thread, each call on a clean instance, in turns with the baseline, without a \
                timeout; one process, so that differences of a few per cent may be its layout of \
                memory\n"
    }

    /// A line of JSON for each row. Rows with the same `group` have the same result; `ratio` is
    /// times slower than the baseline.
    pub(super) fn json(&self) -> impl Iterator<Item = serde_json::Value> {
        self.rows.iter().enumerate().map(|(index, row)| {
            let times = row.times();
            let failed = row.times.as_ref().and_then(|times| times.as_ref().err());
            let (low, high) = times.and_then(|times| times.call.interval).unzip();
            let output = row.answer.output.as_ref().map(|output| format!("0x{}", hex(output)));
            json!({
                "file": self.target.file.display().to_string(),
                "guest_sha256": self.target.sha256,
                "init": self.target.init.as_ref().map(|(export, _)| export),
                "constructors": self.target.constructed.as_ref().map(|called| &called.exports),
                "init_sha256": self.target.init.as_ref().map(|(_, sha256)| sha256),
                "export": self.target.export,
                "abi": self.target.abi,
                "backend": row.engine.id(),
                "runtime_version": row.engine.version(),
                "strategy": row.strategy.to_string(),
                "support": support(row),
                "status": row.answer.state.to_string(),
                "output": output,
                "reason": row.answer.reason.as_ref().or(failed),
                "group": self.verdict.group_of(index),
                "median_ns": times.map(|times| times.call.median),
                "low_ns": low,
                "high_ns": high,
                "ratio": times.map(|times| times.judged.ratio.median),
                "verdict": times.map(|times| times.judged.verdict.to_string()),
            })
        })
    }

    fn table<'a>(
        &self,
        head: &[&str],
        rows: impl Iterator<Item = (&'a Row, Vec<String>)>,
    ) -> String {
        let mut table = Table::new(&[&["backend", "strategy", "support"], head].concat());
        for (row, cells) in rows {
            let (engine, strategy) = (row.engine.id().to_owned(), row.strategy.to_string());
            let support = support(row).replace("unsupported", "–");
            table.row([engine, strategy, support].into_iter().chain(cells));
        }
        table.render(self.style)
    }

    fn head(&self) -> String {
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
                format!("{} pages, {} of them extra, {growth}", limits.minimum, heap.extra)
            }
        };
        format!(
            "{} of {}\n  {} {size} bytes{}, SHA-256 {sha256}{init}{constructors}\n  convention  {abi}{guessed}\n  \
             memory      {memory}\n  input       {}\n",
            self.style.bold(&harmless(export)),
            harmless(&file.display().to_string()),
            if is_component { "component  " } else { "module     " },
            if *packed { ", compressed" } else { "" },
            abbreviate_to(&self.target.input, INPUT),
        )
    }

    /// A result in one line.
    fn result(&self, answer: &Answer) -> String {
        let reason = answer.reason.as_deref().unwrap_or_default();
        match (answer.state, &answer.output) {
            (_, Some(output)) => abbreviate_to(output, IN_A_ROW),
            (State::Stopped, _) => {
                format!("stopped: still running after {} s", self.timeout.as_secs_f64())
            }
            (State::Trapped, _) => format!("trap: {reason}"),
            (state, _) => format!("{}: {reason}", state.to_string().replace('_', " ")),
        }
    }

    /// The result of a group in full, with its meaning.
    fn full(&self, group: &[usize]) -> String {
        let answer = &self.rows[group[0]].answer;
        let Some(output) = &answer.output else { return self.result(answer) };
        let shown = abbreviate_to(output, ALONE);
        match self.meaning(output) {
            Some(meaning) => format!("{shown} = {meaning}"),
            None => shown,
        }
    }

    /// A sentence that says whether the rows agree, and on what.
    fn judgement(&self) -> String {
        let Self { rows, style, .. } = self;
        let mut text = String::new();
        match self.verdict.groups.as_slice() {
            [] => {}
            [group] => {
                let returned = self.verdict.returned_alike;
                let all = if returned { "outputs agree" } else { "came out alike" };
                let words = match group.len() {
                    1 if returned => "one output".to_owned(),
                    1 => "one result".to_owned(),
                    2 => format!("both {all}"),
                    count => format!("all {count} {all}"),
                };
                let words = if returned { style.good(&words) } else { style.bad(&words) };
                text += &format!("{words}: {}\n", self.full(group));
            }
            groups => {
                let heading = format!("{} different results:", groups.len());
                text += &format!("{}\n", style.bad(&heading));
                for (index, group) in groups.iter().enumerate() {
                    text += &format!("  {}. {}\n", index + 1, self.full(group));
                    // The members, a line for each backend.
                    let engine = |index: &usize| rows[*index].engine.id();
                    for members in group.chunk_by(|a, b| engine(a) == engine(b)) {
                        let names = members.iter().map(|index| rows[*index].strategy.to_string());
                        let names = names.collect::<Vec<_>>().join(", ");
                        text += &format!("     {}: {names}\n", engine(&members[0]));
                    }
                }
            }
        }
        for (state, words) in [
            (State::Failed, "failed on the host's side"),
            (State::Unstable, "did not agree with themselves"),
            (State::Unsupported, "unsupported"),
            (State::NotRun, "left out, because the same code was already stopped"),
        ] {
            let count = rows.iter().filter(|row| row.answer.state == state).count();
            if count > 0 {
                text += &format!("{words}: {count} of {} combinations\n", rows.len());
            }
        }
        if rows.iter().any(|row| row.answer.state == State::Stopped) {
            text += "--timeout SECONDS gives calls longer, --no-timeout as long as they like\n";
        }
        text
    }

    /// Numbers of the plain convention, or a text.
    fn meaning(&self, output: &[u8]) -> Option<String> {
        if self.target.abi == Abi::Plain {
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
        let readable =
            !text.is_empty() && output.len() <= ALONE && !text.contains(char::is_control);
        readable.then(|| format!("{text:?}"))
    }
}

fn support(row: &Row) -> &'static str {
    match row.support {
        Support::Native => "native",
        Support::Emulated { .. } => "emulated",
        Support::Unsupported { .. } => "unsupported",
    }
}

fn number(value: Value) -> String {
    match value {
        Value::I32(value) => format!("{value}: i32"),
        Value::I64(value) => format!("{value}: i64"),
        Value::F32(bits) => format!("{:?}: f32", f32::from_bits(bits)),
        Value::F64(bits) => format!("{:?}: f64", f64::from_bits(bits)),
    }
}
