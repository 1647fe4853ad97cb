//! Measuring one opened cell: latency alone or beside other threads,
//! throughput of all threads, the parts of a call; and pairs in turns.

mod others;
mod pair;
mod phases;
mod throughput;

pub use others::Others;
pub use pair::{PairPlan, PairResult, pair};
pub use phases::{PhaseTimes, phases};
pub use throughput::{Throughput, throughput};

use crate::session::Opened;
use std::time::{Duration, Instant};
use touchstone_executor::{Instance, Outcome};

/// Makes the same call again and again on one instance.
pub struct Caller {
    opened: Opened,
    instance: Box<dyn Instance>,
    output: Vec<u8>,
}

impl Caller {
    /// A caller with an instance of its own.
    ///
    /// # Errors
    ///
    /// When the runtime cannot make the instance.
    pub fn new(opened: &Opened) -> anyhow::Result<Self> {
        Ok(Self {
            opened: opened.clone(),
            instance: opened.module.new_instance()?,
            output: Vec::new(),
        })
    }

    /// One call on a clean instance.
    ///
    /// # Errors
    ///
    /// When the host side fails or the guest traps: after the check that comes
    /// before all timing, neither may happen any more.
    #[inline]
    pub fn call(&mut self) -> anyhow::Result<()> {
        let Opened { export, input, .. } = &self.opened;
        match self.instance.call(*export, std::hint::black_box(input), &mut self.output)? {
            Outcome::Returned => Ok(()),
            Outcome::Trapped(trap) => Err(trap.into()),
        }
    }

    /// Time of so many calls together.
    ///
    /// # Errors
    ///
    /// Those of [`call`](Self::call).
    pub fn time(&mut self, calls: u64) -> anyhow::Result<Duration> {
        let started = Instant::now();
        for _ in 0..calls {
            self.call()?;
        }
        Ok(started.elapsed())
    }
}
