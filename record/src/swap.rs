//! Records of swaps under load, and of memory over many swaps.

use serde::{Deserialize, Serialize};

/// A finding about swaps that is not a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Swap {
    /// The executor of the instances.
    #[serde(flatten)]
    pub executor: super::Executor,
    /// The swap method: `load_artifact`, …
    pub method: String,
    /// What was found.
    pub found: SwapFound,
}

/// The finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwapFound {
    /// Threads called while another thread replaced the module.
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
        /// Time of a message while modules are replaced.
        swapping: Tail,
        /// The same for as long, without replacements.
        still: Tail,
    },
    /// One method, for many swaps.
    Soak {
        /// Resident memory of the process after so many swaps.
        points: Vec<SoakPoint>,
    },
}

/// Quantiles of the time of a message, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tail {
    /// Calls.
    pub calls: u64,
    /// Median.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// Resident memory after some swaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoakPoint {
    /// Swaps so far.
    pub swaps: u64,
    /// Resident memory of the process, KiB.
    pub rss_kib: u64,
}
