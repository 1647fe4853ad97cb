//! Which executors are compared: the rows of `benches/comparisons.toml`.

use super::{Cell, Filter, Plan, cores, near};
use crate::case::{self, Case};
use crate::record::{Contender, Executor, Match, Means, Purpose};
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Spanned;
use touchstone_executor::abi::Abi;
use touchstone_executor::{CodeFrom, Engine, Owner, Strategy};

/// A comparison to make: its name, and the cells of its two sides.
#[derive(Clone)]
pub struct Compare {
    /// Its name.
    pub of: Match,
    /// The subject.
    pub subject: Cell,
    /// The baseline.
    pub baseline: Cell,
    /// The other case of [`Means::After`].
    pub another: Option<Arc<Case>>,
}

impl Compare {
    /// Name for filters: `<purpose>/<subject>/<work>/<N>_threads/<baseline>`.
    #[must_use]
    pub fn name(&self) -> String {
        self.of.name()
    }

    /// A comparison of two cells on the same work.
    #[must_use]
    pub fn of_cells(purpose: Purpose, subject: Cell, baseline: Cell) -> Self {
        let contender = |cell: &Cell| Contender {
            executor: cell.key.executor(),
            threads: cell.key.threads,
            means: Means::Contract,
        };
        Self {
            of: Match {
                purpose,
                case: subject.key.case.clone(),
                guest: subject.key.guest.clone(),
                subject: contender(&subject),
                baseline: contender(&baseline),
            },
            subject,
            baseline,
            another: None,
        }
    }
}

/// A row that needs something that this build or machine does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// What was requested.
    pub of: Match,
    /// Why it is missing.
    pub reason: String,
}

/// The rows of the file.
#[derive(Debug)]
pub struct Rows(Vec<Entry>);

/// The path of `benches/comparisons.toml` in the project.
#[must_use]
pub fn default_rows() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/comparisons.toml")
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
    /// The subjects; by default all that can be compared with the baseline.
    #[serde(default)]
    executors: Vec<String>,
    cases: Vec<String>,
    /// The guests; by default the first of each case.
    guests: Option<Vec<String>>,
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

/// What the subjects are compared with.
#[derive(Clone, Copy)]
enum Baseline<'a> {
    /// The raw interface of their runtime.
    Raw,
    /// The same executor.
    Itself,
    /// The same executor on one thread.
    OneThread,
    /// The same executor in the same bursts, without the other call.
    Without(&'a str),
    /// Another executor.
    Executor(&'a str),
}

impl Entry {
    fn baseline(&self) -> Result<Baseline<'_>> {
        Ok(match (self.baseline.as_deref(), self.after.as_deref()) {
            (Some(_), Some(_)) | (None, None) => {
                bail!("a row needs either 'baseline' or 'after'")
            }
            (None, Some(case)) => {
                ensure!(self.burst > 0, "'burst' is 1 or more");
                Baseline::Without(case)
            }
            (Some("raw"), None) => Baseline::Raw,
            (Some("itself"), None) => Baseline::Itself,
            (Some("itself_on_1_thread"), None) => Baseline::OneThread,
            (Some(name), None) => Baseline::Executor(name),
        })
    }

    fn check(&self, cases: &[Case]) -> Result<()> {
        for (what, none) in [
            ("cases", self.cases.is_empty()),
            ("guests", self.guests.as_ref().is_some_and(Vec::is_empty)),
            ("threads", self.threads.is_empty() || self.threads.contains(&0)),
        ] {
            ensure!(!none, "'{what}' needs one or more, and numbers from 1 upwards");
        }
        let find = |name: &String| {
            cases
                .iter()
                .find(|case| case.name == *name)
                .with_context(|| case::unknown(name, cases.iter().map(|case| case.name.as_str())))
        };
        let alone = self.threads == [1];
        match self.baseline()? {
            Baseline::OneThread => {
                ensure!(!self.threads.contains(&1), "'itself_on_1_thread' is for several threads");
            }
            Baseline::Raw => ensure!(alone, "'raw' is for one thread"),
            Baseline::Without(_) => ensure!(alone, "'after' is for one thread"),
            Baseline::Itself | Baseline::Executor(_) => {}
        }
        for name in &self.cases {
            let case = find(name)?;
            for guest in self.guests.iter().flatten() {
                ensure!(
                    case.guests.contains(guest),
                    "the case '{name}' has no guest '{guest}'; it has {}",
                    case.guests.join(", ")
                );
            }
            if let Some(after) = &self.after {
                let another = find(after)?;
                ensure!(
                    another.name != case.name && another.heap == case.heap,
                    "'after' is another case with the same heap, for one instance to make both"
                );
            }
        }
        Ok(())
    }
}

