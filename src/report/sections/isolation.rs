//! Which calls see what of the ones before.

use crate::record::findings::isolation::{EngineFound, Group, Isolation, Reason, Row, Verdict};
use crate::report::markdown::{Footnotes, Table, code, details, escape};
use crate::report::trust::Trust;
use crate::report::units::{count, grouped};
use std::fmt::Write;

/// Nothing where nothing was stored.
pub(in crate::report) fn section(trust: &Trust) -> String {
    let Some(found) = &trust.isolation else { return String::new() };
    let isolation = &found.findings;
    let mut text = format!("## Isolation\n\n{}", summary(isolation));
    text += &list(isolation, Verdict::Leaks, "Leaks");
    text += &list(isolation, Verdict::Failed, "Failed");
    let groups = isolation.groups();
    let mut headings = vec!["Executors"];
    headings.extend(groups.iter().map(|group| group.name));
    let mut table = Table::of_words(&headings);
    let mut notes = Footnotes::default();
    for engine in &isolation.engines {
        for row in &engine.rows {
            let mut cells = vec![names(engine, row)];
            cells.extend(groups.iter().map(|group| marks(group, row, &mut notes)));
            table.row(&cells);
        }
    }
    text += &table.finish();
    text += &legend(isolation);
    let (kinds, notes) = (kinds(&groups), notes.finish());
    if !notes.is_empty() {
        text += &details("The reasons behind the marks", &notes);
    }
    text += &details("The kinds of state, column by column", &kinds);
    let _ = write!(
        text,
        "Found by `touchstone trust isolation --store` on Linux {} ({}).\n\n",
        escape(&found.machine.kernel),
        escape(&found.machine.cpu)
    );
    text
}

fn summary(isolation: &Isolation) -> String {
    let tally = isolation.tally();
    let leaks = match tally.leaks {
        0 => "No leak".to_owned(),
        leaks => count(leaks, "leak"),
    };
    let mut text = format!(
        "Does a call see anything of the one before? Planted guests look at {} of state after \
         calls that changed them: on the same instance and on others, on the same thread and on \
         others, after calls that returned, trapped or were stopped. **{leaks} among {} checks**, \
         of {}.",
        count(isolation.kinds.len(), "kind"),
        grouped(tally.checks),
        count(tally.executors, "executor"),
    );
    if tally.unproven == 0 {
        text += " Each change was seen by a second call on an instance that was not made clean, so \
                 that the next one could have seen it, too; only what was in a frame before, or how much \
                 of a stack was used, no call can see by the language's rules.";
    }
    text + "\n\n"
}

/// What has to be read, whatever the table looks like.
fn list(isolation: &Isolation, verdict: Verdict, heading: &str) -> String {
    let mut text = String::new();
    for Reason { reason, kinds, executors } in isolation.reasons(verdict) {
        let executors: Vec<String> = executors.iter().map(|name| code(name)).collect();
        let kinds: Vec<String> = kinds.into_iter().map(code).collect();
        let (executors, kinds) = (executors.join(", "), kinds.join(", "));
        let _ = writeln!(text, "- **{heading}**: {executors}, {kinds}: {}", escape(reason));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// The executors of a row, each leak beside their names.
fn names(engine: &EngineFound, row: &Row) -> String {
    let strategies: Vec<String> = row.names().iter().map(|strategy| code(strategy)).collect();
    let baseline = if engine.baseline { " (baseline: code of the host's own process)" } else { "" };
    let leaks: Vec<&str> = row.leaks().map(|(kind, _)| kind).collect();
    let leaks = match leaks.is_empty() {
        true => String::new(),
        false => format!("<br>**† leaks: {}**", escape(&leaks.join(", "))),
    };
    format!("**{}**{baseline}: {}{leaks}", escape(&engine.engine), strategies.join(", "))
}

/// A mark for each kind of a group, or one if they are all the same.
fn marks(group: &Group<'_>, row: &Row, notes: &mut Footnotes) -> String {
    let mut marks: Vec<String> = group
        .kinds
        .iter()
        .map(|kind| match row.others.get(&kind.name) {
            None => Verdict::Clean.mark().to_owned(),
            Some(other) => format!("{}{}", other.verdict.mark(), notes.mark(&other.reason)),
        })
        .collect();
    if marks.iter().all(|mark| *mark == marks[0]) {
        marks.truncate(1);
    }
    marks.concat()
}

/// The marks that the table has.
fn legend(isolation: &Isolation) -> String {
    let tally = isolation.tally();
    let has = |verdict: &Verdict| match verdict {
        Verdict::Clean => true,
        Verdict::Unproven => tally.unproven > 0,
        Verdict::Leaks => tally.leaks > 0,
        Verdict::Refused => tally.refused > 0,
        Verdict::Absent => tally.absent > 0,
        Verdict::Failed => tally.failed > 0,
    };
    let all = [
        Verdict::Clean,
        Verdict::Unproven,
        Verdict::Leaks,
        Verdict::Refused,
        Verdict::Absent,
        Verdict::Failed,
    ];
    let words: Vec<String> = all
        .into_iter()
        .filter(has)
        .map(|verdict| format!("{} {}", verdict.mark(), verdict.what()))
        .collect();
    format!("{}. One mark stands for all kinds of a column that share it.\n\n", words.join("; "))
}

fn kinds(groups: &[Group<'_>]) -> String {
    let mut table = Table::of_words(&["Column", "Kinds, in the order of the marks"]);
    for group in groups {
        let kinds: Vec<String> = group
            .kinds
            .iter()
            .map(|kind| format!("{}: {}", code(&kind.name), escape(&kind.what)))
            .collect();
        table.row(&[escape(group.name), kinds.join("<br>")]);
    }
    table.finish()
}
