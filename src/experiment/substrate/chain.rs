//! Blocks of a Substrate runtime, with Substrate's host functions.
//!
//! All executors are opened first, and a block that they build and execute is compared with the
//! stored one. Then they are timed in turns, in one process.

use crate::experiment::{Ask, Asked, Host, Planned, Question, Said, Say, Terms, Workload};
use crate::lab::{Lab, Refused, elapsed, ns};
use crate::measure::Tails;
use crate::plan::{Random, shuffled};
use crate::record::{Executor, Point, Sample, Samples, Status};
use anyhow::Result;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{ArtifactFolder, Config, InstanceFrom, MemoryFrom, Strategy, Support};
use touchstone_substrate_host::chain::{
    self, Accounts, Block, Client, Header, Metered, Node, State, SubstrateHostFunctions,
};
use touchstone_substrate_host::{Executor as CodeExecutor, functions};
use touchstone_systems::load::gap;

/// The strategies of the node, and the one that Substrate's nodes use.
pub(super) const STRATEGIES: [Strategy; 6] = {
    use {InstanceFrom::*, MemoryFrom::*};
    [
        Strategy::new(Reuse, Tracked),
        Strategy::new(Pooling, Resident),
        Strategy::new(Pooling, CopyOnWrite),
        Strategy::new(Recreate, CopyOnWrite),
        Strategy::new(Recreate, Segments),
        Strategy::INTERPRETED,
    ]
};

struct Sizes {
    accounts: u32,
    /// The stored block on the genesis of these accounts.
    block: &'static [u8],
    rounds: usize,
    /// Calls of `Core_version` in a round.
    calls: u32,
    /// Time after which an executor has no further round.
    longest: Duration,
    /// Time of the blocks that are executed while queries arrive.
    queries: Duration,
}

const FULL: Sizes = Sizes {
    accounts: chain::ACCOUNTS,
    block: chain::BLOCK,
    rounds: 5,
    calls: 200,
    longest: Duration::from_secs(10),
    queries: Duration::from_secs(2),
};
const SMALL: Sizes = Sizes {
    accounts: chain::FEW_ACCOUNTS,
    block: chain::SMALL_BLOCK,
    rounds: 1,
    calls: 3,
    longest: Duration::ZERO,
    queries: Duration::from_millis(20),
};

/// Mean time between two queries.
const QUERY_EVERY: Duration = Duration::from_millis(2);

pub(super) struct Own;

impl Workload for Own {
    fn plan(&self, host: &mut Host, asked: &Asked) -> Result<Planned> {
        let all = host.executors(asked, &STRATEGIES);
        let executors: Vec<Executor> = all.iter().filter_map(|own| own.place.executor()).collect();
        let question = Question { executors, ..Question::default() };
        let questions = if question.executors.is_empty() { Vec::new() } else { vec![question] };
        Ok(Planned { questions, ..Planned::default() })
    }

    fn answer(&self, ask: Ask<'_>, say: &mut Say<'_>) -> Result<(), Refused> {
        let Ask { host, question, terms } = ask;
        let mut run = Run::new(&host, question, terms)?;
        let mut random = Random::new(terms.seed);
        let mut sides = Vec::new();
        for executor in shuffled(question.executors.clone(), &mut random) {
            say(Said::Opens(Some(executor.clone())));
            match run.open(&executor) {
                Ok(side) => sides.push(side),
                Err(refused) => say(run.refused(&executor, refused)),
            }
        }
        say(Said::Opens(None));
        for round in 1..=run.sizes.rounds {
            say(Said::Step(format!("round {round} of {}", run.sizes.rounds)));
            for place in shuffled((0..sides.len()).collect(), &mut random) {
                let side: &mut Side = &mut sides[place];
                if side.failed.is_none() && (round == 1 || side.spent < run.sizes.longest) {
                    side.failed = run.round(side).err();
                }
            }
        }
        let verify = chain::verify(run.transfers());
        for side in sides {
            say(Said::Step(format!("queries on {}", side.executor)));
            let executor = side.executor.clone();
            say(match run.finish(side, verify) {
                Ok(point) => Said::point(point),
                Err(refused) => run.refused(&executor, refused),
            });
        }
        Ok(())
    }

