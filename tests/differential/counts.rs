//! The operators of random code: guests that count themselves, on every engine, and the
//! meters of those runtimes that have one.

use crate::sample::{Call, Sample};
use std::collections::BTreeMap;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, OPERATORS};
use touchstone_executor::{Abi, Config, Execution, Imports, Outcome, Strategy, Support};

/// Counts of one engine, call by call; `None` for a call that did not return.
type Counts = Vec<Option<u64>>;

/// Counts the calls of a sample by every means and compares. Gives the number of calls
/// that were counted twice or more.
pub(crate) fn compare(sample: &Sample, engines: &[impl AsRef<dyn MeasuredEngine>]) -> u64 {
    let counting = sample.guest.counting().expect("a module that is no component");
    let calls: Vec<&Call> = sample.steps.iter().flat_map(|step| &step.calls).collect();
    let mut all: BTreeMap<String, Counts> = BTreeMap::new();
    for engine in engines.iter().map(AsRef::as_ref) {
        if engine.execution() == Execution::Native {
            continue;
        }
        if let Some(counts) = counts(engine, &counting, &calls, false) {
            all.insert(format!("{}, counting guest", engine.id()), counts);
        }
        if engine.has_meter()
            && let Some(counts) = counts(engine, &sample.guest, &calls, true)
        {
            all.insert(format!("{}, meter", engine.id()), counts);
        }
    }
    let Some((first, expected)) = all.first_key_value() else { return 0 };
    for (name, counts) in &all {
        for (call, (expected, count)) in calls.iter().zip(expected.iter().zip(counts)) {
            // Engines may differ in whether a call returns: stacks have different ends.
            if let (Some(expected), Some(count)) = (expected, count) {
                assert_eq!(count, expected, "{name} against {first}: {call:?} of {:?}", sample.id);
            }
        }
    }
    let counted = |call: usize| all.values().filter(|counts| counts[call].is_some()).count() > 1;
    (0..calls.len()).filter(|call| counted(*call)).count() as u64
}

/// `None` where the engine does not take the module.
fn counts(
    engine: &dyn MeasuredEngine,
    guest: &GuestModule,
    calls: &[&Call],
    metered: bool,
) -> Option<Counts> {
    let config = Config { metered, imports: Imports::Trap, ..Config::default() };
    let runs = |strategy: &Strategy| {
        !matches!(engine.support_for(*strategy, guest), Support::Unsupported { .. })
    };
    let strategy = Strategy::all().into_iter().find(runs)?;
    let artifact = engine.compile(guest, strategy, &config).ok()?;
    let module = engine.load(guest, &artifact, strategy, &config).ok()?;
    let mut instance = module.new_instance().ok()?;
    let counter = module.export(OPERATORS, Abi::Plain).ok();
    let mut output = Vec::new();
    let mut counts = Vec::new();
    for call in calls {
        let Ok(export) = module.export(&call.export, call.abi) else {
            counts.push(None);
            continue;
        };
        // A start function that traps is the end of it.
        instance.prepare().ok()?;
        let read = |instance: &mut dyn touchstone_executor::Instance| match counter {
            None => instance.operators(),
            Some(counter) => {
                let mut count = Vec::new();
                let outcome = instance.invoke(counter, &[], &mut count, None).ok()?;
                (outcome == Outcome::Returned)
                    .then(|| u64::from_le_bytes(count.try_into().unwrap()))
            }
        };
        let before = read(&mut *instance);
        let outcome = instance.invoke(export, &call.input, &mut output, None).ok()?;
        let after = read(&mut *instance);
        instance.finish().ok()?;
        let returned = outcome == Outcome::Returned;
        counts.push(before.zip(after).filter(|_| returned).map(|(before, after)| after - before));
    }
    Some(counts)
}
