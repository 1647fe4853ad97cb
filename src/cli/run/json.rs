//! The output for programs: one JSON object per line.

use super::chosen::{Answer, Row};
use super::tables::support;
use super::target::Target;
use super::verdict::Verdict;
use anyhow::{Context, Result};
use std::fmt::Write;
use touchstone_executor::abi::Abi;

/// A line of `--json`.
#[derive(serde::Serialize)]
struct Line<'a> {
    file: String,
    guest_sha256: &'a str,
    export: &'a str,
    abi: Abi,
    backend: &'a str,
    runtime_version: &'a str,
    strategy: String,
    support: &'static str,
    status: &'static str,
    output: Option<String>,
    reason: Option<String>,
    /// Rows with the same number have the same result.
    group: Option<usize>,
    median_ns: Option<f64>,
    low_ns: Option<f64>,
    high_ns: Option<f64>,
    /// Times slower than the baseline.
    ratio: Option<f64>,
    verdict: Option<String>,
}

/// A line for each row.
pub(super) fn lines(target: &Target, rows: &[Row], verdict: &Verdict) -> Result<String> {
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let times = row.times.as_ref().and_then(|times| times.as_ref().ok());
        let failed = row.times.as_ref().and_then(|times| times.as_ref().err());
        let interval = times.and_then(|times| times.call.interval);
        let output = match &row.answer {
            Answer::Returned(output) => Some(hexadecimal(output)),
            _ => None,
        };
        let line = Line {
            file: target.file.display().to_string(),
            guest_sha256: &target.sha256,
            export: &target.export,
            abi: target.abi,
            backend: row.chosen.engine.id(),
            runtime_version: row.chosen.engine.version(),
            strategy: row.chosen.strategy.to_string(),
            support: support(row),
            status: row.answer.status(),
            output,
            reason: row.answer.reason().or_else(|| failed.cloned()),
            group: verdict.group_of(index),
            median_ns: times.map(|times| times.call.median),
            low_ns: interval.map(|(low, _)| low),
            high_ns: interval.map(|(_, high)| high),
            ratio: times.map(|times| times.judged.ratio),
            verdict: times.map(|times| times.judged.verdict.to_string()),
        };
        text += &serde_json::to_string(&line).context("a result that JSON cannot hold")?;
        text.push('\n');
    }
    Ok(text)
}

/// All bytes in hexadecimal.
fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = "0x".to_owned();
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