    fn limit(&self) -> Duration {
        Duration::from_secs(900)
    }
}

/// An executor that built and executed the stored block.
struct Side {
    executor: Executor,
    node: Box<dyn Client>,
    boot_ns: u64,
    genesis_ns: u64,
    calls: Vec<u64>,
    builds: Vec<u64>,
    executions: Vec<u64>,
    /// Time of its rounds.
    spent: Duration,
    /// The reason why a round failed.
    failed: Option<Refused>,
}

/// The parts that all executors have in common.
struct Run<'a> {
    host: &'a Host,
    question: &'a Question,
    terms: &'a Terms,
    sizes: &'static Sizes,
    block: Block,
    parent: Header,
    /// The state below it.
    state: State,
    boots: Boots,
}

impl<'a> Run<'a> {
    fn new(host: &'a Host, question: &'a Question, terms: &'a Terms) -> Result<Self> {
        let sizes = if terms.small { &SMALL } else { &FULL };
        let block = chain::block_of(sizes.block).map_err(anyhow::Error::msg)?;
        let boots = Boots::new(host, terms, chain::RUNTIME)?;
        let (parent, state) = Default::default();
        Ok(Self { host, question, terms, sizes, block, parent, state, boots })
    }

    fn transfers(&self) -> u32 {
        self.block.extrinsics.len() as u32 - 1
    }

    fn point(&self, executor: &Executor) -> Point {
        self.host.point(self.question.place.at(executor), self.question.number())
    }

    fn refused(&self, executor: &Executor, Refused { status, reason }: Refused) -> Said {
        Said::point(self.point(executor).refused(status, reason))
    }
}

/// A runtime, compiled once for strategies that share its code.
pub(super) struct Boots {
    pub(super) code: &'static [u8],
    guest: GuestModule,
    lab: Lab,
    /// The folder in which processes share compiled code.
    artifacts: PathBuf,
}

impl Boots {
    pub(super) fn new(host: &Host, terms: &Terms, code: &'static [u8]) -> Result<Self> {
        let guest = GuestModule::new("runtime", code, HeapPages::default())?;
        let config =
            Config { functions: functions::<SubstrateHostFunctions>(), ..Config::default() };
        let lab = Lab::new(host.guests.clone(), config).without_times();
        let lab = lab.sharing_artifacts(&terms.artifacts)?;
        Ok(Self { code, guest, lab, artifacts: terms.artifacts.clone() })
    }

    /// Compiles and loads the runtime and calls it once. Returns the time, ns. Fails if the engine
    /// does not support the strategy, or another mode is in force.
    pub(super) fn boot(
        &mut self,
        engine: &Arc<dyn MeasuredEngine>,
        strategy: Strategy,
    ) -> Result<(Box<dyn Client>, u64), Refused> {
        if let Support::Unsupported { reason } = engine.support_for(strategy, &self.guest) {
            return Err(Refused { status: Status::Unsupported, reason });
        }
        let mut compile_ns = 0;
        let started;
        let node = if !engine.capabilities().functions {
            started = Instant::now();
            baseline(engine.id(), strategy, self.code)?
        } else {
            let (guest, config) = (&self.guest, self.lab.config.clone());
            let heap = HeapPages::default();
            let loaded = self.lab.load_guest(&**engine, strategy, guest, heap, &config)?;
            let folder = ArtifactFolder::open(&self.artifacts)?;
            // Otherwise the executor below compiles it.
            if engine.restore(guest, strategy, &config, &folder)?.is_some() {
                compile_ns = loaded.compile_ns.unwrap_or(0);
            }
            let own = Arc::clone(engine);
            let executor = CodeExecutor::<SubstrateHostFunctions>::builder(own, strategy);
            started = Instant::now();
            Box::new(Node::new(executor.artifacts(folder).build(), self.code))
        };
        chain::query(&*node, &State::default(), "Core_version", &[]).map_err(failed)?;
        Ok((node, compile_ns + elapsed(started)))
    }
}

