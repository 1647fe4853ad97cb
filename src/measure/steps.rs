//! The steps of a call, timed one by one.

use super::probe::Watch;
use crate::lab::{Opened, elapsed};
use crate::record::{Metric, Sample, Samples, estimate};
use anyhow::Result;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

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
