//! `touchstone-checks isolation`.

use super::store::Keep;
use anyhow::Result;
use touchstone::record::Check;
use touchstone::terminal::{Progress, Style, Table, print};
use touchstone_checks::conformance::known::Known;
use touchstone_checks::isolation::{Isolation as Findings, Reason, Tally, Verdict, find, jobs};

/// Checks whether a call can see state of the call before. Guests change every kind of state and
/// look for the change in the next call.
///
/// If the machine has 32 MiB of free swap space, guests' memories are also swapped out between a
/// call and its reset.
///
/// Exits with 1 when state leaks or a call failed without a known cause.
#[derive(Debug, clap::Args)]
pub(super) struct Isolation {
    /// Check only names, `<executor>/<kind of state>`, that this regular expression matches
    filter: Option<String>,
    #[command(flatten)]
    keep: Keep,
}

impl Isolation {
    pub(super) fn execute(self) -> Result<bool> {
        self.keep.ensure_possible()?;
        let jobs = jobs(&touchstone_runtimes::engines(), self.filter.as_deref())?;
        let progress = Progress::new(jobs.len(), true);
        let mut findings = find(&jobs, |job| progress.next(job.name()))?;
        drop(progress);
        let unexplained = findings.explain(&Known::of_project()?);
        print(&text(&findings))?;
        self.keep.keep(Check::Isolation, 0, findings.findings())?;
        Ok(unexplained == 0)
    }
}

fn text(findings: &Findings) -> String {
    let style = Style::of_stdout();
    let groups = findings.groups();
    let mut head = vec!["engine"];
    head.extend(groups.iter().map(|group| group.name));
    head.push("strategies");
    let mut table = Table::new(&head);
    for engine in &findings.engines {
        for row in &engine.rows {
            let marks = groups.iter().map(|group| group.marks(row));
            let first = std::iter::once(engine.engine.clone());
            table.row(first.chain(marks).chain([row.names().join(", ")]));
        }
    }
    let mut text = table.render(style);
    for verdict in
        [Verdict::Leaks, Verdict::Failed, Verdict::Unproven, Verdict::Refused, Verdict::Absent]
    {
        let mut notes = String::new();
        for Reason { reason, cause, kinds, executors } in findings.reasons(verdict) {
            // The table names refused kinds itself.
            let by = match verdict {
                Verdict::Refused | Verdict::Absent => format!("{} executors", executors.len()),
                _ => Vec::from_iter(executors).join(", "),
            };
            let kinds = Vec::from_iter(kinds).join(", ");
            let cause = cause.map(|cause| format!("    known: {cause}\n")).unwrap_or_default();
            notes += &format!("  {reason}\n{cause}    {kinds}\n    {by}\n");
        }
        if !notes.is_empty() {
            text += &format!("{} {}\n{notes}", verdict.mark(), verdict.what());
        }
    }
    let swapped = match findings.swapped {
        Some(pages) => format!("{pages} pages were swapped out before a reset\n"),
        None => "left out: swapping memories out before a reset, which needs 32 MiB of free swap \
                 space\n"
            .to_owned(),
    };
    text + &sentence(findings.tally(), style) + &swapped
}

fn sentence(tally: Tally, style: Style) -> String {
    let Tally { executors, cells, leaks, unproven, refused, absent, failed, checks } = tally;
    let found = format!("{leaks} leaks");
    let found = if leaks == 0 { style.good(&found) } else { style.bad(&found) };
    format!(
        "{found} among {checks} checks: {executors} executors, {cells} pairs of executor and kind \
         of state ({unproven} unproven); {refused} more refused, {absent} absent, {failed} failed\n"
    )
}
