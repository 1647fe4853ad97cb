//! Messages whose verifier is swapped.

use crate::Tail;
use serde::{Deserialize, Serialize};

/// Messages whose verifier is swapped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pipeline {
    /// Who gives the verdicts.
    pub verifier: Verifier,
    /// Number of messages.
    pub messages: u64,
    /// Whether fewer messages were sent than planned, because of the time limit.
    pub limited: bool,
    /// Time from sending the first message to the last verdict, ns.
    pub total_ns: u64,
    /// Messages of another kind than the one before.
    pub swaps: u64,
    /// Messages with a wrong signature, all of them refused.
    pub tampered: u64,
    /// How often Redis was killed and started again.
    pub restarts: u64,
    /// Messages without a verdict.
    pub lost: u64,
    /// Further verdicts on messages that had one.
    pub doubled: u64,
    /// Messages that came after one with a higher sequence number.
    pub misordered: u64,
    /// Messages whose kind or text is another one than was sent.
    pub altered: u64,
    /// Longest time between two verdicts, ns.
    pub longest_gap_ns: u64,
    /// Time from taking a message to its verdict, for those that needed a swap.
    pub swapping: Tail,
    /// The same for all others.
    pub still: Tail,
    /// Time from sending a message to its verdict.
    pub latency: Tail,
}

/// Who gives the verdicts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verifier {
    /// Nobody: each message passes.
    Nobody,
    /// The host, without a guest.
    Host,
    /// A guest for each kind, by this swap method.
    Method(String),
}

impl Pipeline {
    /// Messages that were not handled once, in order and as sent.
    #[must_use]
    pub fn wrong(&self) -> u64 {
        self.lost + self.doubled + self.misordered + self.altered
    }

    /// The mean time of a message, ns.
    #[must_use]
    pub fn per_message_ns(&self) -> f64 {
        self.total_ns as f64 / self.messages.max(1) as f64
    }
}
