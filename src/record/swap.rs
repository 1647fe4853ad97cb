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
        /// Per message by kind, which is without swaps.
        per_sorted_message: Interval,
        /// Per swap: what the random order took longer, over the changes it had more.
        per_swap: Interval,
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
