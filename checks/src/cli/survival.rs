//! `touchstone-checks survival`.

use super::store::Keep;
use anyhow::{Result, bail};
use std::num::NonZeroUsize;
use std::process::Command;
use touchstone::plan::{Filter, near_name};
use touchstone::record::Check;
use touchstone::supervise::this_program;
use touchstone::terminal::{Progress, Style, Table, complain, print};
use touchstone_checks::survival::{self, Plan, ROUNDS, SEED};

/// Kills runs at random moments, fills their disk, starts a second run on their records, and
/// checks that no finished cell is lost.
///
/// The runs use an engine without a runtime, in separate processes, with record files in a
/// temporary folder.
#[derive(Debug, clap::Args)]
pub(super) struct Survival {
    /// Run only scenarios whose name this regular expression matches
    filter: Option<String>,
    #[command(flatten)]
    keep: Keep,
    /// Kill N runs of each kind
    #[arg(long, value_name = "N", default_value_t = ROUNDS)]
    rounds: NonZeroUsize,
    /// Use this seed for the random moments
    #[arg(long, value_name = "N", default_value_t = SEED)]
    seed: u64,
}

pub(super) fn command(job: &str) -> Result<Command> {
    Ok(this_program(&["survivor", job]))
}

impl Survival {
    pub(super) fn execute(self) -> Result<bool> {
        self.keep.ensure_possible()?;
        let filter = Filter::new(self.filter.as_deref())?;
        let names = survival::names();
        let chosen = names.iter().filter(|name| filter.matches(name)).count();
        if let (Some(text), 0) = (&self.filter, chosen) {
            bail!("nothing matches '{text}'{}", near_name(text, &names));
        }
        let progress = Progress::new(chosen, true);
        let plan = Plan {
            rounds: self.rounds.get(),
            seed: self.seed,
            command: &command,
            progress: &|name| progress.next(name),
        };
        let found = survival::check(&plan, |name| filter.matches(name))?;
        drop(progress);
        print(&table(&found))?;
        for scenario in &found.scenarios {
            for problem in &scenario.problems {
                complain(&format!("{}: {problem}", scenario.name));
            }
        }
        let held = found.held();
        self.keep.keep(Check::Survival, found.seed, found.findings())?;
        Ok(held)
    }
}

fn table(found: &survival::Survival) -> String {
    let style = Style::of_stdout();
    let head = ["rounds", "cells finished", "lost", "cut lines", "", "what happens to a run"];
    let mut table = Table::new(&head).right(&[0, 1, 2, 3]);
    for scenario in &found.scenarios {
        table.row([
            scenario.rounds.to_string(),
            scenario.finished.to_string(),
            scenario.lost.to_string(),
            scenario.half_lines.to_string(),
            if scenario.held() { style.good("held") } else { style.bad("broken") },
            scenario.name.clone(),
        ]);
    }
    table.render(style)
}
