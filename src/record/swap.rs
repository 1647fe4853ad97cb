//! Modules that are replaced under load, and memory over many swaps.

use serde::{Deserialize, Serialize};

/// What a swap left behind beside its times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Swap {
    /// The executor of the instances.
    #[serde(flatten)]
    pub executor: super::Executor,
    /// The way to swap: `load_artifact`, …
    pub method: String,
    /// What was found.
    pub found: SwapFound,
}

/// What was found, by what was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwapFound {
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
        /// Time of a message while modules are replaced.
        swapping: Tail,
        /// The same for as long, while none is.
        still: Tail,
    },
    /// One way to swap, again and again.
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
    /// Half of the calls took no longer.
    pub p50_ns: u64,
    /// 99 of 100.
    pub p99_ns: u64,
    /// 999 of 1000.
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
