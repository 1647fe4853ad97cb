//! `touchstone trust conformance`.

use super::Keep;
use crate::cli::Ended;
use crate::cli::output::{Style, Table, print};
use crate::cli::progress::Progress;
use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use std::process::Command;
use std::sync::Arc;
use touchstone::matrix::Filter;
use touchstone::trust::conformance::known::{self, Known};
use touchstone::trust::conformance::run::{Limits, Order, failures, run, take_steps};
use touchstone::trust::conformance::suite::{Source, sources};
use touchstone::trust::conformance::{Conformance as Found, OnEngine};
use touchstone_executor::{Engine, Execution};

/// Drives the test scripts of the WebAssembly specification through every engine that
/// runs modules.
///
/// Without --store, nothing is written.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Conformance {
    /// Regular expression over `<engine>/<group>/<script>`
    filter: Option<String>,
    #[command(flatten)]
    keep: Keep,
}

/// Takes the steps of scripts that another process of this command counts.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Scripts {
    engine: String,
    filter: Option<String>,
    /// The script to begin with
    #[arg(long, default_value_t = 0)]
    first: usize,
    /// Steps of it not to take
    #[arg(long)]
    skip: Vec<usize>,
}

impl Scripts {
    pub(in crate::cli) fn execute(self) -> Result<Ended> {
        let engine = engines().into_iter().find(|engine| engine.id() == self.engine);
        let engine = engine.with_context(|| format!("there is no engine '{}'", self.engine))?;
        let sources = meant(&*engine, &Filter::new(self.filter.as_deref()));
        let order = Order { first: self.first, skip: self.skip.into_iter().collect() };
        take_steps(&*engine, &sources, &order, &mut std::io::stdout().lock())?;
        Ok(Ended::Well)
    }
}

impl Conformance {
    pub(in crate::cli) fn execute(self) -> Result<Ended> {
        let filter = Filter::new(self.filter.as_deref());
        let mut found = Found::default();
        for source in sources() {
            let name = source.group.name;
            if found.groups.last().is_none_or(|last| last != name) {
                found.groups.push(name.to_owned());
            }
        }
        let jobs: Vec<_> = engines()
            .into_iter()
            .map(|engine| (meant(&*engine, &filter), engine))
            .filter(|(sources, _)| !sources.is_empty())
            .collect();
        if jobs.is_empty() {
            bail!("the filter means no script on any engine");
        }
        let progress = Progress::new(jobs.iter().map(|(sources, _)| sources.len()).sum(), true);
        // Each has processes of its own.
        found.engines = jobs
            .par_iter()
            .map(|(sources, engine)| {
                let caller = |order: &Order| {
                    let program = std::env::current_exe().context("cannot find this program")?;
                    let mut command = Command::new(program);
                    command.arg("scripts").arg(format!("--first={}", order.first));
                    command.args(order.skip.iter().map(|step| format!("--skip={step}")));
                    command.arg("--").arg(engine.id()).args(&self.filter);
                    Ok(command)
                };
                let told =
                    |source: &Source| progress.next(format!("{} {}", engine.id(), source.id()));
                run(&**engine, sources, Limits::default(), caller, told)
                    .with_context(|| format!("on {}", engine.id()))
            })
            .collect::<Result<_>>()?;
        drop(progress);
        let unexplained = Known::load(&known::default_path())?.explain(&mut found);
        print(&words(&found))?;
        self.keep.keep(found)?;
        Ok(if unexplained == 0 { Ended::Well } else { Ended::Badly })
    }
}

/// Engines that run modules.
fn engines() -> Vec<Arc<dyn Engine>> {
    let mut engines = touchstone_runtimes::engines();
    engines.retain(|engine| engine.execution() != Execution::Native);
    engines
}

fn meant(engine: &dyn Engine, filter: &Filter) -> Vec<Source> {
    let mut sources = sources();
    sources.retain(|source| filter.matches(&format!("{}/{}", engine.id(), source.id())));
    sources
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
                let mut reasons: Vec<_> = reasons.iter().collect();
                reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
                let mut table = Table::new(&[]).right(&[0]).indented(2);
                for (reason, count) in reasons {
                    table.row([count.to_string(), reason.clone()]);
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
    ("unsupported", |one| one.total().unsupported),
    ("not driven", |one| one.total().not_driven),
    ("modules", |one| one.modules),
];
