//! `touchstone-checks features`.

use super::store::Keep;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use touchstone::plan::Filter;
use touchstone::record::{Check, Finding, Outcome};
use touchstone::run::watch_for_ctrl_c;
use touchstone::supervise::{Stop, this_program};
use touchstone::terminal::{Progress, Style, Table, print};
use touchstone_checks::features::probe_in_process;
use touchstone_executor::Feature;

/// Checks which features of WebAssembly each engine runs, by a small module for each feature.
///
/// Each probe runs in a process of its own. Exits with 1 when a probe crashes, an engine claims a
/// feature and its answer is wrong, or runs one that it does not claim.
#[derive(Debug, clap::Args)]
pub(super) struct Features {
    /// Check only engines whose name this regular expression matches
    filter: Option<String>,
    #[command(flatten)]
    keep: Keep,
}

impl Features {
    pub(super) fn execute(self) -> Result<bool> {
        self.keep.ensure_possible()?;
        let filter = Filter::new(self.filter.as_deref())?;
        let engines = filter
            .select("no engine", touchstone_checks::engines(), |engine| engine.id().to_owned())?;
        let progress = Progress::new(Feature::ALL.len() * engines.len(), true);
        let stop = Stop::default();
        watch_for_ctrl_c(&stop, false)?;
        let mut findings = Vec::new();
        for feature in Feature::ALL {
            for engine in &engines {
                progress.next(format!("{feature} on {}", engine.id()));
                let found =
                    probe_in_process(&**engine, feature, this_program(&["feature"]), &stop)?;
                findings.push(found.context("stopped before all features were probed")?);
            }
        }
        drop(progress);
        print(&text(&findings))?;
        let failed = findings.iter().any(|finding| finding.number(Outcome::Failed) > 0);
        self.keep.keep(Check::Features, 0, findings)?;
        Ok(!failed)
    }
}

fn text(findings: &[Finding]) -> String {
    let engines: BTreeSet<_> = findings.iter().map(|finding| finding.engine.as_str()).collect();
    let mut head = vec!["feature"];
    head.extend(&engines);
    let mut table = Table::new(&head);
    let mut reasons = String::new();
    for row in findings.chunk_by(|one, next| one.name == next.name) {
        let of = |engine: &&str| row.iter().find(|finding| finding.engine == *engine);
        let marks = engines.iter().map(|engine| of(engine).map_or("", mark).to_owned());
        table.row(std::iter::once(row[0].name.clone()).chain(marks));
        for finding in row.iter().filter(|finding| finding.number(Outcome::Failed) > 0) {
            let why = finding.evidence.join("; ");
            reasons += &format!("failed: {} on {}: {why}\n", finding.name, finding.engine);
        }
    }
    table.render(Style::of_stdout()) + &reasons
}

fn mark(finding: &Finding) -> &'static str {
    let has = |outcome| finding.number(outcome) > 0;
    match () {
        () if has(Outcome::Failed) => "failed",
        () if has(Outcome::Held) => "yes",
        () if has(Outcome::NotDriven) => "not driven",
        () => "no",
    }
}
