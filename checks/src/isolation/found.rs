//! What calls saw of the ones before.

use std::collections::BTreeMap;
use touchstone::record::{Check, Finding, Outcome};
use touchstone_executor::Strategy;

/// What was found about every executor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Isolation {
    /// The kinds of state, in the order of the tables.
    pub kinds: Vec<KindName>,
    /// The engines, in the order of the build.
    pub engines: Vec<EngineFound>,
}

/// A kind of state by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindName {
    /// Its name.
    pub name: String,
    /// Kinds that share a column.
    pub group: String,
    /// What it is, in a phrase.
    pub what: String,
}

impl KindName {
    fn finding(&self, engine: &EngineFound, row: &Row, strategy: Strategy) -> Finding {
        let checks = row.checks.get(&self.name).copied().unwrap_or_default();
        let other = row.others.get(&self.name);
        let (outcome, count) = match row.verdict(&self.name) {
            Verdict::Clean => (Outcome::Held, checks),
            Verdict::Unproven => (Outcome::Unproven, checks),
            Verdict::Leaks | Verdict::Failed => (Outcome::Failed, 1),
            Verdict::Refused => (Outcome::Refused, 1),
            Verdict::Absent => (Outcome::NotDriven, 1),
        };
        Finding {
            check: Check::Isolation,
            name: self.name.clone(),
            engine: engine.engine.clone(),
            strategy: Some(strategy),
            counts: BTreeMap::from([(outcome, count)]),
            cause: None,
            evidence: other.map(|other| other.reason.clone()).into_iter().collect(),
        }
    }
}

/// What was found about one engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineFound {
    /// Its name, as in records.
    pub engine: String,
    /// Version of its runtime.
    pub version: String,
    /// Whether it runs no modules: its guests are code of the host's own process.
    pub baseline: bool,
    /// Strategies with the same findings together.
    pub rows: Vec<Row>,
}

/// What was found about some strategies of an engine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// The strategies.
    pub strategies: Vec<Strategy>,
    /// Observations of each strategy that were compared with the clean one, by kind.
    pub checks: BTreeMap<String, u64>,
    /// Kinds that are not simply clean, by name.
    pub others: BTreeMap<String, Other>,
}

/// What was found instead of a clean call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    /// What it is.
    pub verdict: Verdict,
    /// Why, or what was seen.
    pub reason: String,
}

/// What was found about an executor and a kind of state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No call saw anything of the one before.
    Clean,
    /// The same, but the change could not be seen without a reset either.
    Unproven,
    /// A call saw what the one before left.
    Leaks,
    /// The engine or the strategy does not take the guest.
    Refused,
    /// The engine does not have what the kind is about.
    Absent,
    /// A call failed, or did something else than it is planted for.
    Failed,
}

impl Verdict {
    /// Its mark in tables.
    #[must_use]
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

    /// What the mark means, in a phrase.
    #[must_use]
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
    /// What was found about a kind.
    #[must_use]
    pub fn verdict(&self, kind: &str) -> Verdict {
        self.others.get(kind).map_or(Verdict::Clean, |other| other.verdict)
    }

    /// The strategies in short: one that is here with its code from a file as well stands
    /// once, as `<strategy>[_precompiled]`.
    #[must_use]
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

/// Why something is not simply clean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason<'a> {
    /// The reason.
    pub reason: &'a str,
    /// Kinds that it is given for.
    pub kinds: Vec<&'a str>,
    /// Executors that it is given for.
    pub executors: Vec<String>,
}

impl<'a> Reason<'a> {
    fn new(reason: &'a str) -> Self {
        Self { reason, kinds: Vec::new(), executors: Vec::new() }
    }

    fn add(&mut self, kind: &'a KindName, engine: &EngineFound, row: &Row) {
        if !self.kinds.contains(&kind.name.as_str()) {
            self.kinds.push(&kind.name);
        }
        for strategy in &row.strategies {
            let name = format!("{}_{strategy}", engine.engine);
            if !self.executors.contains(&name) {
                self.executors.push(name);
            }
        }
    }
}

/// A column of tables: kinds that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group<'a> {
    /// Its heading.
    pub name: &'a str,
    /// Its kinds.
    pub kinds: Vec<&'a KindName>,
}

impl Group<'_> {
    /// What was found about the kinds, in a mark each; one for all if they are the same.
    #[must_use]
    pub fn marks(&self, row: &Row) -> String {
        let mut marks: Vec<&str> =
            self.kinds.iter().map(|kind| row.verdict(&kind.name).mark()).collect();
        if marks.iter().all(|mark| *mark == marks[0]) {
            marks.truncate(1);
        }
        marks.concat()
    }
}

/// Executors and kinds of state, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Executors.
    pub executors: usize,
    /// Pairs of executor and kind that were looked at to the end.
    pub cells: usize,
    /// Those of them that leak.
    pub leaks: usize,
    /// Those of them whose change could not be seen.
    pub unproven: usize,
    /// Pairs that were refused.
    pub refused: usize,
    /// Pairs that an engine does not have.
    pub absent: usize,
    /// Pairs that failed.
    pub failed: usize,
    /// Observations that were compared with a clean one.
    pub checks: u64,
}

impl Isolation {
    /// Everything as it is stored: a line for each executor and kind.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for engine in &self.engines {
            for row in &engine.rows {
                for strategy in &row.strategies {
                    let kinds = self.kinds.iter();
                    findings.extend(kinds.map(|kind| kind.finding(engine, row, *strategy)));
                }
            }
        }
        findings
    }

    /// The kinds, those of a group together.
    #[must_use]
    pub fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for kind in &self.kinds {
            match groups.last_mut() {
                Some(group) if group.name == kind.group => group.kinds.push(kind),
                _ => groups.push(Group { name: &kind.group, kinds: vec![kind] }),
            }
        }
        groups
    }

    /// The reasons for a verdict, each once, with the kinds and the executors that it is
    /// given for.
    #[must_use]
    pub fn reasons(&self, verdict: Verdict) -> Vec<Reason<'_>> {
        let mut reasons: Vec<Reason<'_>> = Vec::new();
        for kind in &self.kinds {
            for engine in &self.engines {
                for row in &engine.rows {
                    let Some(other) = row.others.get(&kind.name) else { continue };
                    if other.verdict != verdict {
                        continue;
                    }
                    let known = reasons.iter().position(|known| known.reason == other.reason);
                    let at = known.unwrap_or_else(|| {
                        reasons.push(Reason::new(&other.reason));
                        reasons.len() - 1
                    });
                    reasons[at].add(kind, engine, row);
                }
            }
        }
        reasons
    }

    /// Everything in numbers.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for row in self.engines.iter().flat_map(|engine| &engine.rows) {
            let executors = row.strategies.len();
            tally.executors += executors;
            tally.checks += row.checks.values().sum::<u64>() * executors as u64;
            for kind in &self.kinds {
                let verdict = row.verdict(&kind.name);
                let counted = match verdict {
                    Verdict::Clean => None,
                    Verdict::Unproven => Some(&mut tally.unproven),
                    Verdict::Leaks => Some(&mut tally.leaks),
                    Verdict::Refused => Some(&mut tally.refused),
                    Verdict::Absent => Some(&mut tally.absent),
                    Verdict::Failed => Some(&mut tally.failed),
                };
                if let Some(counted) = counted {
                    *counted += executors;
                }
                if !matches!(verdict, Verdict::Refused | Verdict::Absent | Verdict::Failed) {
                    tally.cells += executors;
                }
            }
        }
        tally
    }
}
