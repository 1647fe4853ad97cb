//! `touchstone-checks conformance`.

use super::store::Keep;
use anyhow::{Context, Result, ensure};
use rayon::prelude::*;
use std::collections::BTreeMap;
use touchstone::plan::Filter;
use touchstone::record::Check;
use touchstone::supervise::this_program;
use touchstone::terminal::{Progress, Style, Table, print};
use touchstone_checks::conformance::known::Known;
use touchstone_checks::conformance::run::{meant, run};
use touchstone_checks::conformance::suite::{Source, sources};
use touchstone_checks::conformance::{Conformance as Found, OnEngine, failures};
use touchstone_checks::engines;

/// Runs the test scripts of the WebAssembly specification on every engine that runs modules.
///
/// Writes nothing without --store.
#[derive(Debug, clap::Args)]
pub(super) struct Conformance {
    /// Run only scripts whose name, `<engine>/<group>/<script>`, this regular expression matches
    filter: Option<String>,
    #[command(flatten)]
    keep: Keep,
}

impl Conformance {
    pub(super) fn execute(self) -> Result<bool> {
        self.keep.ensure_possible()?;
        let filter = self.filter.as_deref();
        let pattern = Filter::new(filter)?;
        let groups = sources().into_iter().map(|source| source.group.name.to_owned());
        let mut found = Found { groups: groups.collect(), engines: Vec::new() };
        found.groups.dedup();
        let jobs: Vec<_> = engines()
            .into_iter()
            .map(|engine| (meant(&*engine, &pattern).len(), engine))
            .filter(|(scripts, _)| *scripts > 0)
            .collect();
        ensure!(
            !jobs.is_empty(),
            "the filter matches no script; names are <engine>/<group>/<script>"
        );
        let progress = Progress::new(jobs.iter().map(|(scripts, _)| scripts).sum(), true);
        // Each engine has its own processes.
        found.engines = jobs
            .par_iter()
            .map(|(_, engine)| {
                let told =
                    |source: &Source| progress.next(format!("{} {}", engine.id(), source.id()));
                run(&**engine, filter, || Ok(this_program(&["steps"])), told)
                    .with_context(|| format!("on {}", engine.id()))
            })
            .collect::<Result<_>>()?;
        drop(progress);
        let unexplained = Known::of_project()?.explain(&mut found);
        print(&words(&found))?;
        self.keep.keep(Check::Conformance, 0, found.findings())?;
        Ok(unexplained == 0)
    }
}

fn words(found: &Found) -> String {
    let style = Style::of_stdout();
    let mut head = vec!["group"];
    head.extend(found.engines.iter().map(|one| one.engine.as_str()));
    let columns: Vec<usize> = (1..head.len()).collect();
    let mut table = Table::new(&head).right(&columns);
    for group in &found.groups {
        let cells: Vec<_> = found.engines.iter().map(|one| one.groups.get(group)).collect();
        if cells.iter().all(Option::is_none) {
            continue;
        }
        let mut row = vec![group.clone()];
        row.extend(cells.into_iter().map(|tally| match tally {
            Some(tally) => format!("{}/{}", tally.passed, tally.driven()),
            None => "-".to_owned(),
        }));
        table.row(row);
    }
    for (name, number) in TOTALS {
        let mut row = vec![name.to_owned()];
        row.extend(found.engines.iter().map(|one| number(one).to_string()));
        table.row(row);
    }
    let mut text = table.render(style);
    for one in &found.engines {
        if let Some(limit) = &one.limit {
            text += &format!("\n{}: {limit}\n", one.engine);
        }
        for (what, reasons) in [("unsupported", &one.unsupported), ("not driven", &one.not_driven)]
        {
            if !reasons.is_empty() {
                text += &format!("\n{} {what}\n", one.engine);
                let mut all: BTreeMap<&str, u64> = BTreeMap::new();
                for ((_, reason), count) in reasons {
                    *all.entry(reason).or_default() += count;
                }
                let mut all: Vec<_> = all.into_iter().collect();
                all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
                let mut table = Table::new(&[]).right(&[0]).indented(2);
                for (reason, count) in all {
                    table.row([count.to_string(), reason.to_owned()]);
                }
                text += &table.render(style);
            }
        }
    }
    let failures = failures(&found.engines);
    if !failures.is_empty() {
        text += &format!("\n{}\n", style.bad("failures"));
        let mut table = Table::new(&[]).indented(2);
        for (failure, engines) in failures {
            let why = failure.why.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
            table.row([failure.at.clone(), engines.join(", "), format!("{}{why}", failure.what)]);
        }
        text += &table.render(style);
    }
    text
}

type Number = fn(&OnEngine) -> u64;

const TOTALS: [(&str, Number); 7] = [
    ("driven", |one| one.total().driven()),
    ("passed", |one| one.total().passed),
    ("failed", |one| one.total().failed),
    ("refused by the harness", |one| one.total().refused),
    ("unsupported", |one| one.unsupported.values().sum()),
    ("not driven", |one| one.not_driven.values().sum()),
    ("modules", |one| one.modules),
];
