//! The publishing gate: what a page must not say without an explanation beside it.
//!
//! Numbers that contradict each other are not published. A violation that is understood
//! has an entry in `benches/explanations.toml`, and the page prints it with the numbers.
//! A precompiled variant is compared with code of the same binary by construction: all
//! cells of a [`Book`] belong to one run.

mod rules;
#[cfg(test)]
mod tests;

use crate::markdown::{Table, code, in_cell, markdown};
use crate::units;
use anyhow::Result;
use indexmap::IndexMap;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use touchstone_executor::Strategy;
use touchstone_record::files::FilePath;
use touchstone_record::{Book, CellKey, data};

/// A rule about single cells; these can be explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rule {
    /// Throughput on N threads is at most 1.05 × N times that on one.
    Scaling,
    /// A comparison and the times of its two cells differ by a factor of at most 1.3, within their
    /// intervals.
    Comparison,
    /// At least 1,000 calls stand behind a call below 20 µs.
    FewCalls,
    /// Every sample of a latency times calls for at least 20 µs.
    ShortSample,
    /// Every cell is measured in at least three processes.
    Processes,
    /// No engine makes a warm call faster than native code.
    Baseline,
}

impl Rule {
    /// The fault that its violations share.
    fn title(self) -> &'static str {
        match self {
            Self::Scaling => "scaling beyond the number of threads",
            Self::Comparison => "comparisons that contradict their cells",
            Self::FewCalls => "too few calls",
            Self::ShortSample => "samples that are too short",
            Self::Processes => "too few processes",
            Self::Baseline => "native code slower than an engine",
        }
    }
}

/// A broken rule of publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The cell (of a comparison, its subject's) and the rule; `None` where it is one about
    /// the whole run, which nothing explains.
    cell: Option<(CellKey, Rule)>,
    /// The value, without the cell, and the limit.
    found: (String, String),
    /// `true` if the intervals allow the limit. Then an explanation is optional.
    is_tie: bool,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (found, limit) = &self.found;
        let Some((cell, rule)) = &self.cell else { return write!(f, "{found}{limit}") };
        write!(f, "{found}: {}, {}", cell.executor(), cell.work())?;
        // Scaling says the number of threads itself.
        if cell.threads > 1 && *rule != Rule::Scaling {
            write!(f, " on {} threads", cell.threads)?;
        }
        write!(f, " ({limit})")
    }
}

/// Rules of publication are broken, and no draft is wanted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}; nothing was written", broken(reasons.len()))]
pub struct Closed {
    /// One line for each.
    pub reasons: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Gate {
    /// Broken rules without an explanation.
    violations: Vec<Violation>,
    /// Broken rules with their explanations.
    explained: Vec<(Violation, String)>,
    /// Explanations of cells that the run does not have. One of a cell may explain nothing, because
    /// a rule that is broken on one machine may hold on another.
    stale: Vec<Explanation>,
}

impl Gate {
    /// An error if a rule is broken without an explanation, or an explanation is stale.
    pub(crate) fn publish(&self) -> Result<(), Closed> {
        let violations = self.violations.iter().map(ToString::to_string);
        let stale = self.stale.iter().map(ToString::to_string);
        let reasons: Vec<String> = violations.chain(stale).collect();
        if reasons.is_empty() { Ok(()) } else { Err(Closed { reasons }) }
    }
}

/// Checks a run, and that of the peers, by the rules of publication. The first explanation that
/// fits a violation is its explanation.
pub(crate) fn check(book: &Book, peers: Option<&Book>, explanations: Vec<Explanation>) -> Gate {
    let mut gate = Gate::default();
    for violation in rules::violations(book, peers) {
        match explanations.iter().find(|explanation| explanation.fits(&violation)) {
            Some(explanation) => gate.explained.push((violation, explanation.text.clone())),
            None if violation.is_tie => {}
            None => gate.violations.push(violation),
        }
    }
    gate.stale = explanations;
    gate.stale.retain(|explanation| !book.cells.keys().any(|cell| explanation.is_of(cell)));
    gate
}

/// Lines of a list that stand on the page; the command prints them all.
const MOST: usize = 50;

/// Explained violations; cells with the same explanation share a row.
pub(crate) fn anomalies(gate: &Gate) -> String {
    let mut rows: IndexMap<&str, Vec<(String, String)>> = IndexMap::new();
    for (violation, explanation) in &gate.explained {
        if let (Some((cell, _)), (found, limit)) = (&violation.cell, &violation.found) {
            let found = markdown(&format!("{found} ({limit})"));
            rows.entry(explanation).or_default().push((code(cell.name(None)), found));
        }
    }
    if rows.is_empty() {
        let text = match gate.violations.len() {
            0 => "No number breaks a rule of publication.",
            _ => {
                "[Broken rules](#broken-rules) lists the numbers that break a rule of publication."
            }
        };
        return format!("{text}\n\n");
    }
    let mut table = Table::of_words("Cell", ["Found", "Explanation"]);
    for (explanation, cells) in rows {
        let (cell, found) = &cells[0];
        let more = match cells.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more of the same call"),
        };
        table.row(format!("{cell}{more}"), [found.clone(), in_cell(explanation)]);
    }
    format!(
        "These numbers break a rule of publication. They are published with the cause, as far as it \
         is known.\n\n{}",
        table.finish()
    )
}

