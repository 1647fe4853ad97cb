//! A state that many modules read: copied into each, or one region that all have mapped.
//!
//! A producer makes a new state in each round. It either puts the state into a message that each
//! reader gets as its input, or writes it to a [`Region`] that is mapped, read-only, at the end of
//! each reader's memory. Each reader answers with a checksum, which is compared.

use anyhow::{Result, bail, ensure};
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::memory::Region;
use touchstone_executor::{ExportId, Instance, Outcome};

/// Bytes from one word that readers read to the next: a line of a processor's cache.
const STEP: u32 = 64;

/// Name of the export that reads a state in its input.
pub const COPIED: &str = "checksum";
/// Name of the export that reads a state in its memory.
pub const MAPPED: &str = "checksum_at";

/// Makes states.
pub struct Producer {
    state: Vec<u8>,
    /// The sum of all words that readers read, without the first one.
    rest: u64,
    round: u32,
    /// Where the state is put in place of the message, if anywhere.
    region: Option<Arc<Region>>,
    /// The input of each reader.
    message: Vec<u8>,
}

impl Producer {
    /// A producer of states of so many bytes that sends each reader its own copy.
    #[must_use]
    pub fn copying(length: usize, seed: u64) -> Self {
        let mut producer = Self::new(length, seed);
        producer.message = [&STEP.to_le_bytes()[..], &producer.state].concat();
        producer
    }

    /// A producer of states of so many bytes that writes to a region, which readers have at an
    /// address of their memories.
    #[must_use]
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

    /// Makes the next state and hands it on.
    fn produce(&mut self) {
        self.round = self.round.wrapping_add(1);
        self.state[..4].copy_from_slice(&self.round.to_le_bytes());
        match &self.region {
            Some(region) => region.write(&self.state),
            None => self.message[4..].copy_from_slice(&self.state),
        }
    }

    /// What each reader has to answer.
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
    /// How often each is called in a round: once, or as often as there are others to ask for it.
    pub calls: usize,
}

/// Makes a state, has it read by all, and gives the time.
///
/// # Errors
///
/// When a call fails or a checksum is wrong.
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

/// Makes a state and has it read by all, but looks before the first instance is made clean again:
/// then all readers have the state.
///
/// # Errors
///
/// When a call fails or a checksum is wrong.
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
        let outcome = instance.invoke(readers.export, &producer.message, &mut output)?;
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
