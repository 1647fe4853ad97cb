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
mod found;
mod guests;
mod large;
mod malformed;
mod watch;

pub use attack::{Attack, Class, Job, attacks, jobs};
pub use child::attack_in_this_process;
pub use watch::{Limits, Watch};

pub use found::{AttackSaid, EngineSaid, Finding, Hostile, Verdict};

use serde::{Deserialize, Serialize};
use touchstone_executor::Strategy;

/// How one attack ended on one strategy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    strategy: Strategy,
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
    Begin { job: usize, strategy: Strategy, unstoppable: bool },
    /// What is done now.
    Phase(Phase),
    /// It ended.
    End { job: usize, ended: Ended },
    /// It is not made: the strategy is unsupported for the guest.
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
