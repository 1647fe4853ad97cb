//! Combinations of backend and strategy.

use super::answer::{Answer, State};
use super::timing::Times;
use anyhow::Result;
use std::sync::Arc;
use touchstone::features::support_for;
use touchstone::plan::Filter;
use touchstone::record::Executor;
use touchstone_executor::guest::GuestModule;
use touchstone_executor::{Execution, MeasuredEngine, Strategy, Support};

/// A combination and its answer.
pub(super) struct Row {
    pub(super) engine: Arc<dyn MeasuredEngine>,
    pub(super) strategy: Strategy,
    pub(super) support: Support,
    /// `None` until there is one.
    pub(super) answer: Option<Answer>,
    pub(super) group: Option<usize>,
    pub(super) times: Option<Result<Times, String>>,
}

/// The wanted combinations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// Engines whose name this expression matches.
    pub(super) backend: Option<&'a str>,
    pub(super) not_engine: Option<&'a str>,
    /// These strategies; all supported ones if empty.
    pub(super) strategies: &'a [Strategy],
}

/// The requested combinations. Without names all that the backends support, even if refused for
/// this module. The baseline is included only for guests that it contains. Fails if an expression
/// is invalid, or no engine is left.
pub(super) fn choose(guest: &GuestModule, wanted: Wanted<'_>) -> Result<Vec<Row>> {
    let Wanted { backend, not_engine, strategies } = wanted;
    let all_engines = touchstone_runtimes::engines();
    let name = |engine: &Arc<dyn MeasuredEngine>| engine.id().to_owned();
    let engines =
        Filter::new(backend)?.select("no backend of this build", all_engines.clone(), name)?;
    let engines = match not_engine {
        Some(text) => Filter::new(Some(text))?.without(engines, name)?,
        None => engines,
    };
    let all = Strategy::all();
    let ways = if strategies.is_empty() { &all[..] } else { strategies };
    let mut rows = Vec::new();
    for engine in engines {
        let has_code = || all.iter().any(|way| engine.support_for(*way, guest).is_supported());
        if backend.is_none() && engine.execution() == Execution::Native && !has_code() {
            continue;
        }
        let has = |way: &&Strategy| !strategies.is_empty() || engine.support(**way).is_supported();
        rows.extend(ways.iter().filter(has).map(|strategy| Row {
            engine: Arc::clone(&engine),
            strategy: *strategy,
            support: support_for(&*engine, *strategy, guest, &all_engines),
            answer: None,
            group: None,
            times: None,
        }));
    }
    Ok(rows)
}

impl Row {
    /// The combination without its answer.
    pub(super) fn unanswered(&self) -> Self {
        let (engine, support) = (Arc::clone(&self.engine), self.support.clone());
        Self { engine, strategy: self.strategy, support, answer: None, group: None, times: None }
    }

    pub(super) fn name(&self) -> String {
        format!("{} {}", self.engine.id(), self.strategy)
    }

    pub(super) fn executor(&self) -> Executor {
        Executor { engine: self.engine.id().to_owned(), strategy: self.strategy }
    }

    /// Its times, if timed.
    pub(super) fn times(&self) -> Option<&Times> {
        self.times.as_ref()?.as_ref().ok()
    }

    /// Its state; `None` without an answer.
    pub(super) fn state(&self) -> Option<State> {
        self.answer.as_ref().map(|answer| answer.state)
    }

    /// Its support in a word.
    pub(super) fn support(&self) -> &'static str {
        match self.support {
            Support::Native => "native",
            Support::Emulated { .. } => "emulated",
            Support::Unsupported { .. } => "unsupported",
        }
    }
}