impl Rows {
    /// All rows of a file, in its order.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is wrong; the message has the line.
    pub fn load(path: &Path, cases: &[Case]) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the comparisons in {}", path.display()))?;
        let file: File = toml::from_str(&text)
            .with_context(|| format!("the comparisons in {} are wrong", path.display()))?;
        let mut entries = Vec::new();
        for entry in file.rows {
            let line = 1 + text[..entry.span().start].matches('\n').count();
            let entry = entry.into_inner();
            entry.check(cases).with_context(|| {
                format!("the comparisons in {} at line {line} are wrong", path.display())
            })?;
            entries.push(entry);
        }
        Ok(Self(entries))
    }

    /// The comparisons of some purposes that a filter selects, and the rows that cannot be
    /// had, with the reason.
    ///
    /// # Errors
    ///
    /// When the filter selects nothing; the message names near matches.
    pub fn select(
        &self,
        purposes: &[Purpose],
        cases: &[Case],
        engines: &[Arc<dyn Engine>],
        plan: &Plan,
        filter: &Filter,
    ) -> Result<(Vec<Compare>, Vec<Wanted>)> {
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for entry in self.0.iter().filter(|entry| purposes.contains(&entry.purpose)) {
            entry.expand(cases, engines, plan, &mut found, &mut missing)?;
        }
        let names: Vec<String> = found.iter().map(Compare::name).collect();
        found.retain(|compare| filter.matches(&compare.name()));
        missing.retain(|wanted| {
            let of = &wanted.of;
            filter.matches(&format!("{}/{}_from_{}", of.subject, of.case, of.guest))
        });
        if let (Filter::Pattern(text), true, true) = (filter, found.is_empty(), missing.is_empty())
            && purposes == [Purpose::Peers]
        {
            bail!("no comparison matches '{text}'{}", near(text.as_str(), &names));
        }
        Ok((found, missing))
    }
}

