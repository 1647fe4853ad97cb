//! Counts executed operators on every engine that can; all must agree.

use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::sync::Arc;
use touchstone::case::{Case, GuestName, Guests};
use touchstone::lab::{Lab, Refused};
use touchstone::plan::{Cell, Plan};
use touchstone::record::{Count, Metric, Status};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::OPERATORS;
use touchstone_executor::{
    Abi, Config, Execution, ExportId, Instance, InstanceFrom, Outcome, Strategy,
};

/// Calls with more operators are counted by two engines only, because interpreters take
/// seconds for some of them.
const LONG: u64 = 1_000_000;
/// Calls with more operators are not tried on interpreters: they would exceed the case's budget.
const LONGEST: u64 = 1_000_000_000;

/// Operators of a call on a clean instance, and of a second one on the same instance.
type Counts = (u64, Option<u64>);

/// Counts operators. Modules are loaded once.
pub(super) struct Counter<'a> {
    engines: &'a [Arc<dyn MeasuredEngine>],
    /// Most engines that count a call.
    most: usize,
    plan: &'a Plan,
    /// For runtimes that count by themselves.
    metered: Lab,
    /// For guests that count themselves.
    counting: Lab,
}

impl<'a> Counter<'a> {
    /// A counter with the engines of the plan's cells. Guests that count themselves run on
    /// interpreters, because compiling each of them would take long.
    pub(super) fn new(engines: &'a [Arc<dyn MeasuredEngine>], most: usize, plan: &'a Plan) -> Self {
        let metered = Config { metered: true, ..Config::default() };
        Self {
            engines,
            most,
            plan,
            metered: Lab::new(Guests::built(), metered).without_times(),
            counting: Lab::new(Guests::built().counting(), Config::default()).without_times(),
        }
    }

    /// Counts one call on the engines that can count. Engines that exceed the case's budget are
    /// left out. Fails if no engine can count, two counts differ, or an output is wrong.
    pub(super) fn count(&mut self, case: &Arc<Case>, guest: &str) -> Result<Count> {
        let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
        for (cell, by_meter) in self.means(case, guest)? {
            let has_more = |than| counts.values().any(|(operators, _)| *operators > than);
            if counts.len() >= if has_more(LONG) { 2 } else { self.most } {
                break;
            }
            let is_interpreted = cell.engine.execution() == Execution::Interpreted;
            if is_interpreted && has_more(LONGEST) {
                continue;
            }
            let (how, lab) = match by_meter {
                true => ("meter", &mut self.metered),
                false => ("counting guest", &mut self.counting),
            };
            let name = format!("{} ({how})", cell.key.executor());
            match calls(lab, &cell, by_meter) {
                Ok(count) => drop(counts.insert(name, count)),
                Err(error) => match error.downcast_ref::<Refused>() {
                    Some(refused) if refused.status == Status::OverBudget => {}
                    _ => return Err(error.context(name)),
                },
            }
        }
        let mut all = counts.values();
        let Some(&(operators, warm)) = all.next() else {
            bail!("no engine of this build can count its operators; try --features=all");
        };
        if all.any(|other| *other != (operators, warm)) {
            let words = |(name, (clean, warm)): (&String, &Counts)| match warm {
                Some(warm) => format!("{clean} and then {warm} by {name}"),
                None => format!("{clean} by {name}"),
            };
            let list: Vec<_> = counts.iter().map(words).collect();
            bail!("the counts differ: {}", list.join(", "));
        }
        let file = self.metered.guests.linked(case, guest)?;
        let bytes = (Metric::GuestBytes, file.bytes.len() as u64);
        let mut metrics = BTreeMap::from([(Metric::Operators, operators), bytes]);
        metrics.extend(warm.map(|warm| (Metric::WarmOperators, warm)));
        Ok(Count {
            case: case.name.clone(),
            guest: GuestName::new(guest).to_string(),
            guest_sha256: file.sha256.clone(),
            metrics,
            counted_by: counts.into_keys().collect(),
        })
    }

    /// The cells that can count, and `true` for those with the runtime's own meter.
    fn means(&mut self, case: &Arc<Case>, guest: &str) -> Result<Vec<(Cell, bool)>> {
        let module = self.metered.guests.of_case(case, guest)?;
        let is_module = module.info().component.is_none();
        let (mut meters, mut guests) = (Vec::new(), Vec::new());
        for engine in self.engines {
            let is_of = |cell: &Cell| {
                (&*cell.key.case, &*cell.guest, &*cell.key.engine)
                    == (&*case.name, guest, engine.id())
            };
            if !self.plan.cells.iter().any(is_of) {
                continue;
            }
            let supported = Strategy::all().into_iter().filter(|strategy| {
                !strategy.pooled
                    && strategy.instance != InstanceFrom::Pooling
                    && engine.support_for(*strategy, &module).is_supported()
            });
            // A new instance for each call where there is one: a component that is reset in
            // place may have its first calls made again, on another instance.
            let strategy = supported.min_by_key(|strategy| !strategy.is_new_instance());
            let Some(strategy) = strategy else { continue };
            let cell = Cell::new(case, guest, engine, strategy, 1);
            if engine.has_meter() {
                meters.push((cell.clone(), true));
            }
            if is_module && engine.execution() == Execution::Interpreted {
                guests.push((cell, false));
            }
        }
        // A meter, an interpreter, and then the others: long calls are counted by two.
        let others = meters.split_off(meters.len().min(1));
        Ok([meters, guests, others].concat())
    }
}

/// The count of a call on a clean instance, and of a second call on the same instance if the
/// case is timed warm.
fn calls(lab: &mut Lab, cell: &Cell, by_meter: bool) -> Result<Counts> {
    // The output was compared with the expected one when this returns.
    let opened = lab.open(cell)?;
    let reader = match by_meter {
        true => None,
        false => Some(opened.loaded.instances.module.export(OPERATORS, Abi::Plain)?),
    };
    let mut instance = opened.loaded.instances.take()?;
    // Entries into functions that the host asks for are no operators of the guest's: its
    // allocator, in the convention that has one, and the export.
    let entries = if cell.case.abi == Abi::Bytes { 2 } else { 1 };
    // What the counter, the runtime's or the guest's own, has more after a call.
    let call = |instance: &mut dyn Instance| {
        let before = read(instance, reader)?;
        let output = invoke(instance, opened.export, &opened.input)?;
        let more = read(instance, reader)?.checked_sub(before);
        ensure!(output == *opened.expected, "the output is not the expected one");
        more.context("the counter decreased")?
            .checked_sub(entries)
            .context("fewer operators than entries")
    };
    instance.prepare()?;
    let clean = call(&mut *instance)?;
    let warm = cell.case.warm.then(|| call(&mut *instance)).transpose()?;
    instance.finish()?;
    opened.loaded.instances.give_back(instance);
    Ok((clean, warm))
}

fn read(instance: &mut dyn Instance, reader: Option<ExportId>) -> Result<u64> {
    let Some(export) = reader else {
        return instance.operators().context("the engine claims to count operators and does not");
    };
    let count = invoke(instance, export, &[])?.try_into();
    Ok(u64::from_le_bytes(count.ok().context("the counter is not a 64-bit number")?))
}

fn invoke(instance: &mut dyn Instance, export: ExportId, input: &[u8]) -> Result<Vec<u8>> {
    let mut output = Vec::new();
    match instance.invoke(export, input, &mut output, None)? {
        Outcome::Returned => Ok(output),
        Outcome::Trapped(trap) => Err(trap).context("the guest trapped"),
    }
}
