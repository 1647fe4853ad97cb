//! The steps of a call, timed one by one, and calls on a used instance that is not reset.

use super::probe::Watch;
use super::work::compare;
use crate::lab::{Opened, elapsed};
use crate::plan::FEWEST_CALLS_US;
use crate::record::{Metric, Sample, Samples, estimate};
use anyhow::Result;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};
use touchstone_executor::{ExportId, Instance, Outcome};

/// Samples per process: one more than an estimate needs. Long calls have fewer.
const SAMPLES: u32 = estimate::CLEAN_SAMPLES as u32 + 1;
/// Largest number of calls of a sample.
const CALLS: u64 = 40;

/// Times `prepare`, `invoke` and `finish` of calls. A sample takes about `sample` and is the median
/// over its calls. The time includes reading the clock between the steps.
pub fn steps(opened: &Opened, sample: Duration) -> Result<BTreeMap<Metric, Samples>> {
    let fit = (sample * SAMPLES).as_nanos() as u64 / opened.estimate_ns.max(1);
    let calls = (fit / u64::from(SAMPLES)).clamp(1, CALLS);
    let samples = fit.clamp(1, u64::from(SAMPLES));
    let mut instance = opened.loaded.instances.take()?;
    let mut output = Vec::new();
    let mut call = |steps: Option<&mut [Vec<f64>; 3]>| -> Result<()> {
        let started = Instant::now();
        instance.prepare()?;
        let prepared = elapsed(started);
        let outcome = instance.invoke(opened.export, &opened.input, &mut output, None)?;
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
    // The first calls set things up and warm the processor up.
    for _ in 0..calls.min(10).min(fit) {
        call(None)?;
    }
    let names = [Metric::Prepare, Metric::Invoke, Metric::Finish];
    let mut metrics: BTreeMap<Metric, Samples> = BTreeMap::new();
    let mut watch = Watch::start();
    for _ in 0..samples {
        let mut times: [Vec<f64>; 3] = Default::default();
        let ((), clean) = watch.over(|| {
            for _ in 0..calls {
                call(Some(&mut times))?;
            }
            Ok(())
        })?;
        for (name, times) in names.into_iter().zip(times) {
            let median = estimate::of_values(&times).map_or(0.0, |estimate| estimate.median);
            let total = median * calls as f64;
            let sample = Sample { calls, total, slowest: calls, clean };
            metrics.entry(name).or_default().0.push(sample);
        }
    }
    opened.loaded.instances.give_back(instance);
    Ok(metrics)
}

/// Times consecutive calls on one instance, in samples of about `sample`: of the export of the
/// case, and of the one that only takes the input, if there is one. Fails if a call fails, traps,
/// or gives a wrong output.
pub fn warm(opened: &Opened, sample: Duration) -> Result<BTreeMap<Metric, Samples>> {
    let mut instance = opened.loaded.instances.take()?;
    instance.prepare()?;
    let mut output = Vec::new();
    let mut metrics = BTreeMap::new();
    let call = used(&mut *instance, opened.export, opened, &mut output, sample)?;
    compare(opened, &output)?;
    metrics.insert(Metric::WarmCall, call);
    if let Some(export) = opened.take {
        let take = used(&mut *instance, export, opened, &mut output, sample)?;
        metrics.insert(Metric::WarmTake, take);
    }
    instance.finish()?;
    opened.loaded.instances.give_back(instance);
    Ok(metrics)
}

fn used(
    instance: &mut dyn Instance,
    export: ExportId,
    opened: &Opened,
    output: &mut Vec<u8>,
    sample: Duration,
) -> Result<Samples> {
    let mut calls = |count: u64| -> Result<u64> {
        let started = Instant::now();
        for _ in 0..count {
            match instance.invoke(export, black_box(&opened.input), output, None)? {
                Outcome::Returned => {}
                Outcome::Trapped(trap) => return Err(trap.into()),
            }
        }
        Ok(elapsed(started))
    };
    // The first calls bring memory in and grow the guest's allocator.
    calls(1)?;
    let mut watch = Watch::start();
    let time = sample * SAMPLES;
    let (once, clean) = watch.over(|| calls(1))?;
    if u128::from(once) > time.as_nanos() {
        let sample = Sample { calls: 1, total: once as f64, slowest: 1, clean };
        return Ok(Samples(vec![sample]));
    }
    let once = once.max(1);
    let least = FEWEST_CALLS_US * 1000 * 5 / 4;
    let each = (sample.as_nanos() as u64).max(least);
    // Consecutive calls are faster than the single call that was just timed.
    let mut count = (each / once).max(1);
    let took = calls(count)?;
    if took < least {
        count = count * (least / took.max(1) + 1) * 2;
    }
    let samples = (time.as_nanos() as u64 / once).clamp(3, u64::from(SAMPLES));
    let sample = |_| {
        let ((made, took), clean) = watch.over(|| {
            // The probe clears from the processor what it has learned of the calls.
            calls(count / 4)?;
            let (mut made, mut took) = (0, 0);
            while took < FEWEST_CALLS_US * 1000 {
                took += calls(count)?;
                made += count;
            }
            Ok((made, took))
        })?;
        Ok(Sample { calls: made, total: took as f64, slowest: made, clean })
    };
    Ok(Samples((0..samples).map(sample).collect::<Result<_>>()?))
}
