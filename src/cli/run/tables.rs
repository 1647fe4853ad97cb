//! The output for people.

use super::chosen::{Answer, Row, harmless};
use super::target::Target;
use super::verdict::Verdict;
use touchstone::terminal::{Style, Table};
use std::time::Duration;
use touchstone::report::units::{ratio_with_interval, time_with_interval};
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::Growth;
use touchstone_executor::{Support, Value};

/// Bytes of an output that a row shows.
const IN_A_ROW: usize = 12;
/// Bytes of the input that are shown.
const INPUT: usize = 32;
/// Bytes of an output that are shown where it stands alone.
const ALONE: usize = 256;

/// The call, every row, and whether they agree.
pub(super) fn outcome(
    target: &Target,
    rows: &[Row],
    verdict: &Verdict,
    timeout: Duration,
    style: Style,
) -> String {
    let mut table = Table::new(&["backend", "strategy", "support", "result"]);
    let not_run = |row: &&Row| matches!(row.answer, Answer::NotRun(_));
    for row in rows.iter().filter(|row| !not_run(row)) {
        table.row([
            row.chosen.engine.id().to_owned(),
            row.chosen.strategy.to_string(),
            support(row).replace("unsupported", "–"),
            result(&row.answer, timeout),
        ]);
    }
    format!(
        "{}\n{}\n{}",
        head(target, style),
        table.render(style),
        judgement(target, rows, verdict, timeout, style)
    )
}

fn head(target: &Target, style: Style) -> String {
    let name = harmless(&target.file.display().to_string());
    let is_component = target.guest.info().component.is_some();
    let convention = if target.guessed && !is_component {
        format!("{} (guessed from its signature {})", target.abi, target.signature)
    } else {
        target.abi.to_string()
    };
    let memory = match target.guest.info().memory {
        None if is_component => "its own".to_owned(),
        None => "none".to_owned(),
        Some(limits) => {
            let growth = match target.heap.growth {
                Growth::Fixed => "fixed".to_owned(),
                _ => format!("growing up to {}", limits.largest()),
            };
            format!("{} pages, {} of them extra, {growth}", limits.minimum, target.heap.extra)
        }
    };
    let packed = if target.packed { ", compressed" } else { "" };
    let kind = if is_component { "component   " } else { "module      " };
    format!(
        "{} of {name}\n  {kind}{} bytes{packed}, SHA-256 {}\n  convention  {convention}\n  \
         memory      {memory}\n  input       {}\n",
        style.bold(&harmless(&target.export)),
        target.size,
        target.sha256,
        bytes(&target.input, INPUT),
    )
}

pub(super) fn support(row: &Row) -> &'static str {
    match row.chosen.support {
        Support::Native => "native",
        Support::Emulated { .. } => "emulated",
        Support::Unsupported { .. } => "unsupported",
    }
}

/// A row's result in one line.
fn result(answer: &Answer, timeout: Duration) -> String {
    let reason = answer.reason().unwrap_or_default();
    match answer {
        Answer::Returned(output) => bytes(output, IN_A_ROW),
        Answer::Trapped(_) if answer.is_out_of_time() => {
            format!("stopped: still running after {}", seconds(timeout))
        }
        Answer::Trapped(_) => format!("trap: {reason}"),
        Answer::Unstable(_) => format!("unstable: {reason}"),
        Answer::Failed(_) => format!("failed: {reason}"),
        Answer::Unsupported(_) => format!("unsupported: {reason}"),
        Answer::NotRun(_) => format!("not run: {reason}"),
    }
}

/// A sentence that says whether the rows agree, and on what.
fn judgement(
    target: &Target,
    rows: &[Row],
    verdict: &Verdict,
    timeout: Duration,
    style: Style,
) -> String {
    let mut text = match verdict.groups.as_slice() {
        [] => String::new(),
        [group] => {
            let (answer, count) = (&rows[group[0]].answer, group.len());
            match answer {
                Answer::Returned(output) => {
                    let all = style.good(&of(count, "one output", "outputs agree"));
                    format!("{all}: {}\n", full(target, output))
                }
                _ => {
                    let all = style.bad(&of(count, "one result", "came out alike"));
                    format!("{all}: {}\n", result(answer, timeout))
                }
            }
        }
        groups => {
            let mut text =
                format!("{}\n", style.bad(&format!("{} different results:", groups.len())));
            for (index, group) in groups.iter().enumerate() {
                let shown = match &rows[group[0]].answer {
                    Answer::Returned(output) => full(target, output),
                    answer => result(answer, timeout),
                };
                text += &format!("  {}. {shown}\n", index + 1);
                text += &members(rows, group);
            }
            text
        }
    };
    let count = |wanted: &str| rows.iter().filter(|row| row.answer.status() == wanted).count();
    for (status, words) in [
        ("failed", "failed on the host's side"),
        ("unstable", "did not agree with themselves"),
        ("unsupported", "cannot be had"),
        ("not_run", "left out, because the same code was stopped already"),
    ] {
        if count(status) > 0 {
            text += &format!("{words}: {} of {} combinations\n", count(status), rows.len());
        }
    }
    if rows.iter().any(|row| row.answer.is_out_of_time()) {
        text += "--timeout SECONDS gives calls longer, --no-timeout as long as they like\n";
    }
    text
}

