//! Calls on an instance that was used before and not made clean: what is left of a
//! call when the instance costs nothing.

use super::{compare, phases::CALLS};
use crate::session::{Opened, elapsed};
use crate::stats::{Estimate, estimate};
use anyhow::{Context, Result};
use std::hint::black_box;
use std::time::{Duration, Instant};
use touchstone_executor::{ExportId, Instance, Outcome};

/// Times of calls on a used instance, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarmTimes {
    /// The call itself.
    pub call: Estimate,
    /// A call that takes the same input and does nothing with it.
    pub take: Option<Estimate>,
}

/// Samples that an interval needs.
const FEWEST: u64 = 6;
/// Calls of a sample take about so long together, ns: reading the clock between
/// them would take longer than the shortest calls do.
const SAMPLE: u64 = 20_000;

/// Times calls that follow each other on one instance, for about `time` each kind.
///
/// # Errors
///
/// When a call fails, traps, or gives another output than expected.
pub fn warm(opened: &Opened, time: Duration) -> Result<WarmTimes> {
    let mut instance = opened.instances.take()?;
    instance.prepare()?;
    let mut output = Vec::new();
    let call = used(&mut *instance, opened.export, opened, &mut output, time)?;
    compare(opened, &output)?;
    let take = opened
        .take
        .map(|export| used(&mut *instance, export, opened, &mut output, time))
        .transpose()?;
    instance.finish()?;
    opened.instances.give_back(instance);
    Ok(WarmTimes { call, take })
}

fn used(
    instance: &mut dyn Instance,
    export: ExportId,
    opened: &Opened,
    output: &mut Vec<u8>,
    time: Duration,
) -> Result<Estimate> {
    let mut calls = |count: u64| -> Result<u64> {
        let started = Instant::now();
        for _ in 0..count {
            match instance.invoke(export, black_box(&opened.input), output)? {
                Outcome::Returned => {}
                Outcome::Trapped(trap) => return Err(trap.into()),
            }
        }
        Ok(elapsed(started))
    };
    // The first calls bring memory in and let the guest's allocator grow.
    calls(2)?;
    let once = calls(1)?.max(1);
    let count = (SAMPLE / once).max(1);
    calls(count)?;
    let samples = (time.as_nanos() as u64 / (once * count)).clamp(FEWEST, CALLS);
    let samples: Vec<f64> =
        (0..samples).map(|_| Ok(calls(count)? as f64 / count as f64)).collect::<Result<_>>()?;
    estimate(&samples).context("no samples")
}
