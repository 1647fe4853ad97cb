//! What can be a side of a comparison: an executor, alone or beside others; an
//! executor after a call of another kind; the raw interface of a runtime.

use super::pin::{Pinned, allowed};
use super::{Caller, Others, Side, compare};
use crate::session::Opened;
use anyhow::{Context, Result, bail, ensure};
use std::time::{Duration, Instant};
use touchstone_executor::RawCaller;

impl Side for Caller {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        Caller::time(self, calls)
    }
}

/// A caller beside threads that do the same, while it has its turn and no longer.
/// Each has a processor of its own.
pub struct Beside {
    caller: Caller,
    /// Asleep between the turns.
    others: Others,
    processor: usize,
    /// Calls that were timed.
    timed: u64,
    /// Calls that each of the others made meanwhile.
    meanwhile: Vec<u64>,
}

impl Beside {
    /// `threads` in all: the timed one and the others.
    ///
    /// # Errors
    ///
    /// When there are fewer processors, an instance cannot be made, or a thread
    /// fails.
    pub fn start(opened: &Opened, threads: usize) -> Result<Self> {
        let processors = allowed()?;
        let [rest @ .., processor] = &processors[..] else { bail!("there is no processor") };
        ensure!(rest.len() + 1 >= threads, "there are fewer processors than {threads}");
        let rest: Vec<Option<usize>> = rest.iter().copied().map(Some).take(threads - 1).collect();
        let mut others = Others::start_on(opened, &rest)?;
        others.pause()?;
        let caller = Caller::new(opened)?;
        Ok(Self { caller, others, processor: *processor, timed: 0, meanwhile: vec![0; rest.len()] })
    }

    /// Whether each of the others made at least half as many calls as were timed,
    /// all turns together: otherwise nothing was timed beside them.
    ///
    /// # Errors
    ///
    /// When one made fewer.
    pub fn others_kept_up(&self) -> Result<()> {
        match self.meanwhile.iter().min() {
            Some(least) if least * 2 < self.timed => bail!(
                "the other threads made {least} calls beside {} timed ones: the machine has more \
                 to do",
                self.timed
            ),
            _ => Ok(()),
        }
    }
}

impl Side for Beside {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        let _pinned = Pinned::to(self.processor)?;
        self.others.resume()?;
        let before = self.others.counts();
        let took = self.caller.time(calls);
        let after = self.others.counts();
        // Also when that failed: the other side's turn is its own.
        self.others.pause()?;
        self.timed += calls;
        for (sum, (after, before)) in self.meanwhile.iter_mut().zip(after.iter().zip(&before)) {
            *sum += after - before;
        }
        took
    }
}

/// Calls that come some time after a call of another kind on the same instance,
/// in short bursts: before each burst one call of the other kind and some of its
/// own kind, all untimed.
pub struct AfterAnother {
    caller: Caller,
    /// The call of the other kind; without one, only the bursts are the same.
    another: Option<Opened>,
    skip: u64,
    burst: u64,
}

impl AfterAnother {
    /// Leaves out `skip` calls and times `burst` calls after each of `another`,
    /// which has to be opened on the same module.
    ///
    /// # Errors
    ///
    /// When the instance cannot be made, or a burst has no call.
    pub fn new(opened: &Opened, another: Option<Opened>, skip: u64, burst: u64) -> Result<Self> {
        ensure!(burst > 0, "a burst without a call cannot be timed");
        Ok(Self { caller: Caller::new(opened)?, another, skip, burst })
    }
}

impl Side for AfterAnother {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        let (mut left, mut took) = (calls, Duration::ZERO);
        while left > 0 {
            if let Some(another) = &self.another {
                self.caller.call_other(another)?;
            }
            self.caller.time(self.skip)?;
            let now = self.burst.min(left);
            took += self.caller.time(now)?;
            left -= now;
        }
        Ok(took)
    }
}

/// The raw interface of a runtime.
pub struct Raw {
    call: RawCaller,
    output: Vec<u8>,
    opened: Opened,
}

impl Raw {
    /// Calls it twice and compares the output both times, as a cell is opened.
    ///
    /// # Errors
    ///
    /// When a call fails or gives another output.
    pub fn new(call: RawCaller, opened: &Opened) -> Result<Self> {
        let mut raw = Self { call, output: Vec::new(), opened: opened.clone() };
        for _ in 0..2 {
            raw.time(1)?;
        }
        Ok(raw)
    }
}

impl Side for Raw {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        let started = Instant::now();
        for _ in 0..calls {
            (self.call)(&mut self.output)?;
        }
        let took = started.elapsed();
        if calls > 0 {
            compare(&self.opened, &self.output).context("the raw reference")?;
        }
        Ok(took)
    }
}