/// `one output`, `both outputs agree`, `all 3 outputs agree`.
fn of(count: usize, one: &str, all: &str) -> String {
    match count {
        1 => one.to_owned(),
        2 => format!("both {all}"),
        _ => format!("all {count} {all}"),
    }
}

/// The members of a group, a line for each backend.
fn members(rows: &[Row], group: &[usize]) -> String {
    group
        .chunk_by(|a, b| rows[*a].chosen.engine.id() == rows[*b].chosen.engine.id())
        .map(|of_engine| {
            let names: Vec<String> =
                of_engine.iter().map(|index| rows[*index].chosen.strategy.to_string()).collect();
            format!("     {}: {}\n", rows[of_engine[0]].chosen.engine.id(), names.join(", "))
        })
        .collect()
}

/// The first bytes in hexadecimal.
fn bytes(bytes: &[u8], most: usize) -> String {
    let shown: String = bytes.iter().take(most).map(|byte| format!("{byte:02x}")).collect();
    match bytes.len() {
        0 => "empty".to_owned(),
        count if count > most => format!("0x{shown}… ({count} bytes)"),
        _ => format!("0x{shown}"),
    }
}

/// An output in full, with its meaning.
fn full(target: &Target, output: &[u8]) -> String {
    let shown = bytes(output, ALONE);
    match meaning(target, output) {
        Some(meaning) => format!("{shown} = {meaning}"),
        None => shown,
    }
}

/// Numbers of the plain convention, or a text.
fn meaning(target: &Target, output: &[u8]) -> Option<String> {
    if target.abi == Abi::Plain {
        let mut rest = output;
        let values: Option<Vec<String>> = target
            .signature
            .results
            .iter()
            .map(|ty| {
                let (bytes, tail) = rest.split_at_checked(ty.size())?;
                rest = tail;
                Value::from_le_bytes(*ty, bytes).map(number)
            })
            .collect();
        return values.filter(|values| !values.is_empty()).map(|values| values.join(", "));
    }
    let text = std::str::from_utf8(output).ok()?;
    let readable = !text.is_empty() && output.len() <= ALONE && !text.contains(char::is_control);
    readable.then(|| format!("{text:?}"))
}

fn number(value: Value) -> String {
    match value {
        Value::I32(value) => format!("{value}: i32"),
        Value::I64(value) => format!("{value}: i64"),
        Value::F32(bits) => format!("{:?}: f32", f32::from_bits(bits)),
        Value::F64(bits) => format!("{:?}: f64", f64::from_bits(bits)),
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

/// The table of `--bench`, fastest first.
pub(super) fn times(rows: &[Row], style: Style) -> String {
    let head = [
        "backend",
        "strategy",
        "support",
        "a call, median [95 %]",
        "times slower than the baseline",
        "verdict",
    ];
    let mut table = Table::new(&head);
    let mut timed: Vec<_> =
        rows.iter().filter_map(|row| Some((row, row.times.as_ref()?.as_ref().ok()?))).collect();
    timed.sort_by(|(_, a), (_, b)| a.call.median.total_cmp(&b.call.median));
    for (row, times) in timed {
        table.row([
            row.chosen.engine.id().to_owned(),
            row.chosen.strategy.to_string(),
            support(row).replace("unsupported", "–"),
            time_with_interval(&times.call),
            if times.is_baseline {
                "baseline".to_owned()
            } else {
                ratio_with_interval(&times.judged.estimate())
            },
            if times.is_baseline { String::new() } else { times.judged.verdict.to_string() },
        ]);
    }
    let mut text = format!("\n{}", table.render(style));
    for row in rows {
        if let Some(Err(reason)) = &row.times {
            text += &format!("{}: failed: {}\n", row.chosen.name(), harmless(reason));
        }
    }
    text + "\none thread, each call on a clean instance, in turns with the baseline, without a \
            timeout; one process, so that differences of a few per cent may be its layout of memory\n"
}
