//! The work of a crew's thread: calls through the contract, through the raw interface of a runtime,
//! or in bursts after calls of another kind.

use crate::lab::{Opened, abbreviate};
use anyhow::{Context, Result, ensure};
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::adapter::RawCaller;
use touchstone_executor::{Instance, Outcome};

/// Work that consists of equal calls.
pub trait Work: Send {
    /// Makes `calls` calls, compares the last output, and returns the time of the calls alone.
    /// Fails if a call fails, traps or gives a wrong output.
    fn time(&mut self, calls: u64) -> Result<Duration>;

    /// Calls after which the runtime catches up on deferred work.
    fn period(&self) -> u64 {
        1
    }
}

/// Repeats one call on one instance, each time on a clean state.
pub struct Caller {
    opened: Opened,
    /// `None` only while it is returned.
    instance: Option<Box<dyn Instance>>,
    output: Vec<u8>,
}

impl Drop for Caller {
    fn drop(&mut self) {
        if let Some(instance) = self.instance.take() {
            self.opened.loaded.instances.give_back(instance);
        }
    }
}

impl Caller {
    pub fn new(opened: &Opened) -> Result<Self> {
        Ok(Self {
            opened: opened.clone(),
            instance: Some(opened.loaded.instances.take()?),
            output: Vec::new(),
        })
    }

    /// Makes a call on the same instance and compares its output. `other` is of the same module.
    fn call_other(&mut self, other: &Opened) -> Result<()> {
        call(other, &mut self.instance, &mut self.output)?;
        compare(other, &self.output)
    }
}

impl Work for Caller {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        let Self { opened, instance, output } = self;
        let started = Instant::now();
        for _ in 0..calls {
            call(opened, instance, output)?;
        }
        let took = started.elapsed();
        if calls > 0 {
            compare(opened, output)?;
        }
        Ok(took)
    }

    fn period(&self) -> u64 {
        self.opened.loaded.period
    }
}

#[inline]
fn call(
    opened: &Opened,
    instance: &mut Option<Box<dyn Instance>>,
    output: &mut Vec<u8>,
) -> Result<()> {
    let Some(instance) = instance else { return Ok(()) };
    match instance.call(opened.export, std::hint::black_box(&opened.input), output)? {
        Outcome::Returned => Ok(()),
        Outcome::Trapped(trap) => Err(trap.into()),
    }
}

pub(crate) fn compare(opened: &Opened, output: &[u8]) -> Result<()> {
    ensure!(
        output == &*opened.expected,
        "the output is another one: expected {}, got {}",
        abbreviate(&opened.expected),
        abbreviate(output)
    );
    Ok(())
}

/// Calls in short bursts. Before each burst come a call of another kind on the same instance, if
/// there is one, and some untimed calls.
pub struct InBursts {
    caller: Caller,
    another: Option<Opened>,
    skip: u64,
    burst: u64,
}

impl InBursts {
    /// Makes `skip` untimed calls and times `burst` calls after each call of `another`. Fails if a
    /// burst has no call or `another` was opened on another module.
    pub fn new(opened: &Opened, another: Option<Opened>, skip: u64, burst: u64) -> Result<Self> {
        ensure!(burst > 0, "a burst without a call cannot be timed");
        let shares = another.as_ref().is_none_or(|another| {
            Arc::ptr_eq(&another.loaded.instances.module, &opened.loaded.instances.module)
        });
        ensure!(shares, "the two calls are of two modules and have no instance in common");
        Ok(Self { caller: Caller::new(opened)?, another, skip, burst })
    }
}

impl Work for InBursts {
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

pub struct Raw {
    call: RawCaller,
    output: Vec<u8>,
    opened: Opened,
}

impl Raw {
    /// Calls it twice and compares the output both times, as when a cell is opened.
    pub fn new(call: RawCaller, opened: &Opened) -> Result<Self> {
        let mut raw = Self { call, output: Vec::new(), opened: opened.clone() };
        for _ in 0..2 {
            raw.time(1)?;
        }
        Ok(raw)
    }
}

impl Work for Raw {
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
