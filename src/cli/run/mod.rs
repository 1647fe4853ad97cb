//! `touchstone run`: any module on every backend and strategy, side by side.

mod print;
mod row;
mod target;
mod timing;

use super::Ended;
use super::common::print_lines;
use anyhow::{Result, bail};
use print::Shown;
use row::{Answer, Loader, Row, Verdict};
use std::path::PathBuf;
use std::time::Duration;
use target::Target;
use touchstone::run::seconds;
use touchstone::terminal::progress::Progress;
use touchstone::terminal::{Style, print};
use touchstone_executor::Strategy;
use touchstone_executor::abi::Abi;

/// Calls an export of a module on every backend and strategy, side by side.
///
/// The module is a core WebAssembly module or a component, raw or as a zstd-compressed
/// Substrate blob. Each combination calls the export twice, each time on a clean instance, and
/// both calls must have the same result. Exits with 0 when all combinations return the same
/// output, with 1 when outputs differ, the guest traps or a backend fails, and with 2 when the
/// input is invalid.
#[derive(Debug, clap::Args)]
pub(super) struct Run {
    /// Load this module
    file: PathBuf,
    /// Call this exported function
    #[arg(long, value_name = "EXPORT")]
    call: String,
    /// Pre-initialise the module: call this exported function once and use the resulting module
    /// on every backend (needs the feature wizer)
    #[arg(long, value_name = "EXPORT")]
    init: Option<String>,
    /// Use this calling convention: substrate, input, bytes, plain, wasi or typed [default: guessed
    /// from the export's signature]
    #[arg(long)]
    abi: Option<Abi>,
    /// Pass this input: @FILE, 0xHEX or text:TEXT; in the plain convention, the parameters as
    /// consecutive little-endian bytes
    #[arg(long, value_name = "@FILE|0xHEX|text:TEXT")]
    input: Option<String>,
    /// Pass this argument to a WASI program; repeat for more
    #[arg(long = "arg", value_name = "TEXT", allow_hyphen_values = true)]
    arguments: Vec<String>,
    /// Set this environment variable of a WASI program; repeat for more
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    environment: Vec<(String, String)>,
    /// Let a WASI program read this directory, as `/`
    #[arg(long, value_name = "PATH")]
    dir: Option<PathBuf>,
    /// Run only these strategies, named as in `touchstone list` [default: all that the backend
    /// supports]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    strategy: Vec<Strategy>,
    /// Run only backends whose name this regular expression matches
    #[arg(long, value_name = "REGEX")]
    backend: Option<String>,
    /// Add N pages of 64 KiB to the minimum of the memory [default: 2048 in the substrate
    /// convention, otherwise 0]
    #[arg(long, value_name = "N")]
    extra_pages: Option<u32>,
    /// Let the memory grow to N pages [default: no growth in the substrate convention,
    /// otherwise 16384, which is 1 GiB]
    #[arg(long, value_name = "N")]
    max_pages: Option<u32>,
    /// Stop the guest after this many seconds in one call
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    timeout: Duration,
    /// Do not limit the time of a call
    #[arg(long, conflicts_with = "timeout")]
    no_timeout: bool,
    /// Print the log of the guest to the standard error
    #[arg(long)]
    log: bool,
    /// Print one JSON object per line and combination
    #[arg(long)]
    json: bool,
    /// When the outputs agree, time the call on each combination, in turns with the baseline
    /// and without a timeout
    #[arg(long)]
    bench: bool,
    /// With --bench: time each combination for about this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    bench_time: Duration,
    /// With --bench: use this combination as the baseline, written as `ENGINE STRATEGY`
    /// [default: the first combination that returns]
    #[arg(long, value_name = "NAME", requires = "bench")]
    baseline: Option<String>,
}

/// The name and the value of an environment variable.
fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

impl Run {
    pub(super) fn execute(self) -> Result<Ended> {
        let (target, timeout, style) = (&Target::find(&self)?, self.timeout, Style::of_stdout());
        let mut rows = self.call_all(target)?;
        let answers: Vec<&Answer> = rows.iter().map(|row| &row.answer).collect();
        let verdict = &Verdict::of(&answers);
        let returned_alike = verdict.returned_alike;
        let say = |rows: &[Row], text: fn(&Shown<'_>) -> String| match self.json {
            true => Ok(()),
            false => print(&text(&Shown { target, rows, verdict, timeout, style })),
        };
        say(&rows, |shown| shown.outcome())?;
        if self.bench && returned_alike {
            let timed = timing::time(target, &rows, self.bench_time, self.baseline.as_deref())?;
            for (row, times) in rows.iter_mut().zip(timed) {
                row.times = times;
            }
            say(&rows, |shown| shown.times())?;
        } else if self.bench {
            say(&rows, |_| "nothing is timed: outputs must agree before they are timed\n".into())?;
        }
        if self.json {
            print_lines(Shown { target, rows: &rows, verdict, timeout, style }.json())?;
        }
        if verdict.groups.is_empty() && !verdict.failed {
            bail!("none of the chosen combinations can run this module");
        }
        let timing_failed = rows.iter().any(|row| matches!(row.times, Some(Err(_))));
        Ok(Ended::well_if(returned_alike && !verdict.failed && !timing_failed))
    }

    /// Calls the export on every combination, one after the other.
    fn call_all(&self, target: &Target) -> Result<Vec<Row>> {
        let chosen = row::choose(&target.guest, self.backend.as_deref(), &self.strategy)?;
        let deadline = (!self.no_timeout).then_some(self.timeout);
        let progress = Progress::new(chosen.len(), !self.log);
        let mut loader = Loader::new(target, deadline, self.log);
        let mut rows: Vec<Row> = Vec::new();
        for row in chosen {
            progress.next(row.name());
            let answer = loader.run(&row, &rows);
            rows.push(Row { answer, ..row });
        }
        Ok(rows)
    }
}