impl Entry {
    fn expand(
        &self,
        cases: &[Case],
        engines: &[Arc<dyn Engine>],
        plan: &Plan,
        found: &mut Vec<Compare>,
        missing: &mut Vec<Wanted>,
    ) -> Result<()> {
        let baseline = self.baseline()?;
        for name in &self.cases {
            let Some(case) = cases.iter().find(|case| case.name == *name) else { continue };
            let case = Arc::new(case.clone());
            for guest in self.guests.as_ref().unwrap_or(&case.guests[..1].to_vec()) {
                for threads in &self.threads {
                    for executor in self.subjects(baseline, &case, guest, *threads, engines, plan) {
                        let work = Work { case: &case, guest, threads: *threads, cases, engines };
                        match work.compare(self, &executor, baseline) {
                            Ok(compare) => found.push(compare),
                            Err(wanted) => missing.push(*wanted),
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The names of the subjects: those of the file, or all that can be compared with the
    /// baseline.
    fn subjects(
        &self,
        baseline: Baseline<'_>,
        case: &Case,
        guest: &str,
        threads: usize,
        engines: &[Arc<dyn Engine>],
        plan: &Plan,
    ) -> Vec<String> {
        if !self.executors.is_empty() {
            return self.executors.clone();
        }
        let guest = guest.replace('-', "_");
        let cells = plan.cells.iter().filter(|cell| {
            cell.key.case == case.name
                && cell.key.guest == guest
                && cell.key.threads == threads
                && cell.key.strategy.code == CodeFrom::InProcess
        });
        match baseline {
            Baseline::Raw => cells
                .filter(|cell| case.abi == Abi::Substrate && cell.engine.has_raw(cell.key.strategy))
                .map(|cell| cell.key.executor().to_string())
                .collect(),
            // One row an engine, on the best strategy of the runtime's own.
            Baseline::Itself => {
                let cells: Vec<&Cell> = cells.collect();
                let best = |engine: &Arc<dyn Engine>| {
                    let own = cells.iter().filter(|cell| {
                        cell.key.engine == engine.id()
                            && cell.key.strategy.owner() == Owner::Runtime
                    });
                    own.min_by_key(|cell| cell.key.strategy.preference())
                };
                engines.iter().filter_map(best).map(|c| c.key.executor().to_string()).collect()
            }
            Baseline::Executor(name) => {
                let all = cells.map(|cell| cell.key.executor().to_string());
                all.filter(|executor| executor != name).collect()
            }
            Baseline::OneThread | Baseline::Without(_) => {
                cells.map(|cell| cell.key.executor().to_string()).collect()
            }
        }
    }
}

/// The calls that both sides of a comparison make.
struct Work<'a> {
    case: &'a Arc<Case>,
    guest: &'a str,
    threads: usize,
    cases: &'a [Case],
    engines: &'a [Arc<dyn Engine>],
}

impl Work<'_> {
    fn compare(
        &self,
        entry: &Entry,
        subject: &str,
        baseline: Baseline<'_>,
    ) -> Result<Compare, Box<Wanted>> {
        let (burst, skip) = (entry.burst, entry.skip);
        let (means, against) = match baseline {
            Baseline::Raw => ((Means::Contract, Means::Raw), (subject, self.threads)),
            Baseline::Itself => ((Means::Contract, Means::Contract), (subject, self.threads)),
            Baseline::OneThread => ((Means::Contract, Means::Contract), (subject, 1)),
            Baseline::Executor(name) => ((Means::Contract, Means::Contract), (name, self.threads)),
            Baseline::Without(case) => {
                let after = Means::After { case: case.to_owned(), skip, burst };
                ((after, Means::Bursts { skip, burst }), (subject, 1))
            }
        };
        let contender = |name: &str, threads, means| {
            let (engine, strategy) = named(self.engines, name)?;
            let executor = Executor { engine: engine.id().to_owned(), strategy };
            Some((Contender { executor, threads, means }, engine))
        };
        let of = |subject: Contender, baseline: Contender| Match {
            purpose: entry.purpose,
            case: self.case.name.clone(),
            guest: self.guest.replace('-', "_"),
            subject,
            baseline,
        };
        let left = contender(subject, self.threads, means.0);
        let right = contender(against.0, against.1, means.1);
        let (left, right) = match (left, right) {
            (Some(left), Some(right)) => (left, right),
            (left, right) => {
                // A name that no engine of this build has stands as it was written.
                let known = |side: Option<(Contender, _)>, name: &str| {
                    side.map_or_else(|| unknown(name), |(contender, _)| contender)
                };
                let reason = format!(
                    "there is no {} in this build",
                    if left.is_none() { subject } else { against.0 }
                );
                let of = of(known(left, subject), known(right, against.0));
                return Err(Box::new(Wanted { of, reason }));
            }
        };
        let cell = |side: &(Contender, &Arc<dyn Engine>)| {
            let (contender, engine) = side;
            let strategy = contender.executor.strategy;
            let cell = Cell::new(self.case, self.guest, engine, strategy, contender.threads);
            match engine.support(strategy) {
                touchstone_executor::Support::Unsupported { reason } => {
                    Err(format!("{}: {reason}", contender.executor))
                }
                _ if contender.threads > cores() => Err(format!(
                    "{} threads on {} processors would time the scheduler",
                    contender.threads,
                    cores()
                )),
                _ => Ok(cell),
            }
        };
        let of = of(left.0.clone(), right.0.clone());
        match (cell(&left), cell(&right)) {
            (Ok(subject), Ok(baseline)) => Ok(Compare {
                another: entry.after.as_ref().and_then(|name| {
                    self.cases.iter().find(|case| case.name == *name).cloned().map(Arc::new)
                }),
                of,
                subject,
                baseline,
            }),
            (Err(reason), _) | (_, Err(reason)) => Err(Box::new(Wanted { of, reason })),
        }
    }
}

/// The engine and the strategy of an executor's name.
fn named<'a>(
    engines: &'a [Arc<dyn Engine>],
    name: &str,
) -> Option<(&'a Arc<dyn Engine>, Strategy)> {
    engines.iter().find_map(|engine| {
        let strategy = name.strip_prefix(engine.id())?.strip_prefix('_')?;
        Some((engine, strategy.parse().ok()?))
    })
}

/// A contender whose engine is not in this build.
fn unknown(name: &str) -> Contender {
    let strategies = Strategy::all().into_iter();
    let found = strategies
        .filter_map(|strategy| {
            let engine = name.strip_suffix(&strategy.to_string())?.strip_suffix('_')?;
            Some(Executor { engine: engine.to_owned(), strategy })
        })
        .max_by_key(|executor| executor.strategy.to_string().len());
    let executor =
        found.unwrap_or(Executor { engine: name.to_owned(), strategy: Strategy::INTERPRETED });
    Contender { executor, threads: 1, means: Means::Contract }
}
