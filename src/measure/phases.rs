//! The parts of a call, timed one by one, and the page faults it takes.

use crate::session::{Opened, elapsed};
use crate::stats;
use anyhow::Result;
use std::time::{Duration, Instant};
use touchstone_executor::probe::thread_usage;

/// Medians of the parts of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhaseTimes {
    /// To a clean instance, ns.
    pub prepare_ns: u64,
    /// The guest's work with input and output, ns.
    pub invoke_ns: u64,
    /// Giving back, ns.
    pub finish_ns: u64,
    /// Minor page faults of this thread, mean per call.
    pub page_faults_per_call: f64,
}

/// Calls that are looked at, at most.
pub(super) const CALLS: u64 = 201;

/// Times the three steps of calls, for about `time`. Reading the clock between
/// the steps costs a little, which is left in.
///
/// # Errors
///
/// When a call fails.
pub fn phases(opened: &Opened, time: Duration) -> Result<PhaseTimes> {
    let calls = (time.as_nanos() as u64 / opened.estimate_ns.max(1)).clamp(3, CALLS);
    let mut instance = opened.instances.take()?;
    let mut output = Vec::new();
    let mut call = |steps: Option<&mut [Vec<f64>; 3]>| -> Result<()> {
        let started = Instant::now();
        instance.prepare()?;
        let prepared = elapsed(started);
        let outcome = instance.invoke(opened.export, &opened.input, &mut output)?;
        let invoked = elapsed(started);
        instance.finish()?;
        let finished = elapsed(started);
        if let Some(trap) = outcome.trap() {
            return Err(trap.clone().into());
        }
        if let Some(steps) = steps {
            let ends = [0, prepared, invoked, finished];
            for (step, bounds) in steps.iter_mut().zip(ends.windows(2)) {
                step.push((bounds[1] - bounds[0]) as f64);
            }
        }
        Ok(())
    };
    // The first call of a new instance object sets things up.
    call(None)?;
    let mut steps: [Vec<f64>; 3] = std::array::from_fn(|_| Vec::with_capacity(calls as usize));
    let before = thread_usage();
    for _ in 0..calls {
        call(Some(&mut steps))?;
    }
    let faults = thread_usage()
        .zip(before)
        .map_or(0, |(after, before)| after.page_faults - before.page_faults);
    opened.instances.give_back(instance);
    let median = |samples: &[f64]| stats::estimate(samples).map_or(0, |e| e.median as u64);
    Ok(PhaseTimes {
        prepare_ns: median(&steps[0]),
        invoke_ns: median(&steps[1]),
        finish_ns: median(&steps[2]),
        page_faults_per_call: faults as f64 / calls as f64,
    })
}