/// So many rules are broken.
fn broken(number: usize) -> String {
    let verb = if number == 1 { "is" } else { "are" };
    format!("{} of publication {verb} broken", units::count(number, "rule"))
}

/// The line of a draft that links to its broken rules; nothing where the page may be published.
pub(crate) fn draft(gate: &Gate) -> String {
    match gate.violations.len() {
        0 => String::new(),
        rules => {
            format!("**Draft: {}**, [listed at the end](#broken-rules).\n\n", broken(rules))
        }
    }
}

/// The broken rules of a draft, folded, those of a kind together; nothing where the page may be
/// published.
pub(crate) fn broken_rules(gate: &Gate) -> String {
    let mut kinds: BTreeMap<Option<Rule>, Vec<String>> = BTreeMap::new();
    for violation in &gate.violations {
        let rule = violation.cell.as_ref().map(|(_, rule)| *rule);
        kinds.entry(rule).or_default().push(violation.to_string());
    }
    let mut text = String::new();
    for (rule, reasons) in kinds {
        let title = rule.map_or("the whole run", Rule::title);
        text += &format!("<details><summary>{title}: {}</summary>\n\n", reasons.len());
        text.extend(reasons.iter().take(MOST).map(|reason| format!("- {}\n", markdown(reason))));
        if reasons.len() > MOST {
            text += &format!("- and {} more\n", units::count(reasons.len() - MOST, "line"));
        }
        text += "\n</details>\n\n";
    }
    if text.is_empty() { text } else { format!("## Broken rules\n\n{text}") }
}

/// The cause of a broken rule, for the cells that match; what is left out matches all. They stand
/// in `benches/explanations.toml`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Explanation {
    pub(crate) rule: Rule,
    pub(crate) engine: String,
    pub(crate) strategy: Option<Strategy>,
    pub(crate) case: Option<String>,
    pub(crate) guest: Option<String>,
    pub(crate) threads: Option<usize>,
    /// The explanation, Markdown of one paragraph.
    #[serde(deserialize_with = "text")]
    pub(crate) text: String,
}

/// A text that says something, on one line.
fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() { Err(D::Error::custom("the explanation is empty")) } else { Ok(text) }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    explanation: Vec<Explanation>,
}

impl Explanation {
    /// Reads a file; none where there is no file. The message of an error has the line.
    pub(crate) fn load(place: impl Into<FilePath>) -> Result<Vec<Self>> {
        let place = place.into();
        if !place.exists() {
            return Ok(Vec::new());
        }
        Ok(data::read::<File>(place, "the file")?.explanation)
    }

    /// `true` if it explains a violation.
    pub(crate) fn fits(&self, violation: &Violation) -> bool {
        violation.cell.as_ref().is_some_and(|(cell, rule)| self.rule == *rule && self.is_of(cell))
    }

    fn is_of(&self, cell: &CellKey) -> bool {
        self.engine == cell.engine
            && self.strategy.is_none_or(|strategy| strategy == cell.strategy)
            && self.case.as_ref().is_none_or(|case| *case == cell.case)
            && self.guest.as_ref().is_none_or(|guest| *guest == cell.guest)
            && self.threads.is_none_or(|threads| threads == cell.threads)
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an explanation is of no cell of the run: ")?;
        self.rule.serialize(&mut *f)?;
        write!(f, ", {}", self.engine)?;
        if let Some(strategy) = self.strategy {
            write!(f, "_{strategy}")?;
        }
        for part in [&self.case, &self.guest].into_iter().flatten() {
            write!(f, ", {part}")?;
        }
        self.threads.map_or(Ok(()), |threads| write!(f, ", {threads} threads"))
    }
}
