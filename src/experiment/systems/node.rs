//! Blocks of transfers and queries over a database.

use crate::experiment::{Ask, Asked, Host, Planned, Said, Say, Terms, Workload};
use crate::lab::{Lab, Refused, ns};
use crate::measure::Tails;
use crate::record::{Point, Status};
use anyhow::{Context, Result};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use touchstone_executor::adapter::{MeasuredEngine, Scratch};
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::storage::{self, Storage};
use touchstone_executor::{
    Abi, Config, ExportId, Functions, InstanceFrom, MemoryFrom, Outcome, Strategy, Support,
};
use touchstone_systems::node::{Call, Runtime, Settings, run};

const GUEST: &str = "node-runtime";
/// Seldom more than one of a runtime's own ways is fast: these are the best of each, and the one of
/// Touchstone's that is fastest with few written pages.
const STRATEGIES: [Strategy; 5] = {
    use {InstanceFrom::*, MemoryFrom::*};
    [
        Strategy::new(Reuse, Tracked),
        Strategy::new(Pooling, Resident),
        Strategy::new(Recreate, CopyOnWrite),
        Strategy::new(Recreate, Segments),
        Strategy::INTERPRETED,
    ]
};

pub(super) struct Own;

impl Workload for Own {
    fn plan(&self, host: &mut Host, asked: &Asked) -> Result<Planned> {
        let questions = host.executors(asked, &STRATEGIES);
        Ok(Planned { questions, ..Planned::default() })
    }

    fn answer(&self, ask: Ask<'_>, say: &mut Say<'_>) -> Result<(), Refused> {
        let Ask { mut host, question, terms } = ask;
        let (engine, strategy) = host.executor(question)?;
        let guest = host.guests.module(GUEST, HeapPages::default())?;
        let lab = Lab::new(host.guests.clone(), Config::default()).without_times();
        let folder = Scratch::new().context("cannot make a folder")?;
        let settings = settings(terms, folder.path());
        let point = host.point(question.place.clone(), question.number());
        say(Said::point(node(lab, &*engine, strategy, &guest, &settings, point)?));
        Ok(())
    }
}

fn settings(terms: &Terms, folder: &Path) -> Settings {
    let (accounts, transfers, time) = match terms.small {
        false => (10_000, 1000, Duration::from_millis(1200)),
        true => (50, 20, Duration::ZERO),
    };
    Settings {
        folder: folder.to_owned(),
        accounts,
        transfers,
        blocks: 2,
        time,
        query_every: Duration::from_millis(2),
        seed: terms.seed,
    }
}

fn node(
    mut lab: Lab,
    engine: &dyn MeasuredEngine,
    strategy: Strategy,
    guest: &GuestModule,
    settings: &Settings,
    point: Point,
) -> Result<Point, Refused> {
    // An engine without the strategy is not loaded for its refusal.
    if let Support::Unsupported { reason } = engine.support_for(strategy, guest) {
        return Err(Refused { status: Status::Unsupported, reason });
    }
    let mut queries = Tails::default();
    let load = |storage| runtime(&mut lab, engine, strategy, guest, storage);
    let found = run(settings, load, |ns| queries.record(ns))?;
    let values = [
        ("accounts", settings.accounts.into()),
        ("transfers", settings.transfers.into()),
        ("blocks", found.blocks),
        ("total_ns", ns(found.total)),
        ("calls_ns", ns(found.calls)),
        ("storage_ns", ns(found.storage)),
        ("commit_ns", ns(found.commit)),
        ("storage_calls", found.storage_calls),
    ];
    Ok(point.values(values).tail("queries", queries.tail()))
}

/// The guest over a storage, on one instance of the contract: each call of it is clean.
fn runtime(
    lab: &mut Lab,
    engine: &dyn MeasuredEngine,
    strategy: Strategy,
    guest: &GuestModule,
    storage: Arc<dyn Storage>,
) -> Result<Runtime> {
    let functions = Functions::standard().with(&storage::functions(storage));
    let config = Config { functions, ..lab.config.clone() };
    let loaded = lab.load_guest(engine, strategy, guest, HeapPages::default(), &config)?;
    let export = |call: Call| loaded.instances.module.export(call.export(), Abi::Substrate);
    let exports: Vec<(Call, ExportId)> =
        Call::ALL.into_iter().map(|call| Ok((call, export(call)?))).collect::<Result<_>>()?;
    let mut instance = loaded.instances.take()?;
    Ok(Box::new(move |call, input, output| {
        let export = exports.iter().find(|(of, _)| *of == call).context("no such export")?.1;
        match instance.call(export, input, output)? {
            Outcome::Returned => Ok(()),
            Outcome::Trapped(trap) => Err(trap.into()),
        }
    }))
}
