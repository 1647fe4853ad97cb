//! What `touchstone swap` leaves behind.

use super::{Interval, Provenance};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Messages of two kinds in random order, each kind answered by a module of its own,
/// on one engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SwapRecord {
    /// Engine, e.g. `wasmtime`.
    pub engine: String,
    /// How the right module comes to hand, e.g. `load_artifact`.
    pub rung: String,
    /// Strategy of the instances, e.g. `recreate_instance_cow`.
    pub strategy: String,
    /// Version of the linked runtime, as it says itself.
    pub runtime_version: String,
    /// SHA-256 of the guests' files, hexadecimal, by their names.
    pub guests: BTreeMap<String, String>,
    /// Where the record comes from.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Resident memory of the process before, KiB; of a soak, where the process is warm.
    pub rss_before_kib: u64,
    /// And after; of a ladder, what was added during this rung's own passes.
    pub rss_after_kib: u64,
    /// What was found.
    pub found: SwapFound,
}

/// What was found, by what was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwapFound {
    /// The rungs of the engine were timed in turns.
    Ladder {
        /// Messages of a round, on each of the two orders.
        messages: u64,
        /// Changes of kind on the random order, all rounds together.
        changes: u64,
        /// Per message in random order.
        per_message: Interval,
        /// Per message by kind, which is with one swap in all of them.
        per_sorted_message: Interval,
        /// Per swap: what the random order took longer, over the changes it had more.
        per_swap: Interval,
        /// A message that comes with a swap: what is left of one by kind when the one
        /// change is taken out of it, and a swap.
        per_message_with_swap: Interval,
        /// The rounds.
        rounds: Vec<SwapRound>,
    },
    /// Threads kept calling while another one replaced the module.
    UnderLoad {
        /// Threads that called.
        threads: u64,
        /// Times that the module was replaced.
        replacements: u64,
        /// Instances that callers took of a new module, all callers together.
        instances_taken: u64,
        /// Calls that failed, trapped or could get no instance.
        failed: u64,
        /// Calls with another output than the expected one.
        wrong: u64,
        /// Time of a message while modules were replaced.
        swapping: SwapTail,
        /// The same for as long, while none was.
        still: SwapTail,
    },
    /// One rung swapped for long.
    Soak {
        /// Resident memory on the way; the first point is where the process is warm.
        points: Vec<SoakPoint>,
    },
}

/// A rung in one round of a ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapRound {
    /// Time of the messages in random order, ns.
    pub random_ns: u64,
    /// Changes of kind among them.
    pub random_changes: u64,
    /// Time of the same messages by kind, ns.
    pub sorted_ns: u64,
    /// The change among them, or none.
    pub sorted_changes: u64,
}

impl SwapRound {
    /// ns per swap: what the random order took longer, over the changes that it had
    /// more; not a number where it had none.
    #[must_use]
    pub fn per_swap(&self) -> f64 {
        let more = self.random_changes as f64 - self.sorted_changes as f64;
        let longer = self.random_ns as f64 - self.sorted_ns as f64;
        if more > 0.0 { longer / more } else { f64::NAN }
    }

    /// ns of one of so many messages that comes with a swap.
    #[must_use]
    pub fn per_message_with_swap(&self, messages: usize) -> f64 {
        let swap = self.per_swap();
        let alone = self.sorted_ns as f64 - self.sorted_changes as f64 * swap;
        alone / messages as f64 + swap
    }
}

/// Percentiles of a time, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SwapTail {
    /// Messages.
    pub calls: u64,
    /// Half of them took at most this.
    pub p50_ns: u64,
    /// 99 of 100 took at most this.
    pub p99_ns: u64,
    /// 999 of 1000 took at most this.
    pub p999_ns: u64,
    /// The slowest.
    pub max_ns: u64,
}

/// The memory after so many swaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoakPoint {
    /// Swaps so far.
    pub swaps: u64,
    /// Resident memory of the process, KiB.
    pub resident_kib: u64,
}

impl SwapRecord {
    /// The name as filters take it.
    #[must_use]
    pub fn id(&self) -> String {
        let id = format!("{}/{}/{}", super::SWAP, self.engine, self.rung);
        match self.found {
            SwapFound::Soak { .. } => format!("{id}/soak"),
            _ => id,
        }
    }

    /// What the resident memory grew by, KiB.
    #[must_use]
    pub fn growth_kib(&self) -> i64 {
        self.rss_after_kib.cast_signed() - self.rss_before_kib.cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_and_a_message_with_one_come_out_of_both_orders() {
        // Ten messages of 3 ns, a swap of 50 ns: five of them, and one.
        let round =
            SwapRound { random_ns: 280, random_changes: 5, sorted_ns: 80, sorted_changes: 1 };
        assert_eq!((round.per_swap(), round.per_message_with_swap(10)), (50.0, 53.0));
        let none = SwapRound { random_changes: 1, ..round };
        assert!(none.per_swap().is_nan());
    }
}
