//! Results of the isolation check.

use std::collections::BTreeMap;
use touchstone::record::{Check, Finding, Outcome};
use touchstone_executor::Strategy;

/// Results on all executors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Isolation {
    /// Kinds of state, in the order of the tables.
    pub kinds: Vec<KindName>,
    /// Engines, in the order of the build.
    pub engines: Vec<EngineFound>,
}

/// A kind of state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindName {
    /// Name in filters and findings.
    pub name: String,
    /// Kinds of a group share a column.
    pub group: String,
    /// The kind in a phrase.
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

/// Results on one engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineFound {
    pub engine: String,
    pub version: String,
    /// `true` for the native baseline, whose guests are code of the host's process.
    pub baseline: bool,
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

/// A result that is not clean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    /// Its verdict.
    pub verdict: Verdict,
    pub reason: String,
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
    /// The verdict on a kind.
    pub fn verdict(&self, kind: &str) -> Verdict {
        self.others.get(kind).map_or(Verdict::Clean, |other| other.verdict)
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason<'a> {
    pub reason: &'a str,
    /// Kinds with this reason.
    pub kinds: Vec<&'a str>,
    /// Executors with this reason.
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

/// A column of tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group<'a> {
    /// Heading.
    pub name: &'a str,
    /// Kinds of the column.
    pub kinds: Vec<&'a KindName>,
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
    /// Pairs that leak.
    pub leaks: usize,
    /// Pairs whose change was not visible.
    pub unproven: usize,
    /// Refused pairs.
    pub refused: usize,
    /// Pairs that an engine lacks.
    pub absent: usize,
    /// Failed pairs.
    pub failed: usize,
    /// Number of compared observations.
    pub checks: u64,
}

impl Isolation {
    /// The records: one per executor and kind.
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

    /// The kinds by group.
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

    /// The reasons for a verdict, with their kinds and executors.
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
