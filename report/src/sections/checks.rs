//! Correctness and robustness: what `make checks` found.

use super::source;
use crate::checks::{Checked, Checks};
use crate::markdown::{NOTHING, Table, details};
use crate::units::{count, grouped};
use indexmap::{IndexMap, IndexSet};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use touchstone_record::escape::{code, markdown};
use touchstone_record::{Check, Finding, Outcome, without_offset};

/// Outcomes with mark, name and explanation, the one that decides a table's cell first.
const MARKS: [(Outcome, &str, &str, &str); 7] = [
    (Outcome::Failed, "✗", "failed", ""),
    (Outcome::Unproven, "?", "unproven", ": the check could not show that it would have noticed"),
    (Outcome::HeldByEnding, "◐", "held only by ending the process", ""),
    (Outcome::Held, "✓", "held", ""),
    (Outcome::Exempt, "○", "cannot be seen by the rules of the language", ""),
    (Outcome::NotDriven, "·", "not driven by the harness", ""),
    (Outcome::Refused, "–", "refused by the executor", ""),
];

/// The section of a check; nothing where it was not run.
pub(crate) fn section(checks: &Checks, check: Check) -> String {
    let print = |checked: Checked<'_>| match check {
        Check::Conformance => conformance(&checked),
        Check::Features => features(&checked),
        Check::Isolation => isolation(&checked),
        Check::Hostile => hostile(&checked),
        Check::Survival => survival(&checked),
    };
    checks.get(check).map_or_else(String::new, print)
}

fn conformance(checked: &Checked) -> String {
    let engines = checked.engines();
    let heading = |engine: &&str| {
        let version = checked.header.engines.get(*engine).map(|facts| markdown(&facts.version));
        format!("{}<br>{}", code(engine), version.unwrap_or_default())
    };
    let mut table = Table::new("Scripts", engines.iter().map(heading));
    for name in checked.names() {
        table.row(markdown(name), engines.iter().map(|engine| tally(checked, name, engine)));
    }
    format!(
        "## Conformance\n\nAssertions of the WebAssembly specification's test scripts: passed of those that an engine ran. \
         Below them stand those that need a feature that the engine or the harness refuses. Editions and proposals contain the scripts of earlier \
         ones, so an assertion may count in several rows. Found on {}.\n\n{}{}{}",
        source(checked.header),
        table.finish(),
        causes(checked, Outcome::Failed, "Failed"),
        details(
            "Refused and not driven, by cause",
            &[(Outcome::Refused, "Refused"), (Outcome::NotDriven, "Not driven")]
                .map(|(outcome, heading)| causes(checked, outcome, heading))
                .concat()
        ),
    )
}

/// Passed of driven, and what was refused.
fn tally(checked: &Checked, name: &str, engine: &str) -> String {
    let number = |outcome| {
        checked.count(outcome, |finding| finding.name == name && finding.engine == engine)
    };
    let (held, failed) = (number(Outcome::Held), number(Outcome::Failed));
    let driven = match held + failed {
        0 => NOTHING.to_owned(),
        driven if failed > 0 => format!("**{held}**/{driven}"),
        driven => format!("{held}/{driven}"),
    };
    match number(Outcome::Refused) {
        0 => driven,
        refused => format!("{driven}<br>{refused} refused"),
    }
}

/// The causes of an outcome, each with how often it occurred on which engines and with an
/// example. Empty where no finding names one.
fn causes(checked: &Checked, outcome: Outcome, heading: &str) -> String {
    let mut causes: BTreeMap<&str, (BTreeMap<&str, u64>, &str)> = BTreeMap::new();
    for finding in &checked.findings {
        let number = finding.number(outcome);
        // Where several outcomes share a finding, the cause is not that of one of them.
        let cause = finding.cause.as_deref().or((outcome == Outcome::Failed).then_some("unknown"));
        // Records of older runs name the place.
        if let (Some(cause), 1..) = (cause.map(without_offset), number) {
            let example = finding.evidence.first().map_or("", String::as_str);
            let (engines, _) = causes.entry(cause).or_insert((BTreeMap::new(), example));
            *engines.entry(&finding.engine).or_default() += number;
        }
    }
    let mut table = Table::of_words(heading, ["Engines", "Example"]);
    for (cause, (engines, example)) in causes {
        let engines: Vec<String> =
            engines.iter().map(|(engine, number)| format!("{} {number}", code(engine))).collect();
        table.row(markdown(cause), [engines.join(", "), markdown(example)]);
    }
    table.finish()
}

fn features(checked: &Checked) -> String {
    format!(
        "## Features\n\nFeatures of WebAssembly that an engine runs here, probed with a small \
         module for each. An engine refuses a module that needs another feature, and names it. \
         Probed on {}.\n\n{}{}{}",
        source(checked.header),
        exceptions(checked),
        marks(checked, "Feature"),
        details(
            "Refused and not driven, by reason",
            &all_reasons(checked, &[Outcome::Refused, Outcome::NotDriven])
        ),
    )
}

