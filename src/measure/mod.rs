//! Measuring one opened cell: latency alone or beside other threads,
//! throughput of all threads, the parts of a call, calls on used instances; and pairs
//! in turns.

mod gate;
mod others;
mod pair;
mod phases;
mod pin;
mod quiet;
mod sides;
mod throughput;
mod warm;

pub use others::Others;
use pair::settle_by;
pub use pair::{LONG, PairPlan, PairResult, ROUND, Side, pair};
pub use phases::{PhaseTimes, phases};
pub use quiet::{Look, get_to_know, until_quiet, watch, watched};
pub use sides::{AfterAnother, Beside, Done, Raw};
pub(crate) use throughput::ENOUGH as ENOUGH_ROUNDS;
pub use throughput::{Throughput, throughput};
pub use warm::{WarmTimes, warm};

use crate::session::{Opened, abbreviate};
use std::time::{Duration, Instant};
use touchstone_executor::{Instance, Outcome};

/// Makes the same call again and again on one instance.
pub struct Caller {
    opened: Opened,
    /// `None` only while it is given back.
    instance: Option<Box<dyn Instance>>,
    output: Vec<u8>,
}

impl Drop for Caller {
    fn drop(&mut self) {
        if let Some(instance) = self.instance.take() {
            self.opened.instances.give_back(instance);
        }
    }
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
            instance: Some(opened.instances.take()?),
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
        let Self { opened, instance, output } = self;
        call(opened, instance, output)
    }

    /// One call of something else, on the same instance; its output is compared.
    /// `other` has to be opened on the same module.
    ///
    /// # Errors
    ///
    /// When it is of another module, and those of [`call`](Self::call) and
    /// [`check`](Self::check).
    pub fn call_other(&mut self, other: &Opened) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.opened.instances.are_of_one_module(&other.instances),
            "the two calls are of two modules and have no instance in common"
        );
        call(other, &mut self.instance, &mut self.output)?;
        compare(other, &self.output)
    }

    /// Whether the last call's output is the expected one. Meant for between
    /// timed regions: the output of a call is compared as often as that allows.
    ///
    /// # Errors
    ///
    /// When it is another one.
    pub fn check(&self) -> anyhow::Result<()> {
        compare(&self.opened, &self.output)
    }

    /// Calls that bring the processor back to this work after it did other things.
    ///
    /// # Errors
    ///
    /// Those of [`call`](Self::call).
    pub fn settle(&mut self) -> anyhow::Result<()> {
        settle_by(|| self.call())
    }

    /// Time of so many calls together; the last output is compared afterwards.
    ///
    /// # Errors
    ///
    /// Those of [`call`](Self::call) and [`check`](Self::check).
    pub fn time(&mut self, calls: u64) -> anyhow::Result<Duration> {
        let started = Instant::now();
        for _ in 0..calls {
            self.call()?;
        }
        let took = started.elapsed();
        if calls > 0 {
            self.check()?;
        }
        Ok(took)
    }
}

#[inline]
fn call(
    opened: &Opened,
    instance: &mut Option<Box<dyn Instance>>,
    output: &mut Vec<u8>,
) -> anyhow::Result<()> {
    let Some(instance) = instance else { return Ok(()) };
    match instance.call(opened.export, std::hint::black_box(&opened.input), output)? {
        Outcome::Returned => Ok(()),
        Outcome::Trapped(trap) => Err(trap.into()),
    }
}

fn compare(opened: &Opened, output: &[u8]) -> anyhow::Result<()> {
    anyhow::ensure!(
        output == &*opened.expected,
        "the output is another one: expected {}, got {}",
        abbreviate(&opened.expected),
        abbreviate(output)
    );
    Ok(())
}
