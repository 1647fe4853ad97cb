//! What `make checks` found, part by part.

use super::matrix::Executor;
use crate::record::{Check, Finding, Header, Line, Loaded, Outcome};
use std::collections::BTreeSet;

/// The findings of each check, from the newest run that made it: a check can be run
/// without the others.
#[derive(Debug, Default)]
pub(super) struct Checks(Vec<Checked>);

/// One check in one run.
#[derive(Debug)]
pub(super) struct Checked {
    /// Where the findings come from.
    pub header: Header,
    /// What was found, in the order of the run.
    pub findings: Vec<Finding>,
}

impl Checks {
    /// Reads the findings of a file's runs.
    pub(super) fn of(loaded: Loaded) -> Self {
        let mut checks: Vec<Checked> = Vec::new();
        for (header, lines) in loaded.runs {
            let mut run: Vec<Checked> = Vec::new();
            for line in lines {
                let Line::Finding(finding) = line else { continue };
                match run.iter_mut().find(|checked| checked.check() == Some(finding.check)) {
                    Some(checked) => checked.findings.push(*finding),
                    None => {
                        run.push(Checked { header: header.clone(), findings: vec![*finding] });
                    }
                }
            }
            checks.retain(|old| run.iter().all(|new| new.check() != old.check()));
            checks.extend(run);
        }
        Self(checks)
    }

    /// The newest run of a check; `None` where there is none.
    pub(super) fn get(&self, check: Check) -> Option<&Checked> {
        self.0.iter().find(|checked| checked.check() == Some(check))
    }

    /// The kinds of state that an executor's calls leak; none where nothing was found.
    pub(super) fn leaks(&self, executor: &Executor) -> Vec<&str> {
        let findings = self.get(Check::Isolation).into_iter().flat_map(|all| &all.findings);
        let leaks = findings.filter(|finding| {
            finding.counts.get(&Outcome::Failed).is_some_and(|failed| *failed > 0)
                && finding.engine == executor.engine
                && finding.strategy.is_none_or(|strategy| strategy == executor.strategy)
        });
        leaks.map(|finding| finding.name.as_str()).collect()
    }
}

impl Checked {
    fn check(&self) -> Option<Check> {
        self.findings.first().map(|finding| finding.check)
    }

    /// How many tries came out so, over all findings that are `wanted`.
    pub(super) fn count(&self, outcome: Outcome, wanted: impl Fn(&Finding) -> bool) -> u64 {
        let own = self.findings.iter().filter(|finding| wanted(finding));
        own.filter_map(|finding| finding.counts.get(&outcome)).sum()
    }

    /// What was checked, in the order of the run.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for finding in &self.findings {
            if !names.contains(&finding.name.as_str()) {
                names.push(&finding.name);
            }
        }
        names
    }

    /// The engines that took part, in alphabetical order.
    pub(super) fn engines(&self) -> BTreeSet<&str> {
        let engines = self.findings.iter().map(|finding| finding.engine.as_str());
        engines.filter(|engine| !engine.is_empty()).collect()
    }
}
