//! Correctness and robustness: what `make checks` found.

use super::source;
use crate::markdown::{NOTHING, Table, code, details, markdown};
use crate::units::{count, grouped, joined};
use indexmap::{IndexMap, IndexSet};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use touchstone_record::{Book, Check, Executor, Finding, Header, Loaded, Outcome, without_offset};

/// Outcomes with mark, name and explanation, the one that decides a table's cell first.
const MARKS: [(Outcome, &str, &str, &str); 7] = [
    (Outcome::Failed, "✗", "failed", ""),
    (Outcome::Unproven, "?", "unproven", ": the check could not show that it would have noticed"),
    (Outcome::HeldByEnding, "◐", "held by ending the process", ""),
    (Outcome::Held, "✓", "held", ""),
    (Outcome::Exempt, "○", "cannot be seen by the rules of the language", ""),
    (Outcome::NotDriven, "·", "not driven by the harness", ""),
    (Outcome::Refused, "–", "refused by the executor", ""),
];

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
    for (name, found) in checked.rows() {
        table.row(markdown(name), found.iter().map(|found| tally(found)));
    }
    let others = causes(checked, Outcome::Refused, "Refused")
        + &causes(checked, Outcome::NotDriven, "Not driven");
    format!(
        "## Conformance\n\nAssertions of the WebAssembly specification's test scripts: passed of \
         those that an engine ran. Below them stand those that need a feature that the engine or \
         the harness refuses. Editions and proposals contain the scripts of earlier ones, so an \
         assertion may count in several rows. Found on {}.\n\n{}{}{}",
        source(checked.header),
        table.finish(),
        causes(checked, Outcome::Failed, "Failed"),
        details("Refused and not driven, by cause", &others),
    )
}

/// Passed of driven, and what was refused.
fn tally(found: &[&Finding]) -> String {
    let number = |outcome| found.iter().map(|finding| finding.number(outcome)).sum::<u64>();
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
        let engines = engines.iter().map(|(engine, number)| format!("{} {number}", code(engine)));
        table.row(markdown(cause), [joined(engines, ", "), markdown(example)]);
    }
    table.finish()
}

fn features(checked: &Checked) -> String {
    let text = format!(
        "## Features\n\nFeatures of WebAssembly that an engine runs here, probed with a small \
         module for each. An engine refuses a module that needs another feature, and names it. \
         Probed on {}.",
        source(checked.header)
    );
    let others = ("Refused and not driven, by reason", &[Outcome::Refused, Outcome::NotDriven][..]);
    grid(checked, &text, "Feature", others)
}

fn isolation(checked: &Checked) -> String {
    let executors: BTreeSet<_> =
        checked.findings.iter().map(|finding| (&finding.engine, finding.strategy)).collect();
    let leaks = checked.count(Outcome::Failed, |_| true);
    let tries = leaks + checked.count(Outcome::Held, |_| true);
    let leaks = if leaks == 0 { "No leak".to_owned() } else { count(leaks, "leak") };
    let text = format!(
        "## Isolation\n\nDoes a call see state that the call before it left? Planted guests look \
         at {} of state after calls that changed them. They look on the same instance and thread \
         and on others, after calls that returned, trapped or were stopped. **{leaks} in {} \
         checks** of {}, on {}.",
        count(checked.names().len(), "kind"),
        grouped(tries),
        count(executors.len(), "executor"),
        source(checked.header)
    );
    let others = [Outcome::Refused, Outcome::Exempt, Outcome::NotDriven];
    grid(checked, &text, "Kind of state", ("Refused and exempt, by reason", &others))
}

fn hostile(checked: &Checked) -> String {
    let tries = |outcome| checked.count(outcome, |_| true);
    let text = format!(
        "## Hostile guests\n\nAttacks of malicious guests on the host: {} on an engine's strategy \
         held, {} only by ending the process that they ran in, {} failed. Held means: a clear error \
         or trap within the attack's time limit. The next calls of this instance and of another \
         guest are right. Repeated attacks leave no memory behind. Found on {}.",
        count(tries(Outcome::Held), "attack"),
        tries(Outcome::HeldByEnding),
        tries(Outcome::Failed),
        source(checked.header)
    );
    grid(checked, &text, "Attack", ("What stops each attack", &[Outcome::Held]))
}

/// A text, every finding that is not as it has to be, the [`marks`], and the reasons of some other
/// outcomes below a heading.
fn grid(checked: &Checked, text: &str, what: &str, others: (&str, &[Outcome])) -> String {
    let wrong = [Outcome::Failed, Outcome::Unproven, Outcome::HeldByEnding];
    let wrong = reasons(checked, &wrong);
    let gap = if wrong.is_empty() { "" } else { "\n" };
    let (heading, outcomes) = others;
    let others = details(heading, &reasons(checked, outcomes));
    format!("{text}\n\n{wrong}{gap}{}{others}", marks(checked, what))
}