impl Run<'_> {
    /// Loads the runtime, and compares a genesis and a block with the stored ones.
    fn open(&mut self, executor: &Executor) -> Result<Side, Refused> {
        let engine = Arc::clone(self.host.engine(&executor.engine)?);
        let (node, boot) = self.boots.boot(&engine, executor.strategy)?;
        let started = Instant::now();
        let accounts = Accounts::new(self.sizes.accounts);
        let (genesis, state) = accounts.genesis(&*node).map_err(failed)?;
        let genesis_ns = elapsed(started);
        compare("genesis", &genesis.hash(), &self.block.header.parent)?;
        let built = chain::build(&*node, &state, &genesis, &self.block.extrinsics);
        compare("block", &built.map_err(failed)?, &self.block)?;
        let executed = chain::execute(&*node, &state, self.sizes.block).map_err(failed)?;
        let root = chain::commit(&mut state.clone(), executed);
        compare("root of the state", &root, &self.block.header.state_root)?;
        (self.parent, self.state) = (genesis, state);
        Ok(Side {
            executor: executor.clone(),
            node,
            boot_ns: boot,
            genesis_ns,
            calls: Vec::new(),
            builds: Vec::new(),
            executions: Vec::new(),
            spent: Duration::ZERO,
            failed: None,
        })
    }

    fn round(&self, side: &mut Side) -> Result<(), Refused> {
        let (node, state) = (&*side.node, &self.state);
        let began = Instant::now();
        for _ in 0..self.sizes.calls {
            chain::query(node, state, "Core_version", &[]).map_err(failed)?;
        }
        let calls = u64::from(self.sizes.calls);
        side.calls.push(elapsed(began) / calls);
        let started = Instant::now();
        chain::build(node, state, &self.parent, &self.block.extrinsics).map_err(failed)?;
        side.builds.push(elapsed(started));
        let started = Instant::now();
        chain::execute(node, state, self.sizes.block).map_err(failed)?;
        side.executions.push(elapsed(started));
        side.spent += began.elapsed();
        Ok(())
    }

    fn finish(&self, side: Side, verify: Duration) -> Result<Point, Refused> {
        if let Some(failed) = side.failed {
            return Err(failed);
        }
        let metered = self.metered(&side.executor)?;
        let queries = self.queries(&side)?;
        let samples =
            |all: &[u64]| Samples(all.iter().map(|ns| Sample::single(*ns as f64)).collect());
        let mut point = self
            .point(&side.executor)
            .values([
                ("accounts", self.sizes.accounts.into()),
                ("transfers", self.transfers().into()),
                ("boot_ns", side.boot_ns),
                ("genesis_ns", side.genesis_ns),
                ("verify_ns", ns(verify)),
            ])
            .samples("call_ns", samples(&side.calls))
            .samples("build_ns", samples(&side.builds))
            .samples("execute_ns", samples(&side.executions))
            .tail("queries", queries.tail());
        if let Some((calls, host, whole)) = metered {
            point = point.values([("host_calls", calls), ("host_ns", host), ("metered_ns", whole)]);
        }
        Ok(point)
    }

    /// Number and time of the calls of host functions in a block, and the time of that block, ns.
    /// The baseline calls host functions in a way that has no place for a clock.
    fn metered(&self, executor: &Executor) -> Result<Option<(u64, u64, u64)>, Refused> {
        let engine = self.host.engine(&executor.engine)?;
        if !engine.capabilities().functions {
            return Ok(None);
        }
        let folder = ArtifactFolder::open(&self.terms.artifacts)?;
        let metered = CodeExecutor::<Metered>::builder(Arc::clone(engine), executor.strategy);
        let node = Node::new(metered.artifacts(folder).build(), chain::RUNTIME);
        // The first time makes an instance.
        chain::execute(&node, &self.state, self.sizes.block).map_err(failed)?;
        chain::spent();
        let started = Instant::now();
        chain::execute(&node, &self.state, self.sizes.block).map_err(failed)?;
        let whole = elapsed(started);
        let spent = chain::spent();
        Ok(Some((spent.calls, ns(spent.time), whole)))
    }

    /// Queries on another thread while blocks are executed.
    fn queries(&self, side: &Side) -> Result<Tails, Refused> {
        let (node, over) = (&*side.node, AtomicBool::new(false));
        let executed = std::thread::scope(|scope| -> Result<Tails, String> {
            let state = self.state.clone();
            let asking = scope.spawn(|| {
                let asked = self.ask(node, state, &over);
                over.store(true, Ordering::Relaxed);
                asked
            });
            let (started, mut result) = (Instant::now(), Ok(()));
            while started.elapsed() < self.sizes.queries && !over.load(Ordering::Relaxed) {
                result = chain::execute(node, &self.state, self.sizes.block).map(drop);
                if result.is_err() {
                    break;
                }
            }
            over.store(true, Ordering::Relaxed);
            let asked = asking.join().map_err(|_| "the thread of queries panicked".to_owned())?;
            result.and(asked)
        });
        executed.map_err(failed)
    }

    /// Asks for the version and for the nonces of accounts, at random times.
    fn ask(&self, node: &dyn Client, state: State, over: &AtomicBool) -> Result<Tails, String> {
        let (accounts, mut tails) = (Accounts::new(self.sizes.accounts), Tails::default());
        let mut random = Random::new(!self.terms.seed);
        let version = chain::query(node, &state, "Core_version", &[])?;
        let mut planned = Instant::now();
        for number in 0_u64.. {
            let uniform = (random.next_number() >> 11) as f64 / (1_u64 << 53) as f64;
            planned += QUERY_EVERY.mul_f64(gap(uniform));
            while let Some(left) = planned.checked_duration_since(Instant::now()) {
                std::thread::sleep(left);
            }
            // A short run has a query, too.
            if number > 0 && over.load(Ordering::Relaxed) {
                break;
            }
            let is_right = match number % 2 {
                0 => chain::query(node, &state, "Core_version", &[])? == version,
                _ => {
                    let account = random.next_number() % u64::from(self.sizes.accounts);
                    chain::nonce(node, &state, accounts.id(account as usize))? == 0
                }
            };
            if !is_right {
                return Err("a query had a wrong answer".to_owned());
            }
            tails.record(elapsed(planned));
        }
        Ok(tails)
    }
}

