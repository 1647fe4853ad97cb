//! The rows of `benches/comparisons.toml`, and the comparisons that they select.

use super::cells::crowded;
use super::{Cell, Filter, Plan, cores, hint};
use crate::case::{self, Case, GuestName};
use crate::files::{self, read_text};
use crate::record::{CellKey, Contender, Executor, Match, Means, Purpose, preference};
use anyhow::{Context, Error, Result, bail, ensure};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Spanned;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::{Abi, CodeFrom, MemoryFrom, Owner, Strategy, Support};

/// A comparison with the cells of its two sides.
#[derive(Clone)]
pub struct Compare {
    pub of: Match,
    pub subject: Cell,
    pub baseline: Cell,
    /// The other case of [`Means::After`].
    pub another: Option<Arc<Case>>,
}

/// A row that this build or machine cannot make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub of: Match,
    pub reason: String,
}

#[derive(Debug)]
pub struct Rows(Vec<Entry>);

pub fn default_rows() -> PathBuf {
    files::project("benches/comparisons.toml")
}

/// The strategy that an engine's runtime implements itself, expected to be the fastest. A plain new
/// instance where Touchstone implements all.
pub(super) fn best_of_runtime(engine: &dyn MeasuredEngine) -> Option<Executor> {
    let best = |is_meant: &dyn Fn(Strategy) -> bool| {
        let all = Strategy::all().into_iter().filter(|own| !own.is_precompiled() && is_meant(*own));
        all.min_by_key(|own| preference(*own))
    };
    let is_plain = |own: Strategy| {
        own.owner() == Owner::Runtime
            && own.memory == MemoryFrom::Segments
            && engine.support(own).is_supported()
    };
    let best = best(&|own| engine.support(own) == Support::Native).or_else(|| best(&is_plain));
    best.map(|strategy| Executor { engine: engine.id().to_owned(), strategy })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rows: Vec<Spanned<Entry>>,
}

/// One `[[rows]]` entry: comparisons that differ in case, guest, threads and subject.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    purpose: Purpose,
    /// The subjects; by default all that the baseline can be compared with.
    #[serde(default)]
    executors: Vec<String>,
    cases: Vec<String>,
    /// The guests; by default the first of each case.
    guests: Option<Vec<GuestName>>,
    #[serde(default = "one_thread")]
    threads: Vec<usize>,
    baseline: Option<String>,
    after: Option<String>,
    #[serde(default)]
    skip: u64,
    #[serde(default = "sixteen")]
    burst: u64,
}

fn one_thread() -> Vec<usize> {
    vec![1]
}

fn sixteen() -> u64 {
    16
}

enum Baseline {
    /// The raw interface of their runtime.
    Raw,
    Itself,
    /// The best of the runtime's own strategies.
    OfRuntime,
    OneThread,
    /// The same executor without the deadline that the subject has.
    Unlimited,
    /// The same executor in the same bursts, without the call of this other case.
    Without(String),
    Executor(Executor),
}

impl Rows {
    /// All rows of a file. Fails if it cannot be read or is wrong; the message has the line.
    pub fn load(path: &Path, cases: &[Case]) -> Result<Self> {
        let shown = path.display();
        let text =
            read_text(path).with_context(|| format!("cannot read the comparisons in {shown}"))?;
        let file: File = toml::from_str(&text)
            .with_context(|| format!("the comparisons in {shown} are invalid"))?;
        let checked = |entry: Spanned<Entry>| {
            let line = 1 + text[..entry.span().start].matches('\n').count();
            let invalid = || format!("the comparisons in {shown} at line {line} are invalid");
            let entry = entry.into_inner();
            entry.check(cases).with_context(invalid).map(|()| entry)
        };
        file.rows.into_iter().map(checked).collect::<Result<_>>().map(Self)
    }

    /// The comparisons of some purposes that a filter selects, and the impossible rows with the
    /// reason. Fails with similar names if the filter selects nothing.
    pub fn select(
        &self,
        purposes: &[Purpose],
        cases: &[Case],
        engines: &[Arc<dyn MeasuredEngine>],
        plan: &Plan,
        filter: &Filter,
    ) -> Result<(Vec<Compare>, Vec<Wanted>)> {
        let names = Names::new(cases, engines);
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for entry in self.0.iter().filter(|entry| purposes.contains(&entry.purpose)) {
            entry.expand(&names, plan, &mut found, &mut missing)?;
        }
        let all: Vec<String> = found.iter().map(|own| own.of.name()).collect();
        found.retain(|compare| filter.matches(&compare.of.name()));
        missing.retain(|Wanted { of, .. }| {
            filter.matches(&format!("{}/{}_from_{}", of.subject, of.case, of.guest))
        });
        if let (Filter::Pattern(text), true, true) = (filter, found.is_empty(), missing.is_empty())
            && purposes == [Purpose::Peers]
        {
            bail!("no comparison matches '{text}'{}", hint(text.as_str(), &all));
        }
        Ok((found, missing))
    }
}

