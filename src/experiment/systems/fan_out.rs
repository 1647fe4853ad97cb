//! A state that many modules read.

use crate::experiment::{Ask, Asked, Host, Planned, Said, Say, Workload};
use crate::lab::{Lab, Loaded, Refused, ns};
use crate::measure::footprint;
use crate::record::{Place, Point, Status};
use anyhow::Result;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::guest::{HeapPages, WASM_PAGE};
use touchstone_executor::memory::Region;
use touchstone_executor::{Abi, Config, InstanceFrom, MemoryFrom, Strategy, Support};
use touchstone_systems::fan_out::{
    COPIED, DIGESTS, MAPPED, Message, Producer, Readers, integrity, look, round,
};

const GUEST: &str = "fan-out";
/// The guest that checks messages before anything is timed, and the number of messages.
const CONSUMER: &str = "integrity";
const MESSAGES: u64 = 8;
/// Strategies with memories of Touchstone's: on one instance, and on a new one each call.
const STRATEGIES: [Strategy; 2] = [
    Strategy::new(InstanceFrom::Reuse, MemoryFrom::Tracked),
    Strategy::new(InstanceFrom::Recreate, MemoryFrom::Tracked),
];
/// Pages of 64 KiB that the guest has beside the state and its copies.
const BESIDE: u32 = 4;

struct Sizes {
    bytes: &'static [usize],
    /// Reads of a state by many.
    reads: &'static [u32],
    rounds: u32,
    time: Duration,
}

const FULL: Sizes = Sizes {
    bytes: &[64 << 10, 1 << 20, 16 << 20],
    reads: &[8, 64],
    rounds: 3,
    time: Duration::from_millis(100),
};
const SMALL: Sizes = Sizes { bytes: &[64 << 10], reads: &[3], rounds: 1, time: Duration::ZERO };

/// Who reads a state: one instance once, many instances each once, or one instance many times.
const SHAPES: [&str; 3] = ["direct", "fan_out", "singleton"];
/// How a state gets to its readers: each call copies it, or each memory maps it, read-only.
const WAYS: [&str; 2] = ["copied", "mapped"];

#[derive(Clone, Copy)]
struct Reading {
    shape: &'static str,
    way: &'static str,
    bytes: usize,
    reads: u32,
}

impl Reading {
    fn on(self, place: &Place) -> Place {
        let place = place.clone().with("shape", self.shape).with("way", self.way);
        place.with("bytes", self.bytes as u64).with("reads", u64::from(self.reads))
    }
}

pub(super) struct Own;

impl Workload for Own {
    fn plan(&self, host: &mut Host, asked: &Asked) -> Result<Planned> {
        let questions = host.executors(asked, &STRATEGIES);
        Ok(Planned { questions, ..Planned::default() })
    }

    fn answer(&self, ask: Ask<'_>, say: &mut Say<'_>) -> Result<(), Refused> {
        let Ask { host, question, terms } = ask;
        let (engine, strategy) = host.executor(question)?;
        // A copy alone says nothing, so an engine that cannot map is refused as a whole.
        if let Support::Unsupported { reason } = engine.maps_regions(strategy) {
            return Err(Refused { status: Status::Unsupported, reason });
        }
        let config = Config { instances: 64, ..Config::default() };
        let lab = Lab::new(host.guests.clone(), config).without_times();
        let mut run = Run { lab, engine: &*engine, strategy, seed: terms.seed };
        for way in WAYS {
            run.compare(way)?;
        }
        let sizes = if terms.small { SMALL } else { FULL };
        for reading in all(&sizes) {
            let point = host.point(reading.on(&question.place), question.number());
            // What refuses one refuses the others for the same reason.
            say(Said::point(run.read(reading, &sizes, point)?));
        }
        Ok(())
    }
}

