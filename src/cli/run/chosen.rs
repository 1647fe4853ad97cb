//! Combinations of backend and strategy, and their answers.

use super::target::Target;
use super::timing::Times;
use touchstone::terminal::complain;
use anyhow::{Result, bail};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use touchstone::lab::{Guests, Lab};
use touchstone::plan::{Filter, near};
use touchstone_executor::guest::GuestModule;
use touchstone_executor::host::LogSink;
use touchstone_executor::{
    Config, Engine, Error, Execution, Module, Outcome, Strategy, Support, Trap, TrapKind,
};

/// Number of instances that may live at once. Only one is used, and a pool reserves address
/// space for each.
const INSTANCES: u32 = 4;

/// One combination.
#[derive(Clone)]
pub(super) struct Chosen {
    pub(super) engine: Arc<dyn Engine>,
    pub(super) strategy: Strategy,
    pub(super) support: Support,
}

impl Chosen {
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.engine.id(), self.strategy)
    }
}

/// The answer of a combination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// The export returned this, twice.
    Returned(Vec<u8>),
    /// The guest trapped, twice in the same way.
    Trapped(Trap),
    /// Two calls on clean instances had different results.
    Unstable(String),
    /// The host side failed.
    Failed(String),
    /// It is unsupported, or unsupported for this module.
    Unsupported(String),
    /// It was left out because its answer would be the same.
    NotRun(String),
}

/// A combination and its answer.
pub(super) struct Row {
    pub(super) chosen: Chosen,
    pub(super) answer: Answer,
    pub(super) times: Option<Result<Times, String>>,
}

/// The requested combinations. Without names, these are all that the backends support, even if
/// refused for this module. The baseline is included only for guests that it contains.
pub(super) fn choose(
    guest: &GuestModule,
    backend: Option<&str>,
    strategies: &[Strategy],
) -> Result<Vec<Chosen>> {
    let engines = touchstone_runtimes::engines();
    let names: Vec<String> = engines.iter().map(|engine| engine.id().to_owned()).collect();
    let filter = Filter::new(backend)?;
    let all = Strategy::all();
    let wanted = if strategies.is_empty() { &all[..] } else { strategies };
    let mut chosen = Vec::new();
    for engine in engines.iter().filter(|engine| filter.matches(engine.id())) {
        let has_code = || all.iter().any(|way| engine.support_for(*way, guest).is_supported());
        if backend.is_none() && engine.execution() == Execution::Native && !has_code() {
            continue;
        }
        for strategy in wanted {
            if strategies.is_empty() && !engine.support(*strategy).is_supported() {
                continue;
            }
            let support = engine.support_for(*strategy, guest);
            chosen.push(Chosen { engine: Arc::clone(engine), strategy: *strategy, support });
        }
    }
    match backend {
        Some(text) if chosen.is_empty() => bail!(
            "no backend of this build matches '{text}'{}; there are {}",
            near(text, &names),
            names.join(", ")
        ),
        _ => Ok(chosen),
    }
}

/// Loads modules and keeps the artifacts that strategies share.
pub(super) struct Loader<'a> {
    target: &'a Target,
    config: Config,
    log: bool,
    /// Compiles once for all strategies that share an artifact.
    lab: Lab,
}

impl<'a> Loader<'a> {
    pub(super) fn new(target: &'a Target, deadline: Option<Duration>, log: bool) -> Self {
        let config = Config { deadline, instances: INSTANCES, ..Config::default() };
        let lab = Lab::new(Guests::built(), config.clone()).without_times();
        Self { target, config, log, lab }
    }

    /// The loaded module.
    pub(super) fn load(
        &mut self,
        chosen: &Chosen,
        config: &Config,
    ) -> Result<Box<dyn Module>, Answer> {
        let Chosen { engine, strategy, .. } = chosen;
        let guest = &self.target.guest;
        let artifact = self.lab.artifact(&**engine, *strategy, guest, self.target.heap);
        let (artifact, _) = artifact.map_err(refusal)?;
        let mut module = engine.load(guest, &artifact, *strategy, config).map_err(refusal)?;
        let started = Instant::now();
        // It may have to instantiate, and so to run a start function.
        module.probe().map_err(|error| refusal_after(error, started, config))?;
        Ok(module)
    }

    /// The settings of all modules.
    pub(super) fn config(&self) -> Config {
        self.config.clone()
    }

    /// Calls the export twice. `before` are the rows so far.
    pub(super) fn run(&mut self, chosen: &Chosen, before: &[Row]) -> Row {
        let answer = match &chosen.support {
            Support::Unsupported { reason } => Answer::Unsupported(reason.clone()),
            _ => match out_of_time(chosen, before) {
                Some(other) => {
                    Answer::NotRun(format!("{} was stopped already", other.chosen.name()))
                }
                None => self.call_twice(chosen).unwrap_or_else(|answer| answer),
            },
        };
        Row { chosen: chosen.clone(), answer, times: None }
    }

