//! The findings of `make checks`, check by check.

use super::matrix::Executor;
use super::units::joined;
use indexmap::IndexSet;
use std::collections::BTreeSet;
use touchstone_record::{Book, Check, Finding, Header, Loaded, Outcome};

/// The findings of each check, from the newest run that made it: a check can be run
/// without the others.
#[derive(Debug, Default)]
pub(super) struct Checks(Vec<Book>);

/// One check in one run.
#[derive(Debug)]
pub(super) struct Checked<'a> {
    pub header: &'a Header,
    pub findings: Vec<&'a Finding>,
}

impl Checks {
    /// Reads the findings of a file's runs.
    pub(super) fn of(loaded: Loaded) -> Self {
        let newest_first = loaded.runs.into_iter().rev();
        Self(newest_first.map(|(header, lines)| Book::of(header, lines)).collect())
    }

    /// The newest run of a check; `None` where there is none.
    pub(super) fn get(&self, check: Check) -> Option<Checked<'_>> {
        let book = self.0.iter().find(|book| book.findings(check).next().is_some())?;
        Some(Checked { header: &book.header, findings: book.findings(check).collect() })
    }

    /// The kinds of state that an executor's calls leak; empty where nothing was found.
    pub(super) fn leaks(&self, executor: &Executor) -> String {
        let findings = self.get(Check::Isolation).into_iter().flat_map(|checked| checked.findings);
        let leaks = findings.filter(|finding| {
            finding.number(Outcome::Failed) > 0
                && finding.engine == executor.engine
                && finding.strategy.is_none_or(|strategy| strategy == executor.strategy)
        });
        joined(leaks.map(|finding| &finding.name), ", ")
    }
}

impl<'a> Checked<'a> {
    /// How many tries came out so, over all findings that are `wanted`.
    pub(super) fn count(&self, outcome: Outcome, wanted: impl Fn(&Finding) -> bool) -> u64 {
        let own = self.findings.iter().filter(|finding| wanted(finding));
        own.map(|finding| finding.number(outcome)).sum()
    }

    /// The names of what was checked, in the order of the run.
    pub(super) fn names(&self) -> IndexSet<&'a str> {
        self.findings.iter().map(|finding| finding.name.as_str()).collect()
    }

    /// The engines that took part, in alphabetical order.
    pub(super) fn engines(&self) -> BTreeSet<&'a str> {
        let engines = self.findings.iter().map(|finding| finding.engine.as_str());
        engines.filter(|engine| !engine.is_empty()).collect()
    }
}
