//! Hostile guests, and the state of the host afterwards.
//!
//! Attacks are exports of a small guest, or modules. A child process attacks one engine and reports
//! how each attack ended (`child`). The parent limits its time and memory, and replaces a child
//! that an attack ended (`watch`). An attack is held if three conditions are met: each hostile call
//! ends as required, the next calls on the same instance and on another guest are right, and memory
//! does not grow when the attack is repeated.

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

pub use found::{Finding, Hostile, Verdict};

use serde::{Deserialize, Serialize};
use touchstone_executor::Strategy;

/// The end of an attack on a strategy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    strategy: Strategy,
    verdict: Verdict,
    how: Vec<String>,
}

/// The message to the child.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    engine: String,
    filter: Option<String>,
    /// Number of the first attack.
    from: usize,
}

/// A message of the child.
#[derive(Debug, Serialize, Deserialize)]
enum Line {
    /// The child is ready.
    Ready,
    /// An attack begins. `unstoppable`: only the end of the process stops it.
    Begin {
        job: usize,
        strategy: Strategy,
        unstoppable: bool,
    },
    /// Compiling, which no runtime can stop, begins or has ended.
    Compiling(bool),
    End {
        job: usize,
        ended: Ended,
    },
    /// Left out: no strategy of the class supports the guest.
    Without {
        job: usize,
    },
}