fn survival(checked: &Checked) -> String {
    let mut table = Table::of_words("Event", ["Rounds held", "Failed", "What the user is told"]);
    for finding in &checked.findings {
        let failed = match finding.number(Outcome::Failed) {
            0 => "0".to_owned(),
            failed => format!("**{failed}**"),
        };
        let said = joined(finding.evidence.iter().map(|said| markdown(said)), "<br>");
        let held = finding.number(Outcome::Held).to_string();
        table.row(markdown(&finding.name), [held, failed, said]);
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
    for (name, found) in checked.rows() {
        let cells = found.iter().map(|found| {
            let has = |outcome| found.iter().any(|finding| finding.number(outcome) > 0);
            let worst = MARKS.iter().find(|(outcome, ..)| has(*outcome));
            used.extend(worst.map(|(outcome, ..)| *outcome));
            worst.map_or(" ", |(_, mark, ..)| mark).to_owned()
        });
        table.row(code(name), cells);
    }
    let legend = MARKS.iter().filter(|(outcome, ..)| used.contains(outcome));
    let legend = legend.map(|(_, mark, name, more)| format!("{mark} {name}{more}"));
    let (table, legend) = (table.finish(), joined(legend, "; "));
    format!("{table}{legend} (the worst over an engine's strategies).\n\n")
}

/// The reasons of some outcomes, each with what was checked and its engines. An engine's strategies
/// are named where others came out in another way.
fn reasons(checked: &Checked, outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    let mut tried: HashMap<(&str, &str), usize> = HashMap::new();
    for finding in &checked.findings {
        *tried.entry((&finding.engine, &finding.name)).or_default() += 1;
    }
    let all = checked.engines().len();
    for outcome in outcomes {
        let mut reasons: IndexMap<String, BTreeMap<&str, Alike<'_>>> = IndexMap::new();
        for finding in checked.findings.iter().filter(|finding| finding.number(*outcome) > 0) {
            let engines = reasons.entry(reason(finding)).or_default();
            let alike = engines.entry(&finding.engine).or_default();
            alike.findings += 1;
            alike.strategies.extend(finding.strategy.map(code));
            alike.names.insert(&finding.name);
        }
        let word = MARKS.iter().find(|(known, ..)| known == outcome).map_or("", |mark| mark.2);
        for (reason, engines) in reasons {
            let is_whole = |engine: &str, alike: &Alike<'_>| {
                alike.findings
                    == alike.names.iter().map(|name| tried[&(engine, *name)]).sum::<usize>()
            };
            let print = |(engine, alike): (&&str, &Alike<'_>)| match alike.strategies.len() {
                0 => code(engine),
                _ if is_whole(engine, alike) => code(engine),
                1..=3 => format!("{} ({})", code(engine), joined(&alike.strategies, ", ")),
                several => format!("{} ({several} strategies)", code(engine)),
            };
            let mut own = engines.iter();
            let first = engines.values().next().map(|alike| &alike.names);
            let is_everywhere = all > 1
                && engines.len() == all
                && own.all(|(engine, own)| Some(&own.names) == first && is_whole(engine, own));
            let place = match is_everywhere {
                true => "every engine".to_owned(),
                false => joined(engines.iter().map(print), ", "),
            };
            let names: IndexSet<_> = engines.values().flat_map(|alike| &alike.names).collect();
            let (names, reason) = (joined(names.into_iter().map(code), ", "), markdown(&reason));
            text += &format!("- **{word}**: {names} on {place}: {reason}\n");
        }
    }
    text
}

/// Findings of one engine with the same outcome and reason.
#[derive(Default)]
struct Alike<'a> {
    findings: usize,
    strategies: BTreeSet<String>,
    names: IndexSet<&'a str>,
}

/// Why a finding came out as it did: the cause, or what was seen.
fn reason(finding: &Finding) -> String {
    match &finding.cause {
        Some(cause) => cause.clone(),
        None if finding.evidence.is_empty() => "no reason recorded".to_owned(),
        None => finding.evidence.join("; "),
    }
}

/// The findings of each check, from the newest run that made it: a check can be run
/// without the others.
#[derive(Debug, Default)]
pub(crate) struct Checks(Vec<Book>);

/// One check in one run.
pub(crate) struct Checked<'a> {
    pub header: &'a Header,
    pub findings: Vec<&'a Finding>,
}

impl Checks {
    pub(crate) fn of(loaded: Loaded) -> Self {
        let newest_first = loaded.runs.into_iter().rev();
        Self(newest_first.map(|(header, lines)| Book::of(header, lines)).collect())
    }

    /// The newest run of a check; `None` where there is none.
    pub(crate) fn get(&self, check: Check) -> Option<Checked<'_>> {
        let book = self.0.iter().find(|book| book.findings(check).next().is_some())?;
        Some(Checked { header: &book.header, findings: book.findings(check).collect() })
    }

    /// The kinds of state that an executor's calls leak; empty where nothing was found.
    pub(crate) fn leaks(&self, executor: &Executor) -> String {
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
    pub(crate) fn count(&self, outcome: Outcome, wanted: impl Fn(&Finding) -> bool) -> u64 {
        self.findings.iter().filter(|own| wanted(own)).map(|own| own.number(outcome)).sum()
    }

    /// Each name with its findings on each engine.
    fn rows(&self) -> impl Iterator<Item = (&'a str, Vec<Vec<&'a Finding>>)> {
        let mut all: HashMap<_, Vec<_>> = HashMap::new();
        for finding in &self.findings {
            all.entry((&*finding.name, &*finding.engine)).or_default().push(*finding);
        }
        let engines = self.engines();
        self.names().into_iter().map(move |name| {
            let found = engines.iter().map(|engine| all.remove(&(name, *engine)));
            (name, found.map(Option::unwrap_or_default).collect())
        })
    }

    /// The names of what was checked, in the order of the run.
    pub(crate) fn names(&self) -> IndexSet<&'a str> {
        self.findings.iter().map(|finding| finding.name.as_str()).collect()
    }

    /// The engines that took part, in alphabetical order.
    pub(crate) fn engines(&self) -> BTreeSet<&'a str> {
        let engines = self.findings.iter().map(|finding| finding.engine.as_str());
        engines.filter(|engine| !engine.is_empty()).collect()
    }
}
