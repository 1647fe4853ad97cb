//! Making blocks while queries arrive.

use super::chain::{account_key, balance};
use super::{Base, Blocks, Chain, Database, Queries, Root, Snapshot};
use crate::load::gap;
use anyhow::{Context, Result, ensure};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use touchstone_executor::storage::Storage;

/// A call of the runtime guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Initialize,
    Apply,
    Finalize,
    Balance,
}

impl Call {
    pub const ALL: [Self; 4] = [Self::Initialize, Self::Apply, Self::Finalize, Self::Balance];

    pub const fn export(self) -> &'static str {
        match self {
            Self::Initialize => "Core_initialize_block",
            Self::Apply => "BlockBuilder_apply_extrinsic",
            Self::Finalize => "BlockBuilder_finalize_block",
            Self::Balance => "AccountApi_balance",
        }
    }
}

/// A loaded runtime guest: makes a call on a clean instance.
pub type Runtime = Box<dyn FnMut(Call, &[u8], &mut Vec<u8>) -> Result<()> + Send>;

#[derive(Debug, Clone)]
pub struct Settings {
    pub folder: PathBuf,
    pub accounts: u32,
    pub transfers: u32,
    pub blocks: u32,
    /// Least duration.
    pub time: Duration,
    /// Mean time between two queries.
    pub query_every: Duration,
    pub seed: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Found {
    pub blocks: u64,
    pub total: Duration,
    /// Time inside calls of the guest, storage included.
    pub calls: Duration,
    /// Time inside the storage.
    pub storage: Duration,
    pub commit: Duration,
    pub storage_calls: u64,
}

/// Makes blocks with the first runtime, while the second one answers queries. `load` makes a
/// runtime over a storage; `latency` gets the time from the planned arrival of a query to its
/// answer, ns. Every root, every answer and all final balances are compared with those of
/// [`Chain`].
pub fn run(
    settings: &Settings,
    mut load: impl FnMut(Arc<dyn Storage>) -> Result<Runtime>,
    latency: impl FnMut(u64) + Send,
) -> Result<Found> {
    let chain = Chain::new(settings.accounts, settings.seed);
    let database = Database::create(&settings.folder)?;
    database.commit(&chain.accounts())?;
    let state = Arc::new(database.snapshot()?);
    let (blocks, queries) = (Arc::new(Blocks::default()), Arc::new(Queries::new(state)));
    let mut maker = Maker { chain, database, blocks, queries, found: Found::default() };
    let mut own = load(Arc::clone(&maker.blocks) as Arc<dyn Storage>)?;
    let other = load(Arc::clone(&maker.queries) as Arc<dyn Storage>)?;
    let over = AtomicBool::new(false);
    let queries = Arc::clone(&maker.queries);
    std::thread::scope(|scope| -> Result<()> {
        let asking = scope.spawn(|| {
            let asked = ask(settings, &queries, other, latency, &over);
            over.store(true, Ordering::Relaxed);
            asked
        });
        let made = maker.make(settings, &mut own, &over);
        over.store(true, Ordering::Relaxed);
        let asked = asking.join().map_err(|_| anyhow::anyhow!("the thread of queries panicked"))?;
        made.and(asked)
    })?;
    maker.compare()?;
    Ok(maker.found)
}

struct Maker {
    chain: Chain,
    database: Database,
    blocks: Arc<Blocks>,
    queries: Arc<Queries>,
    found: Found,
}

impl Maker {
    fn make(&mut self, settings: &Settings, guest: &mut Runtime, over: &AtomicBool) -> Result<()> {
        let mut root = Root::default();
        let enough =
            |found: &Found| found.blocks >= settings.blocks.into() && found.total >= settings.time;
        // An error of the queries ends the blocks too.
        while !enough(&self.found) && !over.load(Ordering::Relaxed) {
            root = self.block(settings.transfers, root, guest)?;
        }
        (self.found.storage_calls, self.found.storage) = self.blocks.spent();
        Ok(())
    }

    fn block(&mut self, transfers: u32, parent: Root, guest: &mut Runtime) -> Result<Root> {
        let block = self.chain.next_block(transfers);
        let at = || format!("block {}", block.number);
        let mut inside = Duration::ZERO;
        let mut output = Vec::new();
        let mut call = |call: Call, input: &[u8], output: &mut Vec<u8>| {
            let started = Instant::now();
            guest(call, input, output).with_context(|| format!("{}, {call:?}", at()))?;
            inside += started.elapsed();
            anyhow::Ok(())
        };
        let started = Instant::now();
        self.blocks.begin(self.queries.newest(), parent);
        call(Call::Initialize, &block.number.to_le_bytes(), &mut output)?;
        for (transfer, expected) in &block.transfers {
            call(Call::Apply, &transfer.encode(), &mut output)?;
            ensure!(
                output == [*expected as u8],
                "{}: a transfer ended with {output:?}, not as {expected:?}",
                at()
            );
        }
        call(Call::Finalize, &[], &mut output)?;
        let committing = Instant::now();
        self.database.commit(&self.blocks.end())?;
        self.queries.publish(Arc::new(self.database.snapshot()?));
        self.found.commit += committing.elapsed();
        self.found.total += started.elapsed();
        self.found.calls += inside;
        self.found.blocks += 1;
        let header = [&block.number.to_le_bytes()[..], &block.root[..]].concat();
        ensure!(output == header, "{}: its number or its root is wrong", at());
        Ok(block.root)
    }

    /// Compares the accounts in the database with the chain.
    fn compare(&self) -> Result<()> {
        let state = self.database.snapshot()?;
        for (key, account) in self.chain.accounts() {
            ensure!(state.get(&key)? == account, "the balance of an account is wrong");
        }
        Ok(())
    }
}

/// Queries balances at random times, until the end.
fn ask(
    settings: &Settings,
    queries: &Queries,
    mut guest: Runtime,
    mut latency: impl FnMut(u64),
    over: &AtomicBool,
) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(!settings.seed);
    let mut output = Vec::new();
    let mut planned = Instant::now();
    // Before the first query: the first call of an instance takes longer.
    ask_once(queries, &mut guest, 0, &mut output)?;
    loop {
        planned += settings.query_every.mul_f64(gap(random.f64()));
        while let Some(left) = planned.checked_duration_since(Instant::now()) {
            if over.load(Ordering::Relaxed) {
                return Ok(());
            }
            std::thread::sleep(left.min(Duration::from_millis(10)));
        }
        // A query that still waits at the end counts with its waiting time.
        if !over.load(Ordering::Relaxed) {
            let account = random.u32(..settings.accounts.max(1));
            ask_once(queries, &mut guest, account, &mut output)?;
        }
        latency(u64::try_from(planned.elapsed().as_nanos()).unwrap_or(u64::MAX));
    }
}

fn ask_once(
    queries: &Queries,
    guest: &mut Runtime,
    account: u32,
    output: &mut Vec<u8>,
) -> Result<()> {
    let state: Arc<Snapshot> = queries.pin();
    guest(Call::Balance, &account.to_le_bytes(), output).context("a query")?;
    let value = state.get(&account_key(account))?.unwrap_or_default();
    ensure!(*output == balance(&value).to_le_bytes(), "a query gave {output:?}");
    Ok(())
}
