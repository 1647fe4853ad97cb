//! `touchstone trust hostile`, and the process that makes its attacks.

use super::Keep;
use crate::cli::Ended;
use crate::cli::output::{Style, Table, print};
use crate::cli::progress::Progress;
use anyhow::{Context, Result, bail};
use std::process::Command;
use std::sync::Arc;
use touchstone::matrix::Filter;
use touchstone::trust::hostile::{
    Hostile as Findings, Job, Limits, Verdict, Watch, attack_in_this_process, jobs,
};
use touchstone_executor::{Engine, Execution};

/// Runs guests that mean harm on every engine that runs modules: loops without an end,
/// bombs of memory, tables and code, exhausted stacks, wrong pointers, malformed modules,
/// tampered artifacts.
///
/// The attacks are made in processes of their own. An attack is held when a clear error
/// or trap stops it within its limit, the next call on the same instance and another
/// guest's call on the same engine are right, and memory does not grow when it is made
/// again.
#[derive(Debug, clap::Args)]
pub(crate) struct Hostile {
    /// Regular expression over `<attack>/<engine>`
    filter: Option<String>,
    #[command(flatten)]
    keep: Keep,
}

/// Makes the attacks on one engine that another process of this command watches.
#[derive(Debug, clap::Args)]
pub(crate) struct HostileGuests;

impl HostileGuests {
    pub(crate) fn execute(self) -> Result<Ended> {
        attack_in_this_process(&touchstone_runtimes::engines())?;
        Ok(Ended::Well)
    }
}

impl Hostile {
    pub(crate) fn execute(self) -> Result<Ended> {
        let filter = Filter::new(self.filter.as_deref());
        let engines: Vec<Arc<dyn Engine>> = touchstone_runtimes::engines()
            .into_iter()
            .filter(|engine| engine.execution() != Execution::Native)
            .collect();
        let all: usize = engines.iter().map(|engine| jobs(engine.id(), &filter).len()).sum();
        if all == 0 {
            bail!("the filter means no attack on an engine of this build");
        }
        let progress = Progress::new(all, true);
        let mut watch = Watch::new(self.filter.as_deref(), Limits::default());
        for engine in &engines {
            let command = || {
                let program = std::env::current_exe().context("cannot find this program")?;
                let mut command = Command::new(program);
                command.arg("hostile-guests");
                Ok(command)
            };
            let tell = |job: &Job| {
                progress.next(format!("{}/{}", job.attack.name, engine.id()));
            };
            watch.attack(engine.id(), command, tell)?;
        }
        drop(progress);
        let found = watch.found();
        print(&text(&found))?;
        let failed = found.counts()[2];
        self.keep.keep(found)?;
        Ok(if failed == 0 { Ended::Well } else { Ended::Badly })
    }
}

fn text(found: &Findings) -> String {
    let style = Style::of_stdout();
    let mut head = vec!["attack"];
    head.extend(found.engines.iter().map(|engine| engine.id.as_str()));
    let mut table = Table::new(&head);
    for attack in &found.attacks {
        let marks = found.engines.iter().map(|engine| {
            found.worst(&attack.name, &engine.id).map_or("-", Verdict::short).to_owned()
        });
        table.row(std::iter::once(attack.name.clone()).chain(marks));
    }
    let mut text = table.render(style);
    text.push('\n');
    let mut table = Table::new(&["attack", "engine", "verdict", "strategies", "how"]);
    for finding in &found.findings {
        table.row([
            finding.attack.clone(),
            finding.engine.clone(),
            finding.verdict.words().to_owned(),
            finding.strategies.join(", "),
            finding.how.join("; "),
        ]);
    }
    text += &table.render(style);
    let [held, in_child, failed] = found.counts();
    text += &format!("{held} held, {in_child} held in a child, {failed} failed\n");
    text
}