    fn call_twice(&mut self, chosen: &Chosen) -> Result<Answer, Answer> {
        let mut config = self.config();
        // The second call logs the same again.
        let muted = Arc::new(AtomicBool::new(false));
        if self.log {
            config.max_log_level = 5;
            config.log = Some(log_to_stderr(chosen.name(), Arc::clone(&muted)));
        }
        let module = self.load(chosen, &config)?;
        let target = self.target;
        let export = module.export(&target.export, target.abi).map_err(refusal)?;
        let mut instance = module.new_instance().map_err(refusal)?;
        let mut call = || {
            let started = Instant::now();
            let mut output = Vec::new();
            match instance.call(export, &target.input, &mut output) {
                Ok(Outcome::Returned) => Ok(Answer::Returned(output)),
                Ok(Outcome::Trapped(trap)) => Ok(Answer::Trapped(trap)),
                Err(error) => match refusal_after(error, started, &config) {
                    stopped @ Answer::Trapped(_) => Ok(stopped),
                    other => Err(other),
                },
            }
        };
        let first = call()?;
        if first.is_out_of_time() {
            return Ok(first);
        }
        muted.store(true, Ordering::Relaxed);
        let second = call()?;
        if first.is_like(&second) {
            return Ok(first);
        }
        Ok(Answer::Unstable(format!(
            "two calls on clean instances differ: first {}, then {}",
            first.in_words(),
            second.in_words()
        )))
    }
}

/// A row of the same backend whose guest ran out of time. Other strategies run the same code
/// and would take the same time.
fn out_of_time<'a>(chosen: &Chosen, before: &'a [Row]) -> Option<&'a Row> {
    before
        .iter()
        .find(|row| row.chosen.engine.id() == chosen.engine.id() && row.answer.is_out_of_time())
}

/// The same for calls that can run a start function. When one is stopped, runtimes report a
/// failure to instantiate.
fn refusal_after(error: Error, started: Instant, config: &Config) -> Answer {
    match refusal(error) {
        Answer::Failed(reason)
            if config.deadline.is_some_and(|deadline| started.elapsed() >= deadline) =>
        {
            Answer::Trapped(Trap::with_detail(TrapKind::DeadlineExceeded, reason))
        }
        other => other,
    }
}

fn refusal(error: Error) -> Answer {
    match error {
        Error::Unsupported { reason, .. } | Error::ExportUnsupported { reason, .. } => {
            Answer::Unsupported(reason)
        }
        error => Answer::Failed(error.to_string()),
    }
}

/// Log lines of one combination. They are not trusted: they may contain control characters.
fn log_to_stderr(name: String, muted: Arc<AtomicBool>) -> Arc<LogSink> {
    const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];
    Arc::new(move |level, target, message| {
        if !muted.load(Ordering::Relaxed) {
            let level = LEVELS.get(level as usize).copied().unwrap_or("?");
            complain(&format!("[{name}] {level} {}: {}", harmless(target), harmless(message)));
        }
    })
}

/// A guest's text without control characters.
pub(super) fn harmless(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            let (plain, escaped) =
                if c.is_control() { (None, Some(c.escape_default())) } else { (Some(c), None) };
            plain.into_iter().chain(escaped.into_iter().flatten())
        })
        .collect()
}

/// What a runtime says may come with a stack of calls, a line for each.
fn one_line(text: &str) -> String {
    harmless(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

impl Answer {
    pub(super) fn is_out_of_time(&self) -> bool {
        matches!(self, Self::Trapped(Trap { kind: TrapKind::DeadlineExceeded, .. }))
    }

    /// Whether two answers are the same result of the guest. The wording of traps is ignored.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Returned(a), Self::Returned(b)) => a == b,
            (Self::Trapped(a), Self::Trapped(b)) => a.kind == b.kind,
            _ => false,
        }
    }

    /// The state in one word, for `--json`.
    pub(super) fn status(&self) -> &'static str {
        match self {
            Self::Returned(_) => "returned",
            Self::Trapped(_) if self.is_out_of_time() => "stopped",
            Self::Trapped(_) => "trapped",
            Self::Unstable(_) => "unstable",
            Self::Failed(_) => "failed",
            Self::Unsupported(_) => "unsupported",
            Self::NotRun(_) => "not_run",
        }
    }

    /// Why there is no output; `None` when there is one.
    pub(super) fn reason(&self) -> Option<String> {
        match self {
            Self::Returned(_) => None,
            Self::Trapped(trap) => Some(one_line(&trap.to_string())),
            Self::Unstable(reason)
            | Self::Failed(reason)
            | Self::Unsupported(reason)
            | Self::NotRun(reason) => Some(one_line(reason)),
        }
    }

    /// The state as part of a sentence.
    fn in_words(&self) -> String {
        match self {
            Self::Returned(output) => touchstone::lab::abbreviate(output),
            other => format!("{} ({})", other.status(), other.reason().unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guests_text_cannot_move_the_cursor() {
        assert_eq!(harmless("a\x1b[2Jb\nü"), "a\\u{1b}[2Jb\\nü");
    }

    #[test]
    fn traps_are_alike_by_kind() {
        let trap = |detail: &str| Answer::Trapped(Trap::with_detail(TrapKind::Unreachable, detail));
        assert!(trap("one").is_like(&trap("another")));
        assert!(!trap("one").is_like(&Answer::Returned(Vec::new())));
        assert!(!Answer::Failed("x".to_owned()).is_like(&Answer::Failed("x".to_owned())));
    }
}