/// All measurements, those of one size and shape after each other.
fn all(sizes: &Sizes) -> Vec<Reading> {
    let mut all = Vec::new();
    for &bytes in sizes.bytes {
        for shape in SHAPES {
            let reads: &[u32] = if shape == "direct" { &[1] } else { sizes.reads };
            for &reads in reads {
                all.extend(WAYS.map(|way| Reading { shape, way, bytes, reads }));
            }
        }
    }
    all
}

/// New instances that read by an export, and the number of their calls.
fn readers(loaded: &Loaded, name: &str, number: u32, calls: usize) -> Result<Readers, Refused> {
    let instances = (0..number).map(|_| loaded.instances.module.new_instance());
    let instances = instances.collect::<touchstone_executor::Result<_>>()?;
    let export = loaded.instances.module.export(name, Abi::Substrate)?;
    Ok(Readers { instances, export, calls })
}

struct Run<'a> {
    lab: Lab,
    engine: &'a dyn MeasuredEngine,
    strategy: Strategy,
    seed: u64,
}

/// A loaded guest, and the region with its address in memories, if they have one.
type Opened = (Loaded, Option<(Arc<Region>, u32)>);

impl Run<'_> {
    fn open(&mut self, guest: &str, way: &str, bytes: usize) -> Result<Opened, Refused> {
        let pages = bytes.div_ceil(WASM_PAGE) as u32;
        // The host's allocator gives blocks of powers of two, with the message's head in them.
        let is_mapped = way == "mapped";
        let room = if is_mapped { pages } else { 2 * pages };
        let heap = HeapPages { extra: room + BESIDE, ..HeapPages::default() };
        let guest = self.lab.guests.module(guest, heap)?;
        let region = is_mapped.then(|| Region::new(bytes).map(Arc::new)).transpose();
        let region = region.map_err(touchstone_executor::Error::from)?;
        let config = Config { region: region.clone(), ..self.lab.config.clone() };
        let loaded = self.lab.load_guest(self.engine, self.strategy, &guest, heap, &config)?;
        let size = guest.info().memory.map_or(0, |limits| limits.initial_bytes());
        let region = region.map(|region| {
            let address = size.saturating_sub(region.length()) as u32;
            (region, address)
        });
        Ok((loaded, region))
    }

    /// Compares digests of arbitrary messages, which three instances read twice.
    fn compare(&mut self, way: &str) -> Result<(), Refused> {
        let (loaded, region) = self.open(CONSUMER, way, WASM_PAGE)?;
        let name = DIGESTS[usize::from(region.is_some())];
        let mut readers = readers(&loaded, name, 3, 2)?;
        let region = region.as_ref().map(|(region, address)| (&**region, *address));
        for seed in (0..MESSAGES).map(|number| self.seed.wrapping_add(number)) {
            integrity(&Message::arbitrary(seed), &mut readers, region)?;
        }
        Ok(())
    }

    fn read(&mut self, reading: Reading, sizes: &Sizes, point: Point) -> Result<Point, Refused> {
        let (loaded, region) = self.open(GUEST, reading.way, reading.bytes)?;
        let (bytes, seed) = (reading.bytes, self.seed);
        let (name, mut producer) = match region {
            None => (COPIED, Producer::copying(bytes, seed)),
            Some((region, address)) => (MAPPED, Producer::mapping(bytes, seed, region, address)),
        };
        let (instances, calls) = match reading.shape {
            "fan_out" => (reading.reads, 1),
            _ => (1, reading.reads as usize),
        };
        let before = footprint().pss_kib;
        let mut readers = readers(&loaded, name, instances, calls)?;
        let used = look(&mut producer, &mut readers, || footprint().pss_kib)?;
        round(&mut producer, &mut readers)?;
        let (mut times, started) = (Vec::new(), Instant::now());
        while times.len() < sizes.rounds as usize || started.elapsed() < sizes.time {
            times.push(round(&mut producer, &mut readers)?);
        }
        times.sort_unstable();
        let median = times[times.len() / 2];
        Ok(point.values([
            ("rounds", times.len() as u64),
            ("round_ns", ns(median)),
            ("memory_kib", used.saturating_sub(before)),
        ]))
    }
}
