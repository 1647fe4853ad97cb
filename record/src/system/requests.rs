//! A host over HTTP under load.

use crate::Tail;
use crate::named::named;
use serde::{Deserialize, Serialize};

/// A round of a host over HTTP under load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Requests {
    /// The case whose call a request makes.
    pub case: String,
    /// Its guest.
    pub guest: String,
    /// How calls find their instance.
    pub state: InstanceState,
    /// Number of the round, from 0. In a round all executors have their turn.
    pub round: u32,
    /// Requests a second in closed loops, their median.
    pub capacity: f64,
    /// Open loops, each at a share of the capacity.
    pub loads: Vec<Load>,
    /// Open loops of clean instances at a share of the capacity with used ones.
    pub beside: Vec<Load>,
}

named! {
    /// How a call finds its instance.
    pub enum InstanceState {
        /// As the call before left it, for comparison.
        Used,
        /// As a new one.
        Clean,
    }
}

/// An open loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Share of the capacity, percent.
    pub percent: u32,
    /// Planned requests a second.
    pub offered: f64,
    /// Answered requests a second, until the last answer.
    pub completed: f64,
    /// Requests that were not answered in time.
    pub unanswered: u64,
    /// Answers that were wrong.
    pub wrong: u64,
    /// Time from the planned time of a request to its answer.
    pub latency: Tail,
    /// Processor time of the host's process for a request, ns.
    pub cpu_ns: f64,
    /// Resident memory of the host's process afterwards, KiB.
    pub rss_kib: u64,
}

/// Share of the offered requests that a host answers which is not saturated.
const KEPT_UP: f64 = 0.97;

impl Load {
    /// The share of the capacity at which rows are held against each other, percent.
    pub const COMPARED: u32 = 80;

    /// The median time, ns.
    #[must_use]
    pub fn p50(&self) -> f64 {
        self.latency.p50_ns as f64
    }

    /// The 99th percentile, ns.
    #[must_use]
    pub fn p99(&self) -> f64 {
        self.latency.p99_ns as f64
    }

    /// The 99.9th percentile, ns.
    #[must_use]
    pub fn p999(&self) -> f64 {
        self.latency.p999_ns as f64
    }

    /// Whether the host did not keep up.
    #[must_use]
    pub fn is_saturated(&self) -> bool {
        self.unanswered > 0 || self.completed < self.offered * KEPT_UP
    }
}
