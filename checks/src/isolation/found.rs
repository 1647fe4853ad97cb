//! Results of the isolation check.

use super::Kind;
use crate::conformance::known::Known;
use indexmap::{IndexMap, IndexSet};
use std::collections::BTreeMap;
use touchstone::record::{Check, Finding, Outcome};
use touchstone_executor::Strategy;

/// Results on all executors.
#[derive(Debug, Clone, Default)]
pub struct Isolation {
    /// Kinds of state, in the order of the tables.
    pub kinds: Vec<&'static Kind>,
    /// Engines, in the order of the build.
    pub engines: Vec<EngineFound>,
    /// Pages of guests that were swapped out before a reset; `None` without swap space.
    pub swapped: Option<u64>,
}

#[derive(Debug, Clone)]
pub struct EngineFound {
    pub engine: String,
    /// Strategies with the same results together.
    pub rows: Vec<Row>,
}

/// Results on some strategies of an engine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    pub strategies: Vec<Strategy>,
    /// Number of compared observations of each strategy, by kind.
    pub checks: BTreeMap<String, u64>,
    /// Kinds that are not clean, by name.
    pub others: BTreeMap<String, Other>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    pub verdict: Verdict,
    pub reason: String,
    /// The cause of a leak or failure, if it is known.
    pub cause: Option<String>,
}

/// The result for an executor and a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No call saw state of an earlier one.
    Clean,
    /// No leak, but the change was not visible without a reset either.
    Unproven,
    /// A call saw state of an earlier one.
    Leaks,
    /// The engine or the strategy refuses the guest.
    Refused,
    /// The engine lacks the feature.
    Absent,
    /// A call failed, or did not do its planted work.
    Failed,
}

impl Verdict {
    /// Mark in tables.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Clean => "✓",
            Self::Unproven => "?",
            Self::Leaks => "L",
            Self::Refused => "r",
            Self::Absent => "–",
            Self::Failed => "✗",
        }
    }

    /// Meaning of the mark.
    pub fn what(self) -> &'static str {
        match self {
            Self::Clean => "clean: no call saw anything of the one before",
            Self::Unproven => "clean, but a call without a reset does not see the change either",
            Self::Leaks => "leaks into the next call",
            Self::Refused => "refused: the guest is not run under this strategy",
            Self::Absent => "the engine does not have what this is about",
            Self::Failed => "the call failed",
        }
    }
}

impl Row {
    fn finding(&self, kind: &Kind, engine: &EngineFound, strategy: Strategy) -> Finding {
        let checks = self.checks.get(&kind.name).copied().unwrap_or_default();
        let other = self.others.get(&kind.name);
        let (outcome, count) = match self.verdict(&kind.name) {
            Verdict::Clean => (Outcome::Held, checks),
            Verdict::Unproven => (Outcome::Unproven, checks),
            Verdict::Leaks | Verdict::Failed => (Outcome::Failed, 1),
            Verdict::Refused => (Outcome::Refused, 1),
            Verdict::Absent => (Outcome::NotDriven, 1),
        };
        Finding {
            check: Check::Isolation,
            name: kind.name.clone(),
            engine: engine.engine.clone(),
            strategy: Some(strategy),
            counts: BTreeMap::from([(outcome, count)]),
            cause: other.and_then(|own| own.cause.clone()),
            evidence: other.map(|own| own.reason.clone()).into_iter().collect(),
        }
    }

    pub fn verdict(&self, kind: &str) -> Verdict {
        self.others.get(kind).map_or(Verdict::Clean, |other| other.verdict)
    }

    /// The row with each of its strategies.
    fn each(&self) -> impl Iterator<Item = (&Self, Strategy)> {
        self.strategies.iter().map(move |strategy| (self, *strategy))
    }

    /// The strategies, `<strategy>[_precompiled]` for pairs that differ only in the source of code.
    pub fn names(&self) -> Vec<String> {
        let has = |wanted: &dyn Fn(&Strategy) -> bool| self.strategies.iter().any(wanted);
        let is_double = |one: &&Strategy| {
            one.is_precompiled() && has(&|other| !other.is_precompiled() && *other == one.base())
        };
        let short = |one: &Strategy| {
            let is_both = has(&|other| other.is_precompiled() && other.base() == *one);
            if is_both { format!("{one}[_precompiled]") } else { one.to_string() }
        };
        self.strategies.iter().filter(|one| !is_double(one)).map(short).collect()
    }
}