fn isolation(checked: &Checked) -> String {
    let executors: BTreeSet<_> =
        checked.findings.iter().map(|finding| (&finding.engine, finding.strategy)).collect();
    let leaks = checked.count(Outcome::Failed, |_| true);
    let tries = leaks + checked.count(Outcome::Held, |_| true);
    let leaks = if leaks == 0 { "No leak".to_owned() } else { count(leaks, "leak") };
    format!(
        "## Isolation\n\nDoes a call see state that the call before it left? Planted guests look at {} of state after calls that changed them. They look on the same \
         instance and thread and on others, after calls that returned, trapped or were stopped. **{leaks} \
         in {} checks** of {}, on {}.\n\n{}{}{}",
        count(checked.names().len(), "kind"),
        grouped(tries),
        count(executors.len(), "executor"),
        source(checked.header),
        exceptions(checked),
        marks(checked, "Kind of state"),
        details(
            "Refused and exempt, by reason",
            &all_reasons(checked, &[Outcome::Refused, Outcome::Exempt, Outcome::NotDriven])
        ),
    )
}

fn hostile(checked: &Checked) -> String {
    let tries = |outcome| checked.count(outcome, |_| true);
    format!(
        "## Hostile guests\n\nAttacks of malicious guests on the host: {} on an engine's strategy held, {} only by \
         ending the process that they ran in, {} failed. Held means: a clear error or trap within the attack's time limit. The next calls of \
         this instance and of another guest are right. Repeated attacks leave no memory behind. Found on {}.\n\n{}{}{}",
        count(tries(Outcome::Held), "attack"),
        tries(Outcome::HeldByEnding),
        tries(Outcome::Failed),
        source(checked.header),
        exceptions(checked),
        marks(checked, "Attack"),
        details("What stops each attack", &reasons(checked, Outcome::Held)),
    )
}

fn survival(checked: &Checked) -> String {
    let mut table = Table::of_words("Event", ["Rounds held", "Failed", "What the user is told"]);
    for finding in &checked.findings {
        let failed = match finding.number(Outcome::Failed) {
            0 => "0".to_owned(),
            failed => format!("**{failed}**"),
        };
        let said: Vec<String> = finding.evidence.iter().map(|said| markdown(said)).collect();
        let held = finding.number(Outcome::Held).to_string();
        table.row(markdown(&finding.name), [held, failed, said.join("<br>")]);
    }
    format!(
        "## Survival\n\nRuns that are killed, run out of disk or lose an engine's process, \
         and are then resumed. A round is held when every cell that the run reported as finished \
         is in the record file afterwards, whole and once. Found on {}.\n\n{}",
        source(checked.header),
        table.finish()
    )
}

/// A row for each thing that was checked, a column for each engine: the worst outcome over
/// its strategies.
fn marks(checked: &Checked, what: &str) -> String {
    let engines = checked.engines();
    let mut table = Table::of_words(what, engines.iter().map(code));
    let mut used = BTreeSet::new();
    for name in checked.names() {
        let cells = engines.iter().map(|engine| {
            let is_own = |finding: &Finding| finding.name == name && finding.engine == *engine;
            let has =
                |(outcome, ..): &&(Outcome, &str, &str, &str)| checked.count(*outcome, is_own) > 0;
            let worst = MARKS.iter().find(has);
            used.extend(worst.map(|(outcome, ..)| *outcome));
            worst.map_or(" ", |(_, mark, ..)| mark).to_owned()
        });
        table.row(code(name), cells);
    }
    let legend: Vec<String> = MARKS
        .iter()
        .filter(|(outcome, ..)| used.contains(outcome))
        .map(|(_, mark, name, more)| format!("{mark} {name}{more}"))
        .collect();
    format!("{}{} (the worst over an engine's strategies).\n\n", table.finish(), legend.join("; "))
}

/// Every finding that is not as it has to be, those alike in one line.
fn exceptions(checked: &Checked) -> String {
    let text = all_reasons(checked, &[Outcome::Failed, Outcome::Unproven, Outcome::HeldByEnding]);
    if text.is_empty() { text } else { text + "\n" }
}

fn all_reasons(checked: &Checked, outcomes: &[Outcome]) -> String {
    outcomes.iter().map(|outcome| reasons(checked, *outcome)).collect()
}

/// The reasons of an outcome, each with its engines and what was checked.
fn reasons(checked: &Checked, outcome: Outcome) -> String {
    type Alike<'a> = (BTreeMap<&'a str, BTreeSet<String>>, IndexSet<String>);
    let mut reasons: IndexMap<String, Alike<'_>> = IndexMap::new();
    for finding in checked.findings.iter().filter(|finding| finding.number(outcome) > 0) {
        let (engines, names) = reasons.entry(reason(finding)).or_default();
        let strategies = engines.entry(&finding.engine).or_default();
        strategies.extend(finding.strategy.map(code));
        names.insert(code(&finding.name));
    }
    let word = MARKS.iter().find(|(known, ..)| *known == outcome).map_or("", |mark| mark.2);
    let mut text = String::new();
    for (reason, (engines, names)) in reasons {
        let engine = |(engine, own): (&str, BTreeSet<String>)| match own.len() {
            0 => code(engine),
            1..=3 => format!("{} ({})", code(engine), Vec::from_iter(own).join(", ")),
            several => format!("{} ({several} strategies)", code(engine)),
        };
        let engines: Vec<String> = engines.into_iter().map(engine).collect();
        let (engines, names) = (engines.join(", "), Vec::from_iter(names).join(", "));
        let _ = writeln!(text, "- **{word}**: {names} on {engines}: {}", markdown(&reason));
    }
    text
}

/// Why a finding came out as it did: the cause, or what was seen.
fn reason(finding: &Finding) -> String {
    match &finding.cause {
        Some(cause) => cause.clone(),
        None if finding.evidence.is_empty() => "no reason recorded".to_owned(),
        None => finding.evidence.join("; "),
    }
}