pub(super) fn failed(reason: String) -> Refused {
    Refused::new(Status::Failed, reason)
}

pub(super) fn compare<T: PartialEq>(what: &str, own: &T, stored: &T) -> Result<(), Refused> {
    if own == stored {
        return Ok(());
    }
    let reason = format!("its {what} differs from the expected one");
    Err(Refused { status: Status::Wrong, reason })
}

/// Substrate's own executor, which takes host functions by their types and not from the contract.
#[cfg(feature = "substrate")]
fn baseline(
    engine: &str,
    strategy: Strategy,
    code: &'static [u8],
) -> Result<Box<dyn Client>, Refused> {
    use InstanceFrom::{Pooling, Recreate};
    use MemoryFrom::{CopyOnWrite, Segments};
    use touchstone_substrate_host::baseline::{Baseline, ENGINE, InstantiationStrategy};
    if engine != ENGINE {
        return Err(no_functions());
    }
    let instances = match (strategy.instance, strategy.memory) {
        (Pooling, CopyOnWrite) => InstantiationStrategy::PoolingCopyOnWrite,
        (Recreate, CopyOnWrite) => InstantiationStrategy::RecreateInstanceCopyOnWrite,
        (Recreate, Segments) => InstantiationStrategy::RecreateInstance,
        _ => return Err(anyhow::anyhow!("it has no such way of making instances").into()),
    };
    let executor = Baseline::<SubstrateHostFunctions>::new(instances);
    Ok(Box::new(Node::new(executor, code)))
}

#[cfg(not(feature = "substrate"))]
fn baseline(_: &str, _: Strategy, _: &'static [u8]) -> Result<Box<dyn Client>, Refused> {
    Err(no_functions())
}

fn no_functions() -> Refused {
    Refused::new(Status::Unsupported, "it takes no functions of the host".to_owned())
}
