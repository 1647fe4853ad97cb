//! What can be a side of a comparison: an executor, alone or beside others; an
//! executor after a call of another kind; the raw interface of a runtime.

use super::pin::{Pinned, for_threads};
use super::quiet::is_quiet;
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
    /// Where the timed thread is kept during its turns; `None`: where it is.
    processor: Option<usize>,
    done: Done,
}

/// What was done in all turns together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    /// Turns.
    pub turns: u64,
    /// Calls that were timed.
    pub timed: u64,
    /// Calls that each of the others ended meanwhile.
    pub meanwhile: Vec<u64>,
}

impl Beside {
    /// `threads` in all: the timed one and the others.
    ///
    /// # Errors
    ///
    /// When there are fewer processors, an instance cannot be made, or a thread
    /// fails.
    pub fn start(opened: &Opened, threads: usize) -> Result<Self> {
        let processors = for_threads(threads)?;
        let [rest @ .., processor] = &processors[..] else { bail!("there is no thread") };
        Self::start_on(opened, rest, Some(*processor))
    }

    /// Nobody else, and the system may run it anywhere.
    ///
    /// # Errors
    ///
    /// When the instance cannot be made.
    pub fn alone(opened: &Opened) -> Result<Self> {
        Self::start_on(opened, &[], None)
    }

    fn start_on(opened: &Opened, rest: &[usize], processor: Option<usize>) -> Result<Self> {
        let on: Vec<Option<usize>> = rest.iter().copied().map(Some).collect();
        let mut others = Others::start_on(opened, &on)?;
        others.pause()?;
        let caller = Caller::new(opened)?;
        let done = Done { meanwhile: vec![0; rest.len()], ..Done::default() };
        Ok(Self { caller, others, processor, done })
    }

    /// What was done so far.
    #[must_use]
    pub fn done(&self) -> &Done {
        &self.done
    }

    /// Gives the instance back and ends the other threads.
    ///
    /// # Errors
    ///
    /// When one of them failed.
    pub fn stop(self) -> Result<()> {
        drop(self.caller);
        self.others.stop()
    }
}

impl Done {
    /// What was done since an earlier look.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let meanwhile = self.meanwhile.iter().zip(&before.meanwhile);
        Self {
            turns: self.turns - before.turns,
            timed: self.timed - before.timed,
            meanwhile: meanwhile.map(|(after, before)| after - before).collect(),
        }
    }

    /// Whether each of the others made at least half as many calls as were timed:
    /// otherwise nothing was timed beside them. The call that it was in at the end
    /// of a turn counts for it.
    ///
    /// # Errors
    ///
    /// When one made fewer.
    pub fn others_kept_up(&self) -> Result<()> {
        match self.meanwhile.iter().min() {
            Some(least) if (least + self.turns) * 2 < self.timed => bail!(
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
        self.turn(calls, false)
    }

    fn time_watched(&mut self, calls: u64, settle: bool) -> Result<(Duration, bool)> {
        // The looks belong on the processor that is timed, and beside nobody of ours.
        let _pinned = self.processor.map(Pinned::to).transpose()?;
        let before = is_quiet();
        let took = self.turn(calls, settle)?;
        Ok((took, is_quiet() && before))
    }
}

impl Beside {
    /// A turn beside the others; with `settle`, untimed calls come first.
    fn turn(&mut self, calls: u64, settle: bool) -> Result<Duration> {
        let _pinned = self.processor.map(Pinned::to).transpose()?;
        self.others.resume()?;
        let settled = if settle { self.caller.settle() } else { Ok(()) };
        let before = self.others.counts();
        let took = settled.and_then(|()| self.caller.time(calls));
        let after = self.others.counts();
        // Also when that failed: the other side's turn is its own.
        self.others.pause()?;
        self.done.turns += 1;
        self.done.timed += calls;
        for (sum, (after, before)) in self.done.meanwhile.iter_mut().zip(after.iter().zip(&before))
        {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_that_fall_behind_are_found() {
        let done =
            |turns, timed, meanwhile: &[u64]| Done { turns, timed, meanwhile: meanwhile.into() };
        assert!(done(10, 5000, &[]).others_kept_up().is_ok());
        assert!(done(10, 5000, &[5000, 2490]).others_kept_up().is_ok());
        let error = done(10, 5000, &[5000, 2489]).others_kept_up().unwrap_err();
        assert!(error.to_string().contains("2489 calls beside 5000"), "{error}");
        // Turns of one call: each of the others was in one.
        assert!(done(20, 20, &[0]).others_kept_up().is_ok());
        // Only what was done since counts.
        let before = done(1, 100, &[3]);
        assert_eq!(done(3, 400, &[303]).since(&before), done(2, 300, &[300]));
    }
}