/// A reason for not being clean.
#[derive(Debug, Clone)]
pub struct Reason<'a> {
    pub reason: &'a str,
    pub cause: Option<&'a str>,
    pub kinds: IndexSet<&'a str>,
    pub executors: IndexSet<String>,
}

/// A column of tables.
#[derive(Debug, Clone)]
pub struct Group<'a> {
    /// Heading.
    pub name: &'a str,
    kinds: Vec<&'a Kind>,
}

impl Group<'_> {
    /// The marks of the kinds; one if all are the same.
    pub fn marks(&self, row: &Row) -> String {
        let mut marks: Vec<&str> =
            self.kinds.iter().map(|kind| row.verdict(&kind.name).mark()).collect();
        if marks.iter().all(|mark| *mark == marks[0]) {
            marks.truncate(1);
        }
        marks.concat()
    }
}

/// Numbers of executors and of pairs of executor and kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub executors: usize,
    /// Pairs with a complete result.
    pub cells: usize,
    pub leaks: usize,
    pub unproven: usize,
    pub refused: usize,
    pub absent: usize,
    pub failed: usize,
    /// Number of compared observations.
    pub checks: u64,
}

impl Isolation {
    /// Sets the causes of leaks and failures, and returns the number of those without a cause.
    pub fn explain(&mut self, known: &Known) -> usize {
        let mut unexplained = 0;
        for engine in &mut self.engines {
            for row in &mut engine.rows {
                for (kind, other) in &mut row.others {
                    if !matches!(other.verdict, Verdict::Leaks | Verdict::Failed) {
                        continue;
                    }
                    let cause = |strategy: &Strategy| {
                        let at = format!("isolation/{strategy}/{kind}");
                        known.cause(&engine.engine, &at, &other.reason)
                    };
                    // A cause that holds for all strategies of the row.
                    let causes: Option<Vec<_>> = row.strategies.iter().map(cause).collect();
                    other.cause = causes.and_then(|causes| causes.into_iter().next());
                    unexplained += usize::from(other.cause.is_none());
                }
            }
        }
        unexplained
    }

    /// The records: one per executor and kind.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for engine in &self.engines {
            for (row, strategy) in engine.rows.iter().flat_map(Row::each) {
                let kinds = self.kinds.iter();
                findings.extend(kinds.map(|kind| row.finding(kind, engine, strategy)));
            }
        }
        findings
    }

    pub fn groups(&self) -> Vec<Group<'_>> {
        let groups = self.kinds.chunk_by(|one, next| one.group == next.group);
        groups.map(|kinds| Group { name: &kinds[0].group, kinds: kinds.to_vec() }).collect()
    }

    /// The reasons for a verdict, with their kinds and executors.
    pub fn reasons(&self, verdict: Verdict) -> Vec<Reason<'_>> {
        let mut reasons: IndexMap<&str, Reason<'_>> = IndexMap::new();
        for kind in &self.kinds {
            for engine in &self.engines {
                for (row, strategy) in engine.rows.iter().flat_map(Row::each) {
                    let other = row.others.get(&kind.name).filter(|own| own.verdict == verdict);
                    let Some(Other { reason, cause, .. }) = other else { continue };
                    let new = || Reason {
                        reason,
                        cause: cause.as_deref(),
                        kinds: IndexSet::new(),
                        executors: IndexSet::new(),
                    };
                    let own = reasons.entry(reason).or_insert_with(new);
                    own.kinds.insert(&kind.name);
                    own.executors.insert(format!("{}_{strategy}", engine.engine));
                }
            }
        }
        reasons.into_values().collect()
    }

    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for row in self.engines.iter().flat_map(|engine| &engine.rows) {
            let executors = row.strategies.len();
            tally.executors += executors;
            tally.checks += row.checks.values().sum::<u64>() * executors as u64;
            for kind in &self.kinds {
                let (counted, is_whole) = match row.verdict(&kind.name) {
                    Verdict::Clean => (None, true),
                    Verdict::Unproven => (Some(&mut tally.unproven), true),
                    Verdict::Leaks => (Some(&mut tally.leaks), true),
                    Verdict::Refused => (Some(&mut tally.refused), false),
                    Verdict::Absent => (Some(&mut tally.absent), false),
                    Verdict::Failed => (Some(&mut tally.failed), false),
                };
                counted.into_iter().for_each(|counted| *counted += executors);
                tally.cells += if is_whole { executors } else { 0 };
            }
        }
        tally
    }
}
