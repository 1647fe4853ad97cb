//! Counts of a run.

use std::collections::BTreeMap;
use std::fmt;

/// Numbers of finished and omitted modules, with reasons.
#[derive(Debug, Default, Clone)]
pub(crate) struct Tally {
    /// Modules that at least one engine ran.
    pub(crate) modules: u64,
    /// Sequences of calls that were compared with brand-new instances.
    pub(crate) sequences: u64,
    /// Calls in them, readers included.
    pub(crate) calls: u64,
    /// Steps compared between engines.
    pub(crate) across: u64,
    /// Why something was left out, and how often.
    pub(crate) refused: BTreeMap<String, u64>,
}

impl Tally {
    pub(crate) fn refuse(&mut self, who: impl fmt::Display, reason: &str) {
        let reason = general(reason);
        *self.refused.entry(format!("{who}: {reason}")).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.modules += other.modules;
        self.sequences += other.sequences;
        self.calls += other.calls;
        self.across += other.across;
        for (reason, count) in other.refused {
            *self.refused.entry(reason).or_default() += count;
        }
    }
}

/// A reason without what differs from module to module: words with numbers in
/// them, and what follows the first hundred letters.
fn general(reason: &str) -> String {
    let line: String = reason.lines().next().unwrap_or_default().chars().take(100).collect();
    let word = |word| if str::contains(word, |c: char| c.is_ascii_digit()) { "#" } else { word };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} modules, {} sequences with {} calls compared with brand-new instances, {} steps \
             compared between engines",
            self.modules, self.sequences, self.calls, self.across
        )
    }
}