impl Entry {
    fn named(&self) -> Result<Vec<Executor>> {
        self.executors.iter().map(|name| name.parse().map_err(Error::msg)).collect()
    }

    fn baseline(&self) -> Result<Baseline> {
        Ok(match (self.baseline.as_deref(), &self.after) {
            (Some(_), Some(_)) | (None, None) => {
                bail!("a row needs either 'baseline' or 'after'")
            }
            (None, Some(case)) => Baseline::Without(case.clone()),
            (Some("raw"), None) => Baseline::Raw,
            (Some("itself"), None) => Baseline::Itself,
            (Some("best_of_runtime"), None) => Baseline::OfRuntime,
            (Some("itself_on_1_thread"), None) => Baseline::OneThread,
            (Some("itself_without_deadline"), None) => Baseline::Unlimited,
            (Some(name), None) => Baseline::Executor(name.parse().map_err(Error::msg)?),
        })
    }

    fn check(&self, cases: &[Case]) -> Result<()> {
        for (what, none) in [
            ("cases", self.cases.is_empty()),
            ("guests", self.guests.as_ref().is_some_and(Vec::is_empty)),
            ("threads", self.threads.is_empty() || self.threads.contains(&0)),
        ] {
            ensure!(!none, "'{what}' needs at least one entry, and numbers must be at least 1");
        }
        ensure!(self.burst > 0, "'burst' must be at least 1");
        self.named()?;
        let alone = self.threads == [1];
        match self.baseline()? {
            Baseline::OneThread => {
                ensure!(!self.threads.contains(&1), "'itself_on_1_thread' is for several threads");
            }
            Baseline::Raw => ensure!(alone, "'raw' is for one thread"),
            Baseline::Without(_) => ensure!(alone, "'after' is for one thread"),
            Baseline::OfRuntime => ensure!(
                !self.executors.is_empty(),
                "'best_of_runtime' needs the executors that are compared with it"
            ),
            Baseline::Itself | Baseline::Unlimited | Baseline::Executor(_) => {}
        }
        for name in &self.cases {
            let case = case::find(cases, name)?;
            self.guests.iter().flatten().try_for_each(|guest| case.guest(guest).map(drop))?;
            if let Some(after) = &self.after {
                let another = case::find(cases, after)?;
                ensure!(
                    another.name != case.name && another.heap == case.heap,
                    "'after' is another case with the same heap, for one instance to make both"
                );
            }
        }
        Ok(())
    }

