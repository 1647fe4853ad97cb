//! Command line of the bench binary: criterion's, and a little of our own.
//!
//! Criterion reads the process's arguments itself and refuses what it does not
//! know. So our own flags are taken out first, by starting the same program
//! again without them and with what they say in the environment.

use clap::{Arg, ArgAction, Command};
use std::os::unix::process::CommandExt;
use std::time::Duration;
use touchstone::matrix::Filter;
use touchstone::plan::Plan;

const RESUME: &str = "TOUCHSTONE_RESUME";
const DISTURBED: &str = "TOUCHSTONE_DISTURBED";
const SAMPLING: &str = "TOUCHSTONE_SAMPLING";
const BUDGET: &str = "TOUCHSTONE_BUDGET";
const WORKERS: &str = "TOUCHSTONE_WORKERS";
const CELL_LIMIT: &str = "TOUCHSTONE_CELL_LIMIT";

/// How long a cell may take where each backend has a process of its own.
const DEFAULT_LIMIT: Duration = Duration::from_secs(600);

/// What criterion's help does not say.
const HELP: &str = "\
Touchstone's own options:
      --resume                 go on where the last run was broken off
      --disturbed              only cells whose records say that something else used the core
      --sampling quick|full    how long to sample [default: full]
Environment:
  TOUCHSTONE_WORKERS=1         each backend in a process of its own: one that crashes or
                               hangs fails its cell, and the run goes on
  TOUCHSTONE_CELL_LIMIT=N      with it, seconds that a cell may take [default: 600]
  TOUCHSTONE_BUDGET=N          seconds for all samples together
  TOUCHSTONE_RECORDS=FILE      where records go [default: records/records.jsonl]
";

/// What the process is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Time and record.
    Measure,
    /// Let criterion do something else with the same functions: try them once,
    /// profile them, compare stored results. Nothing is recorded.
    Other,
    /// Print the names.
    List,
}

/// What was asked for.
pub(crate) struct Arguments {
    pub(crate) mode: Mode,
    pub(crate) filter: Filter,
    pub(crate) filter_text: Option<String>,
    /// Go on where the last run was broken off.
    pub(crate) resume: bool,
    /// Only cells whose newest records say that they were disturbed.
    pub(crate) disturbed: bool,
    /// Each backend in a process of its own.
    pub(crate) workers: bool,
    /// How long a cell may take there.
    pub(crate) cell_limit: Duration,
    quick: bool,
    budget: Option<Duration>,
    warm_up: Option<f64>,
    measurement: Option<f64>,
    samples: Option<usize>,
}

