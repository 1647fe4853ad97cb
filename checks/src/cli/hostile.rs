//! `touchstone-checks hostile`.

use super::store::Keep;
use anyhow::{Result, ensure};
use touchstone::plan::Filter;
use touchstone::record::Check;
use touchstone::supervise::this_program;
use touchstone::terminal::{Progress, Style, Table, print};
use touchstone_checks::conformance::known::Known;
use touchstone_checks::engines;
use touchstone_checks::hostile::{Hostile as Findings, Job, Limits, Verdict, Watch, jobs};
use touchstone_executor::Strategy;

/// Runs hostile guests on every engine that runs modules: endless loops, memory, table and code
/// bombs, exhausted stacks, wrong pointers, malformed modules, tampered artifacts.
///
/// Each engine is attacked in a separate process. An attack is held if three conditions are met:
/// a clear error or trap stops it within its limit, the next calls on the same instance and of
/// another guest are right, and memory does not grow when the attack is repeated.
#[derive(Debug, clap::Args)]
pub(super) struct Hostile {
    /// Run only attacks whose name, `<attack>/<engine>`, this regular expression matches
    filter: Option<String>,
    #[command(flatten)]
    keep: Keep,
}

impl Hostile {
    pub(super) fn execute(self) -> Result<bool> {
        self.keep.ensure_possible()?;
        let filter = self.filter.as_deref();
        let pattern = Filter::new(filter)?;
        let jobs = |engine: &str| jobs(engine, &pattern).len();
        let all: usize = engines().iter().map(|engine| jobs(engine.id())).sum();
        ensure!(all > 0, "the filter matches no attack; names are <attack>/<engine>");
        let progress = Progress::new(all, true);
        let mut watch = Watch::new(filter, Limits::default());
        for engine in engines() {
            let tell = |job: &Job| progress.next(format!("{}/{}", job.attack.name, engine.id()));
            watch.attack(engine.id(), || Ok(this_program(&["attacks"])), tell)?;
        }
        drop(progress);
        let mut found = watch.found();
        let unexplained = found.explain(&Known::of_project()?);
        print(&text(&found))?;
        self.keep.keep(Check::Hostile, 0, found.findings())?;
        Ok(unexplained == 0)
    }
}

fn text(found: &Findings) -> String {
    let style = Style::of_stdout();
    let mut head = vec!["attack"];
    head.extend(found.engines.iter().map(String::as_str));
    let mut table = Table::new(&head);
    for attack in &found.attacks {
        let marks = found
            .engines
            .iter()
            .map(|engine| found.worst(attack, engine).map_or("-", Verdict::short).to_owned());
        table.row(std::iter::once((*attack).to_owned()).chain(marks));
    }
    let mut text = table.render(style);
    text.push('\n');
    let mut table = Table::new(&["attack", "engine", "verdict", "strategies", "how"]);
    for finding in &found.findings {
        table.row([
            finding.attack.clone(),
            finding.engine.clone(),
            finding.verdict.words().to_owned(),
            Vec::from_iter(finding.strategies.iter().map(Strategy::to_string)).join(", "),
            Vec::from_iter(finding.how.iter().chain(&finding.cause).map(String::as_str)).join("; "),
        ]);
    }
    text += &table.render(style);
    let [held, in_child, failed] = found.counts();
    text += &format!("{held} held, {in_child} held in a child, {failed} failed\n");
    text
}