    fn expand(
        &self,
        names: &Names,
        plan: &Plan,
        found: &mut Vec<Compare>,
        missing: &mut Vec<Wanted>,
    ) -> Result<()> {
        let baseline = self.baseline()?;
        for name in &self.cases {
            let case = names.case(name)?;
            for guest in self.guests.as_deref().unwrap_or(&case.guests[..1]) {
                for threads in &self.threads {
                    for executor in self.subjects(&baseline, names, plan, case, guest, *threads)? {
                        let baseline = match &baseline {
                            Baseline::OfRuntime => {
                                let mut all = names.engines.iter();
                                let engine = all.find(|own| own.id() == executor.engine);
                                let best = engine.and_then(|engine| best_of_runtime(&**engine));
                                // Without the engine, the row is left out in any case.
                                &best.map_or(Baseline::Itself, Baseline::Executor)
                            }
                            other => other,
                        };
                        let of = self.of(case, guest, executor, *threads, baseline);
                        match names.obstacle(&of) {
                            None => found.push(names.compare(&of)?),
                            Some(reason) => missing.push(Wanted { of, reason }),
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The subjects: those of the file, or all possible ones.
    fn subjects(
        &self,
        baseline: &Baseline,
        names: &Names,
        plan: &Plan,
        case: &Case,
        guest: &str,
        threads: usize,
    ) -> Result<Vec<Executor>> {
        if !self.executors.is_empty() {
            return self.named();
        }
        let cells = plan.cells.iter().filter(|cell| {
            cell.key.case == case.name
                && cell.guest == guest
                && cell.key.threads == threads
                && cell.key.strategy.code == CodeFrom::InProcess
                // `…_resident` shows the adapter's part.
                && cell.key.strategy.memory != MemoryFrom::Gated
        });
        let executors = cells.clone().map(|cell| cell.key.executor());
        Ok(match baseline {
            Baseline::Raw => cells
                .filter(|cell| case.abi == Abi::Substrate && cell.engine.has_raw(cell.key.strategy))
                .map(|cell| cell.key.executor())
                .collect(),
            // One row per engine, on the best of the runtime's own strategies.
            Baseline::Itself => {
                let best = |engine: &Arc<dyn MeasuredEngine>| {
                    let own = executors.clone().filter(|executor| {
                        executor.engine == engine.id()
                            && executor.strategy.owner() == Owner::Runtime
                    });
                    own.min_by_key(|executor| preference(executor.strategy))
                };
                names.engines.iter().filter_map(best).collect()
            }
            Baseline::Executor(other) => executors.filter(|executor| executor != other).collect(),
            Baseline::OfRuntime
            | Baseline::OneThread
            | Baseline::Unlimited
            | Baseline::Without(_) => executors.collect(),
        })
    }

    /// The name of the comparison of one subject.
    fn of(
        &self,
        case: &Case,
        guest: &str,
        subject: Executor,
        threads: usize,
        baseline: &Baseline,
    ) -> Match {
        let (skip, burst) = (self.skip, self.burst);
        let (means, against) = match baseline {
            Baseline::Raw => (Means::Contract, Means::Raw),
            Baseline::Unlimited => (Means::Limited, Means::Contract),
            Baseline::Without(case) => {
                (Means::After { case: case.clone(), skip, burst }, Means::Bursts { skip, burst })
            }
            _ => (Means::Contract, Means::Contract),
        };
        let (other, on) = match baseline {
            Baseline::Executor(other) => (other.clone(), threads),
            Baseline::OneThread => (subject.clone(), 1),
            _ => (subject.clone(), threads),
        };
        Match {
            purpose: self.purpose,
            case: case.name.clone(),
            guest: GuestName::new(guest).to_string(),
            subject: Contender { executor: subject, threads, means },
            baseline: Contender { executor: other, threads: on, means: against },
        }
    }
}

/// Resolves names to cells.
pub struct Names {
    pub(crate) cases: Vec<Arc<Case>>,
    pub(crate) engines: Vec<Arc<dyn MeasuredEngine>>,
}

impl Names {
    pub fn new(cases: &[Case], engines: &[Arc<dyn MeasuredEngine>]) -> Self {
        let cases = cases.iter().cloned().map(Arc::new).collect();
        Self { cases, engines: engines.to_vec() }
    }

    /// The cell of a key. Fails if a name is unknown here.
    pub fn cell(&self, key: &CellKey) -> Result<Cell> {
        let case = self.case(&key.case)?;
        let engine = self.engines.iter().find(|engine| engine.id() == key.engine);
        let engine = engine.with_context(|| format!("this build has no engine {}", key.engine))?;
        let guest = case.guests.iter().find(|guest| **guest == key.guest);
        let guest = guest
            .with_context(|| format!("the case {} has no guest {} here", key.case, key.guest))?;
        Ok(Cell::new(case, guest, engine, key.strategy, key.threads))
    }

    fn case(&self, name: &str) -> Result<&Arc<Case>> {
        let case = self.cases.iter().find(|case| case.name == name);
        case.with_context(|| format!("there is no case {name} here"))
    }

    /// The comparison of two sides. Fails if a name is unknown here.
    pub fn compare(&self, of: &Match) -> Result<Compare> {
        let side = |side: &Contender| self.cell(&of.cell(side));
        let another = match &of.subject.means {
            Means::After { case, .. } => Some(Arc::clone(self.case(case)?)),
            _ => None,
        };
        let (subject, baseline) = (side(&of.subject)?, side(&of.baseline)?);
        Ok(Compare { of: of.clone(), subject, baseline, another })
    }

    /// The reason why this build or machine cannot make a comparison.
    fn obstacle(&self, of: &Match) -> Option<String> {
        [&of.subject, &of.baseline].into_iter().find_map(
            |Contender { executor, threads, .. }| {
                let engine = self.engines.iter().find(|engine| engine.id() == executor.engine);
                let Some(engine) = engine else {
                    return Some(format!("there is no {executor} in this build"));
                };
                match engine.support(executor.strategy) {
                    Support::Unsupported { reason } => Some(format!("{executor}: {reason}")),
                    _ => (*threads > cores()).then(|| crowded(*threads)),
                }
            },
        )
    }
}
