//! A state that many modules read: copied into each, or one region that all map.
//!
//! A producer makes a new state in each round. It either sends each reader a copy as input, or
//! writes to a [`Region`] that is mapped read-only at the end of each reader's memory. Each
//! reader's checksum is compared.

use anyhow::{Result, bail, ensure};
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::memory::Region;
use touchstone_executor::{ExportId, Instance, Outcome};

/// Distance of the words that readers read: a cache line.
const STEP: u32 = 64;

/// Export that reads a state in its input.
pub const COPIED: &str = "checksum";
/// Export that reads a state in its memory.
pub const MAPPED: &str = "checksum_at";

/// Makes states.
pub struct Producer {
    state: Vec<u8>,
    /// Sum of all words that readers read, except the first one.
    rest: u64,
    round: u32,
    /// Receives the state instead of the message.
    region: Option<Arc<Region>>,
    /// Input of each reader.
    message: Vec<u8>,
}

impl Producer {
    /// A producer that sends each reader a copy of `length` bytes.
    pub fn copying(length: usize, seed: u64) -> Self {
        let mut producer = Self::new(length, seed);
        producer.message = [&STEP.to_le_bytes()[..], &producer.state].concat();
        producer
    }

    /// A producer that writes `length` bytes to a region, which readers have in their memories.
    pub fn mapping(length: usize, seed: u64, region: Arc<Region>, address: u32) -> Self {
        let mut producer = Self::new(length, seed);
        let numbers = [STEP, address, producer.state.len() as u32];
        producer.message = numbers.map(u32::to_le_bytes).concat();
        producer.region = Some(region);
        producer
    }

    fn new(length: usize, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut state = vec![0; length.max(STEP as usize)];
        random.fill(&mut state);
        let words = state.chunks(STEP as usize).skip(1).filter_map(|part| part.first_chunk());
        let rest = words.map(|word| u64::from(u32::from_le_bytes(*word))).sum();
        Self { state, rest, round: 0, region: None, message: Vec::new() }
    }

    /// Makes the next state and publishes it.
    fn produce(&mut self) {
        self.round = self.round.wrapping_add(1);
        self.state[..4].copy_from_slice(&self.round.to_le_bytes());
        match &self.region {
            Some(region) => region.write(&self.state),
            None => self.message[4..].copy_from_slice(&self.state),
        }
    }

    /// The right answer of each reader.
    fn checksum(&self) -> [u8; 8] {
        (self.rest + u64::from(self.round)).to_le_bytes()
    }
}

/// Readers of a state.
pub struct Readers {
    /// Their instances.
    pub instances: Vec<Box<dyn Instance>>,
    /// The export that reads.
    pub export: ExportId,
    /// Calls of each reader in a round: 1, or the number of others that it replaces.
    pub calls: usize,
}

/// Makes a state, lets all readers read it, and returns the time. Fails if a call fails or a
/// checksum is wrong.
pub fn round(producer: &mut Producer, readers: &mut Readers) -> Result<Duration> {
    let mut output = Vec::new();
    let started = Instant::now();
    producer.produce();
    let checksum = producer.checksum();
    for instance in &mut readers.instances {
        for _ in 0..readers.calls {
            let outcome = instance.call(readers.export, &producer.message, &mut output)?;
            check(&outcome, &output, checksum)?;
        }
    }
    Ok(started.elapsed())
}

/// Makes a state, lets all readers read it, and looks before the first instance is cleaned, when
/// all readers have the state. Fails if a call fails or a checksum is wrong.
pub fn look<T>(
    producer: &mut Producer,
    readers: &mut Readers,
    look: impl FnOnce() -> T,
) -> Result<T> {
    let mut output = Vec::new();
    producer.produce();
    for instance in &mut readers.instances {
        instance.prepare()?;
        output.clear();
        let outcome = instance.invoke(readers.export, &producer.message, &mut output, None)?;
        check(&outcome, &output, producer.checksum())?;
    }
    let seen = look();
    readers.instances.iter_mut().try_for_each(|instance| instance.finish())?;
    Ok(seen)
}

fn check(outcome: &Outcome, output: &[u8], checksum: [u8; 8]) -> Result<()> {
    if let Outcome::Trapped(trap) = outcome {
        bail!("a reader trapped: {trap}");
    }
    ensure!(output == checksum, "a reader gave the checksum {output:?}, not {checksum:?}");
    Ok(())
}