impl Arguments {
    /// Reads the arguments; does not come back if our own flags are among them.
    pub(crate) fn read() -> anyhow::Result<Self> {
        take_own_flags()?;
        // Criterion's options, as far as they take a value or matter here; it
        // checks them itself afterwards.
        let with_value = [
            "color",
            "save-baseline",
            "baseline",
            "baseline-lenient",
            "load-baseline",
            "format",
            "profile-time",
            "sample-size",
            "warm-up-time",
            "measurement-time",
            "nresamples",
            "noise-threshold",
            "confidence-level",
            "significance-level",
            "plotting-backend",
            "output-format",
        ];
        let flags = [
            "verbose",
            "quiet",
            "noplot",
            "discard-baseline",
            "list",
            "ignored",
            "exact",
            "quick",
            "test",
            "bench",
            "nocapture",
            "show-output",
            "include-ignored",
            "version",
            "help",
        ];
        let mut command = Command::new("matrix")
            .disable_help_flag(true)
            .ignore_errors(true)
            .arg(Arg::new("FILTER").index(1));
        for name in with_value {
            let arg = Arg::new(name).long(name).num_args(1);
            command = command.arg(match name {
                "color" => arg.short('c'),
                "save-baseline" => arg.short('s'),
                "baseline" => arg.short('b'),
                _ => arg,
            });
        }
        for name in flags {
            let arg = Arg::new(name).long(name).action(ArgAction::SetTrue);
            command = command.arg(match name {
                "verbose" => arg.short('v'),
                "quiet" => arg.short('q'),
                "noplot" => arg.short('n'),
                "help" => arg.short('h'),
                "version" => arg.short('V'),
                _ => arg,
            });
        }
        let matches = command.get_matches();
        if matches.get_flag("help") {
            // Criterion prints its own after it.
            println!("{HELP}");
        }
        let text = |name: &str| matches.get_one::<String>(name);
        let number = |name: &str| text(name).and_then(|value| value.parse().ok());
        let other = ["test", "quick", "ignored", "help", "version"]
            .iter()
            .any(|flag| matches.get_flag(flag))
            || text("profile-time").is_some()
            || text("load-baseline").is_some()
            // `cargo test --benches` gives no `--bench`: criterion then tries
            // each function once.
            || !matches.get_flag("bench");
        let filter_text = text("FILTER").cloned();
        Ok(Self {
            mode: match (matches.get_flag("list"), other) {
                (true, _) => Mode::List,
                (false, true) => Mode::Other,
                (false, false) => Mode::Measure,
            },
            filter: match &filter_text {
                Some(text) if matches.get_flag("exact") => Filter::Exact(text.clone()),
                text => Filter::new(text.as_deref()),
            },
            filter_text,
            resume: std::env::var_os(RESUME).is_some(),
            disturbed: std::env::var_os(DISTURBED).is_some(),
            quick: std::env::var(SAMPLING).is_ok_and(|value| value == "quick"),
            budget: seconds(BUDGET)?,
            workers: match std::env::var(WORKERS).as_deref() {
                Err(_) | Ok("" | "0") => false,
                Ok("1") => true,
                Ok(_) => anyhow::bail!("{WORKERS} is to be 0 or 1"),
            },
            cell_limit: seconds(CELL_LIMIT)?.unwrap_or(DEFAULT_LIMIT),
            warm_up: number("warm-up-time"),
            measurement: number("measurement-time"),
            samples: text("sample-size").and_then(|value| value.parse().ok()),
        })
    }

    /// How long to sample each of so many cells.
    pub(crate) fn plan(&self, cells: usize) -> Plan {
        let mut plan = if self.quick {
            Plan::quick(self.budget.unwrap_or(Duration::from_secs(60)), cells)
        } else {
            Plan::full(self.budget.unwrap_or(Duration::from_secs(600)), cells)
        };
        if let Some(seconds) = self.warm_up {
            plan.warm_up = Duration::from_secs_f64(seconds.max(0.0));
        }
        if let Some(seconds) = self.measurement {
            plan.measurement = Duration::from_secs_f64(seconds.max(0.0));
        }
        if let Some(samples) = self.samples {
            plan.samples = samples;
        }
        if self.warm_up.is_some() || self.measurement.is_some() || self.samples.is_some() {
            "custom".clone_into(&mut plan.name);
        }
        plan
    }
}

/// A time from the environment.
fn seconds(name: &str) -> anyhow::Result<Option<Duration>> {
    match std::env::var(name).map(|value| value.parse()) {
        Err(_) => Ok(None),
        Ok(Ok(seconds)) if seconds > 0 => Ok(Some(Duration::from_secs(seconds))),
        Ok(_) => anyhow::bail!("{name} is to be a number of seconds above 0"),
    }
}

/// `--resume`, `--disturbed` and `--sampling quick|full`.
fn take_own_flags() -> anyhow::Result<()> {
    let mut rest = Vec::new();
    let mut settings = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--resume" => settings.push((RESUME, "1".to_owned())),
            "--disturbed" => settings.push((DISTURBED, "1".to_owned())),
            "--sampling" => match arguments.next().as_deref() {
                Some(name @ ("quick" | "full")) => settings.push((SAMPLING, name.to_owned())),
                _ => anyhow::bail!("--sampling takes quick or full"),
            },
            _ => rest.push(argument),
        }
    }
    if settings.is_empty() {
        return Ok(());
    }
    let program = std::env::current_exe()?;
    // `exec` comes back only when it failed.
    Err(std::process::Command::new(program).args(rest).envs(settings).exec().into())
}
