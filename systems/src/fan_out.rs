//! A state that many modules read: copied into each, or one region that all map.
//!
//! A producer makes a new state in each round. It either sends each reader a copy as input, or
//! writes to a [`Region`] that is mapped read-only at the end of each reader's memory. Each
//! reader's checksum is compared.
//!
//! [`integrity`] sends messages the same two ways. Their readers decode all values.

use anyhow::{Result, bail, ensure};
use fastrand::Rng;
use records_payload::{Color, Monster, Team, Vec3, Weapon, karmem};
use sha2::{Digest, Sha256};
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
/// Exports that read a message: in their input, and in their memory.
pub const DIGESTS: [&str; 2] = ["digest", "digest_at"];

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

pub struct Readers {
    pub instances: Vec<Box<dyn Instance>>,
    pub export: ExportId,
    /// Calls of each reader in a round: 1, or the number of others that it replaces.
    pub calls: usize,
}

/// Makes a state, lets all readers read it, and returns the time. Fails if a call fails or a
/// checksum is wrong.
pub fn round(producer: &mut Producer, readers: &mut Readers) -> Result<Duration> {
    let started = Instant::now();
    producer.produce();
    read(readers, &producer.message, &producer.checksum())?;
    Ok(started.elapsed())
}

fn read(readers: &mut Readers, input: &[u8], checksum: &[u8]) -> Result<()> {
    let mut output = Vec::new();
    for instance in &mut readers.instances {
        for _ in 0..readers.calls {
            let outcome = instance.call(readers.export, input, &mut output)?;
            check(&outcome, &output, checksum)?;
        }
    }
    Ok(())
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
        check(&outcome, &output, &producer.checksum())?;
    }
    let seen = look();
    readers.instances.iter_mut().try_for_each(|instance| instance.finish())?;
    Ok(seen)
}

fn check(outcome: &Outcome, output: &[u8], checksum: &[u8]) -> Result<()> {
    if let Outcome::Trapped(trap) = outcome {
        bail!("a reader trapped: {trap}");
    }
    ensure!(output == checksum, "a reader gave the checksum {output:?}, not {checksum:?}");
    Ok(())
}

/// A message of monsters in Karmem v1's format.
pub struct Message {
    pub bytes: Vec<u8>,
    /// SHA-256 of the encoded values as text.
    pub digest: [u8; 32],
}

impl Message {
    pub fn arbitrary(seed: u64) -> Self {
        let random = &mut Rng::with_seed(seed);
        let monsters: Vec<Monster> = (0..random.usize(..5)).map(|_| monster(random)).collect();
        let digest = Sha256::digest(format!("{monsters:?}")).into();
        Self { bytes: karmem::encode(&monsters, <[u8]>::to_vec), digest }
    }
}

/// Sends a message to all readers, as input or in a region at an address of their memories. Fails
/// if a call fails or a reader's digest is not that of the message.
pub fn integrity(
    message: &Message,
    readers: &mut Readers,
    region: Option<(&Region, u32)>,
) -> Result<()> {
    let Some((region, address)) = region else {
        return read(readers, &message.bytes, &message.digest);
    };
    region.write(&message.bytes);
    let place = [address, message.bytes.len() as u32].map(u32::to_le_bytes);
    read(readers, place.as_flattened(), &message.digest)
}

fn monster(random: &mut Rng) -> Monster {
    let point = |random: &mut Rng| {
        let [x, y, z] = [(); 3].map(|()| f32::from_bits(random.u32(..)));
        Vec3 { x, y, z }
    };
    let weapon = |random: &mut Rng| Weapon {
        damage: random.i32(..),
        ammo: random.u16(..),
        clip_size: random.u8(..),
        reload_time: f32::from_bits(random.u32(..)),
        range: random.i32(..),
    };
    Monster {
        pos: point(random),
        mana: random.i16(..),
        health: random.i16(..),
        name: (0..random.usize(..32)).map(|_| random.char(..)).collect(),
        team: Team::ENUM_VALUES[random.usize(..5)],
        inventory: (0..random.usize(..100)).map(|_| random.u8(..)).collect(),
        color: Color::ENUM_VALUES[random.usize(..3)],
        hitbox: [(); 5].map(|()| f64::from_bits(random.u64(..))),
        status: (0..random.usize(..10)).map(|_| random.i32(..)).collect(),
        weapons: [(); 4].map(|()| weapon(random)),
        path: (0..random.usize(..16)).map(|_| point(random)).collect(),
        is_alive: random.bool(),
    }
}
