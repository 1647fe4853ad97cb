//! Hostile guests: what stops each of them, and what is left of the host afterwards.
//!
//! An attack is planted in a small guest, or is a module that is one itself. A child
//! process of this program makes the attacks on one engine, one after the other, and says
//! how each ended (`child`); this process watches its time and its memory, kills it where
//! it has to, and starts another one after the attack that ended it (`watch`). An attack
//! is held when each hostile call ends as it has to, the next call on the same instance and
//! a call on another guest of the engine are right, and memory does not grow when the same
//! is done again.

mod artifacts;
mod attack;
mod bench;
mod blob;
mod calls;
mod child;
mod guests;
mod large;
mod malformed;
mod watch;

pub use attack::{Attack, Class, Job, attacks, jobs};
pub use child::attack_in_this_process;
pub use watch::{Limits, Watch};

use super::Findings;
use serde::{Deserialize, Serialize};

/// What hostile guests did to the engines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hostile {
    /// The attacks, in the order of the table.
    pub attacks: Vec<AttackSaid>,
    /// The engines, in the order of the table.
    pub engines: Vec<EngineSaid>,
    /// What was found, attack by attack and engine by engine.
    pub findings: Vec<Finding>,
}

impl Findings for Hostile {
    const NAME: &'static str = "hostile";
}

/// An attack, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttackSaid {
    /// Its name.
    pub name: String,
    /// What the guest does.
    pub about: String,
    /// Seconds that it may take with all its rounds.
    pub limit_s: u64,
}

/// An engine that was attacked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineSaid {
    /// Its name.
    pub id: String,
    /// Version of its runtime.
    pub version: String,
    /// Why no call on it can be stopped; `None` where one can.
    pub no_deadline: Option<String>,
}

/// How an attack on an engine ended, on strategies on which it ended in the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The attack.
    pub attack: String,
    /// The engine.
    pub engine: String,
    /// The strategies.
    pub strategies: Vec<String>,
    /// Whether it was held.
    pub verdict: Verdict,
    /// What stopped it, or what failed.
    pub how: Vec<String>,
}

/// Whether an attack was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// By the engine or its adapter, within the process of the host.
    Held,
    /// Only by ending the process that it ran in.
    HeldInChild,
    /// It was not.
    Failed,
}

impl Verdict {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::HeldInChild => "held, in a child",
            Self::Failed => "FAILED",
        }
    }

    /// In a word, for tables.
    #[must_use]
    pub const fn short(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::HeldInChild => "child",
            Self::Failed => "FAILED",
        }
    }
}

impl Hostile {
    /// The worst that an attack did to an engine; `None` where it was not made.
    #[must_use]
    pub fn worst(&self, attack: &str, engine: &str) -> Option<Verdict> {
        self.of(attack, engine).map(|finding| finding.verdict).max()
    }

    /// All that was found of an attack on an engine.
    pub fn of<'a>(&'a self, attack: &'a str, engine: &'a str) -> impl Iterator<Item = &'a Finding> {
        self.findings.iter().filter(move |found| found.attack == attack && found.engine == engine)
    }

    /// How many findings of each verdict there are: held, held in a child, failed. Each
    /// strategy counts.
    #[must_use]
    pub fn counts(&self) -> [usize; 3] {
        [Verdict::Held, Verdict::HeldInChild, Verdict::Failed].map(|verdict| {
            let found = self.findings.iter().filter(|finding| finding.verdict == verdict);
            found.map(|finding| finding.strategies.len()).sum()
        })
    }

    /// Adds what an attack came to on one strategy.
    fn add(&mut self, job: &Job, engine: &str, ended: Ended) {
        let Ended { strategy, verdict, how } = ended;
        let attack = job.attack.name;
        let same = self.findings.iter_mut().find(|found| {
            found.attack == attack
                && found.engine == engine
                && found.verdict == verdict
                && found.how == how
        });
        match same {
            Some(found) => found.strategies.push(strategy),
            None => self.findings.push(Finding {
                attack: attack.to_owned(),
                engine: engine.to_owned(),
                strategies: vec![strategy],
                verdict,
                how,
            }),
        }
    }
}

/// How one attack ended on one strategy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    strategy: String,
    verdict: Verdict,
    how: Vec<String>,
}

/// What a process that makes attacks is told.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    /// The engine.
    engine: String,
    /// Which attacks.
    filter: Option<String>,
    /// The number of the attack to begin with.
    from: usize,
}

/// What a process that makes attacks says.
#[derive(Debug, Serialize, Deserialize)]
enum Line {
    /// The first one.
    Engine(EngineSaid),
    /// An attack begins: its number, the strategy, and whether nothing but the end of
    /// the process can stop it.
    Begin { job: usize, strategy: String, unstoppable: bool },
    /// What is done now.
    Phase(Phase),
    /// It ended.
    End { job: usize, ended: Ended },
    /// It is not made: the strategy cannot be had for the guest.
    Without { job: usize },
}

/// What is done with a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Phase {
    /// It is compiled, which no runtime can be stopped in.
    Compile,
    /// Anything else.
    Other,
}
