//! Records of many live instances in one process.

use super::{Executor, Tail};
use serde::{Deserialize, Serialize};

/// So many live instances of an executor in one process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Density {
    /// The executor.
    #[serde(flatten)]
    pub executor: Executor,
    /// The case whose call is made.
    pub case: String,
    /// The guest.
    pub guest: String,
    /// Live instances.
    pub instances: u64,
    /// The process with the module loaded, before the first instance.
    pub before: Footprint,
    /// Time to make an instance and prepare its first call. Of
    /// [Touchstone's pool](touchstone_executor::Strategy::is_touchstone_pool): only to make it, it
    /// is prepared for each call.
    pub making: Tail,
    /// The process when all instances are made and none was called.
    pub idle: Footprint,
    /// The first call on each instance, in random order.
    pub first_calls: Tail,
    /// Further calls, each on a random instance.
    pub calls: Tail,
    /// The process after all calls.
    pub used: Footprint,
}

/// What a process occupies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footprint {
    /// Resident memory, KiB.
    pub rss_kib: u64,
    /// Proportional memory, KiB: pages that other processes or mappings share count in part.
    pub pss_kib: u64,
    /// Page tables, KiB.
    pub page_tables_kib: u64,
    /// Mappings (lines of `/proc/self/maps`).
    pub mappings: u64,
}

impl Density {
    /// What one instance adds to a process that is `now` as given: resident memory, proportional
    /// memory and page tables in KiB, and mappings.
    #[must_use]
    pub fn each(&self, now: &Footprint) -> [f64; 4] {
        let numbers = |of: &Footprint| [of.rss_kib, of.pss_kib, of.page_tables_kib, of.mappings];
        let (now, before) = (numbers(now), numbers(&self.before));
        std::array::from_fn(|at| (now[at] as f64 - before[at] as f64) / self.instances as f64)
    }
}
