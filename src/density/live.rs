//! The measurement of one number of instances.

use crate::lab::{Opened, Refused, elapsed};
use crate::measure::{Tails, footprint};
use crate::plan::{Random, shuffled};
use crate::record::{Density, Executor, Status, Tail};
use std::time::{Duration, Instant};
use touchstone_executor::{Instance, Outcome};

/// Calls on random instances, and at least two for each.
const CALLS: u64 = 20_000;
/// So many are enough once they have taken [`LONG`], but not fewer than two for each instance.
const ENOUGH: u64 = 1_000;
/// Some executors take milliseconds for each call.
const LONG: Duration = Duration::from_secs(10);

/// Makes so many instances of a loaded module, keeps them all prepared, and calls them in random
/// order. Those of Touchstone's pool are prepared for each call: until then they hold nothing.
/// `progress` is given the number of instances so far.
///
/// # Errors
///
/// When an instance cannot be made, or a call fails or gives a wrong output.
pub fn live(
    opened: &Opened,
    executor: Executor,
    (case, guest): (&str, &str),
    instances: u64,
    seed: u64,
    mut progress: impl FnMut(u64),
) -> Result<Density, Refused> {
    let failed = |error| Refused::new(Status::Failed, error);
    let tails = || Tails::new().map_err(failed);
    let stays_prepared = !executor.strategy.is_touchstone_pool();
    let before = footprint();
    let mut making = tails()?;
    let mut all: Vec<Box<dyn Instance>> = Vec::new();
    for made in 1..=instances {
        let started = Instant::now();
        let mut instance = opened.loaded.instances.new_instance()?;
        if stays_prepared {
            instance.prepare()?;
        }
        making.record(elapsed(started));
        all.push(instance);
        progress(made);
    }
    let idle = footprint();
    let mut random = Random::new(seed);
    let mut output = Vec::new();
    let mut calls = |order: &mut dyn Iterator<Item = usize>| -> Result<Tail, Refused> {
        let mut times = tails()?;
        for place in order {
            times.record(call(&mut *all[place], stays_prepared, opened, &mut output)?);
        }
        Ok(times.tail())
    };
    let order = shuffled((0..instances as usize).collect(), &mut random);
    let first_calls = calls(&mut order.into_iter())?;
    let (most, enough, begun) =
        (CALLS.max(2 * instances), ENOUGH.max(2 * instances), Instant::now());
    let mut any = (0..most)
        .take_while(|made| *made < enough || begun.elapsed() < LONG)
        .map(|_| (random.next_number() % instances) as usize);
    let calls = calls(&mut any)?;
    let used = footprint();
    let (case, guest) = (case.to_owned(), guest.to_owned());
    let making = making.tail();
    Ok(Density { executor, case, guest, instances, before, making, idle, first_calls, calls, used })
}

/// A call on an instance, which is prepared before it or for the next one; its time, ns.
fn call(
    instance: &mut dyn Instance,
    stays_prepared: bool,
    opened: &Opened,
    output: &mut Vec<u8>,
) -> Result<u64, Refused> {
    let started = Instant::now();
    if !stays_prepared {
        instance.prepare()?;
    }
    let outcome = instance.invoke(opened.export, &opened.input, output)?;
    instance.finish()?;
    if stays_prepared {
        instance.prepare()?;
    }
    let took = elapsed(started);
    match outcome {
        Outcome::Trapped(trap) => Err(Refused::new(Status::Trapped, trap)),
        Outcome::Returned if **output == *opened.expected => Ok(took),
        Outcome::Returned => Err(Refused::new(Status::Wrong, "a call gave another output")),
    }
}
