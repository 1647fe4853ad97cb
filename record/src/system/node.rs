//! Blocks of transfers and queries over a database.

use crate::Tail;
use serde::{Deserialize, Serialize};

/// Blocks of transfers and queries over a database.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Accounts in the database.
    pub accounts: u32,
    /// Transfers of a block.
    pub transfers: u32,
    /// Number of blocks.
    pub blocks: u64,
    /// Time of all blocks, ns.
    pub total_ns: u64,
    /// The part of it inside of calls of the guest, with their storage, ns.
    pub calls_ns: u64,
    /// The part of that inside of the storage, ns.
    pub storage_ns: u64,
    /// The part of the total that commits took, ns.
    pub commit_ns: u64,
    /// Calls of the storage.
    pub storage_calls: u64,
    /// From the planned arrival of a query to its answer.
    pub queries: Tail,
}

impl Node {
    /// Blocks per second.
    #[must_use]
    pub fn blocks_per_second(&self) -> f64 {
        self.blocks as f64 * 1e9 / self.total_ns as f64
    }

    /// Calls of the guest for a block: its transfers, its begin and its end.
    #[must_use]
    pub fn calls(&self) -> u32 {
        self.transfers + 2
    }

    /// Time in the executor, ns for a call: calls without their storage.
    #[must_use]
    pub fn executor_ns(&self) -> f64 {
        self.calls_ns.saturating_sub(self.storage_ns) as f64 / self.all_calls()
    }

    /// Time in the host, ns for a call: storage, commit, and what else a block takes.
    #[must_use]
    pub fn host_ns(&self) -> f64 {
        self.total_ns as f64 / self.all_calls() - self.executor_ns()
    }

    /// The executor's share of a block's time, 0 to 1.
    #[must_use]
    pub fn executor_share(&self) -> f64 {
        self.executor_ns() / (self.executor_ns() + self.host_ns())
    }

    fn all_calls(&self) -> f64 {
        self.blocks as f64 * f64::from(self.calls())
    }
}
