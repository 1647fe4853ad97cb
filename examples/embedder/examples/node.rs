//! An executor for a node: a runtime with a storage of the host's and a function of its own.
//! `node ENGINE STRATEGY BLOCKS`, for instance `node wasmtime instance_reuse_tracked 10`.

use anyhow::{Context as _, Result, ensure};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;
use touchstone_executor::storage::{self, Storage, StorageError};
use touchstone_executor::*;

/// Transfers between accounts.
const RUNTIME: &[u8] = include_bytes!("../../../test-runtime/built/node-runtime.wasm");
const ACCOUNTS: u32 = 200;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// The state, below a copy for each open transaction.
struct Layers(Mutex<Vec<Map>>);

impl Layers {
    fn lock(&self) -> MutexGuard<'_, Vec<Map>> {
        self.0.lock().unwrap()
    }

    fn pop(&self) -> Result<Map, StorageError> {
        let mut layers = self.lock();
        if layers.len() < 2 {
            return Err(StorageError::NoTransaction);
        }
        Ok(layers.pop().unwrap_or_default())
    }
}

impl Storage for Layers {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        Ok(self.lock().last().and_then(|top| top.get(key).cloned()))
    }

    fn set(&self, key: &[u8], value: Option<&[u8]>) -> Result<(), StorageError> {
        if let Some(top) = self.lock().last_mut() {
            match value {
                Some(value) => top.insert(key.to_vec(), value.to_vec()),
                None => top.remove(key),
            };
        }
        Ok(())
    }

    fn next_key(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StorageError> {
        let range = (Bound::Excluded(key), Bound::Unbounded);
        let layers = self.lock();
        let next = layers.last().and_then(|top| top.range::<[u8], _>(range).next());
        Ok(next.map(|(key, _)| key.clone()))
    }

    /// A digest for the example.
    fn root(&self) -> Result<Vec<u8>, StorageError> {
        let layers = self.lock();
        let all = || layers.last().into_iter().flatten();
        let bytes = all().flat_map(|(key, value)| key.iter().chain(value));
        let sum = bytes.fold(all().count() as u64, |sum, byte| {
            sum.wrapping_mul(0x0100_0000_01b3) ^ u64::from(*byte)
        });
        Ok([sum.to_le_bytes(); 4].concat())
    }

    fn start(&self) -> Result<(), StorageError> {
        let top = self.lock().last().cloned().unwrap_or_default();
        self.lock().push(top);
        Ok(())
    }

    fn rollback(&self) -> Result<(), StorageError> {
        self.pop().map(drop)
    }

    fn commit(&self) -> Result<(), StorageError> {
        let top = self.pop()?;
        self.lock().last_mut().map(|below| *below = top).ok_or(StorageError::NoTransaction)
    }
}

fn main() -> Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let usage = "usage: node ENGINE STRATEGY BLOCKS";
    let [engine, strategy, blocks] = given.first_chunk().context(usage)?;
    let layers = Arc::new(Layers(Mutex::new(vec![Map::new()])));
    for account in 0..ACCOUNTS {
        let value = [&0_u32.to_le_bytes()[..], &1_000_000_u64.to_le_bytes()].concat();
        layers.set(&[&b"account:"[..], &account.to_be_bytes()].concat(), Some(&value))?;
    }
    let functions = Functions::standard().with(&storage::functions(Arc::clone(&layers) as _));
    let config = Config { functions, ..Config::default() };
    let engine = embedder::engine(engine)?;
    let (_, module) = embedder::load(&*engine, "node", RUNTIME, strategy.parse()?, &config)?;
    let (mut instance, mut output) = (module.new_instance()?, Vec::new());
    let mut call = |name: &str, input: &[u8]| -> Result<Vec<u8>> {
        let outcome = instance.call(module.export(name, Abi::Substrate)?, input, &mut output)?;
        ensure!(outcome == Outcome::Returned, "{name}: {outcome:?}");
        Ok(output.clone())
    };
    let (start, blocks): (_, u32) = (Instant::now(), blocks.parse()?);
    for number in 1..=blocks {
        call("Core_initialize_block", &number.to_le_bytes())?;
        for from in 0..100 {
            let transfer = [from, from + 100, number - 1, 10, 0].map(u32::to_le_bytes).concat();
            let applied = call("BlockBuilder_apply_extrinsic", &transfer)?;
            ensure!(applied == [0], "a transfer ended with {applied:?}");
        }
        let root = call("BlockBuilder_finalize_block", &[])?;
        println!("block {number}: root {:02x?}", root.last_chunk::<8>().context("no root")?);
    }
    println!(
        "{:?} a block of 102 calls, each on a clean instance",
        start.elapsed() / blocks.max(1)
    );
    Ok(())
}
