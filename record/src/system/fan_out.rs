//! A state that many modules read.

use crate::named::named;
use serde::{Deserialize, Serialize};

/// A state that many modules read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FanOut {
    /// Who reads.
    pub shape: Shape,
    /// How the state gets to its readers.
    pub way: Way,
    /// Size of the state.
    pub bytes: u64,
    /// Reads of each state.
    pub reads: u32,
    /// Number of states.
    pub rounds: u32,
    /// Time of a round, median, ns: making the state and all reads of it.
    pub round_ns: u64,
    /// Memory that the process has more (PSS) while all readers have the state, KiB.
    pub memory_kib: u64,
}

named! {
    /// Who reads a state.
    pub enum Shape {
        /// One instance, once.
        Direct,
        /// Many instances, each once.
        #[strum(serialize = "fan-out")]
        FanOut,
        /// One instance, many times.
        Singleton,
    }
}

named! {
    /// How a state gets to its readers.
    pub enum Way {
        /// Each call copies it.
        Copied,
        /// It is mapped into each memory, read-only.
        Mapped,
    }
}

impl FanOut {
    /// Time of a read, ns, with its part of making the state.
    #[must_use]
    pub fn read_ns(&self) -> f64 {
        self.round_ns as f64 / f64::from(self.reads.max(1))
    }
}
