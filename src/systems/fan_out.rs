//! A state that many modules read.

use super::{Measuring, Size};
use crate::lab::{Lab, Refused};
use crate::measure::footprint;
use crate::record::{Executor, FanOut, Refusal, Shape, Status, System, SystemFound, Way};
use anyhow::Result;
use std::sync::Arc;
use std::time::{Duration, Instant};
use strum::VariantArray;
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::HeapPages;
use touchstone_executor::heap::WASM_PAGE;
use touchstone_executor::memory::Region;
use touchstone_executor::{CodeFrom, Config, Engine, InstanceFrom, MemoryFrom, Strategy, Support};
use touchstone_systems::fan_out::{COPIED, MAPPED, Producer, Readers, look, round};

/// The guest, and what the records call it.
const GUEST: &str = "fan-out";
/// Strategies with memories of Touchstone's: on one instance, and on a new one each call.
const STRATEGIES: [Strategy; 2] = {
    const fn tracked(instance: InstanceFrom) -> Strategy {
        Strategy { instance, memory: MemoryFrom::Tracked, code: CodeFrom::InProcess }
    }
    [tracked(InstanceFrom::Reuse), tracked(InstanceFrom::Recreate)]
};
/// Pages of 64 KiB that the guest has beside the state and its copies.
const BESIDE: u32 = 4;

/// What is measured on each executor.
struct Points {
    bytes: &'static [usize],
    /// Reads of a state by many.
    reads: &'static [u32],
    rounds: u32,
    time: Duration,
}

const FULL: Points = Points {
    bytes: &[64 << 10, 1 << 20, 16 << 20],
    reads: &[8, 64],
    rounds: 3,
    time: Duration::from_millis(100),
};
const SMALL: Points = Points { bytes: &[64 << 10], reads: &[3], rounds: 1, time: Duration::ZERO };

/// One measurement.
#[derive(Clone, Copy)]
struct Point {
    shape: Shape,
    way: Way,
    bytes: usize,
    reads: u32,
}

/// Measures it on every executor that the filter selects.
///
/// # Errors
///
/// When a record cannot be written.
pub(super) fn measure(measuring: &mut Measuring<'_>) -> Result<()> {
    let config = Config { instances: 64, ..Config::default() };
    let mut lab = Lab::new(measuring.guests.clone(), config).without_times();
    let points = match measuring.size {
        Size::Full => FULL,
        Size::Small => SMALL,
    };
    for (engine, strategy) in measuring.executors(&STRATEGIES) {
        let executor = Executor { engine: engine.id().to_owned(), strategy };
        measuring.progress.print(&format!("fan_out: {executor}"));
        for point in all(&points) {
            if measuring.stop.asked() {
                return Ok(());
            }
            match fan_out(&mut lab, &*engine, strategy, point, &points, measuring.seed) {
                Ok(found) => {
                    let found = SystemFound::FanOut(found);
                    measuring.found(System { executor: executor.clone(), found })?;
                }
                Err(Refused { status, reason }) => {
                    measuring.refused(Refusal {
                        engine: executor.engine.clone(),
                        strategy: Some(strategy),
                        guest: Some(GUEST.to_owned()),
                        case: Some("fan_out".to_owned()),
                        threads: None,
                        status,
                        reason,
                    })?;
                    // What refuses one refuses the others for the same reason.
                    break;
                }
            }
        }
    }
    Ok(())
}

/// All points, those of one size and shape after each other.
fn all(points: &Points) -> Vec<Point> {
    let mut all = Vec::new();
    for &bytes in points.bytes {
        for &shape in Shape::VARIANTS {
            let reads: &[u32] = if shape == Shape::Direct { &[1] } else { points.reads };
            for &reads in reads {
                all.extend(Way::VARIANTS.iter().map(|&way| Point { shape, way, bytes, reads }));
            }
        }
    }
    all
}

fn fan_out(
    lab: &mut Lab,
    engine: &dyn Engine,
    strategy: Strategy,
    point: Point,
    points: &Points,
    seed: u64,
) -> Result<FanOut, Refused> {
    // A copy alone says nothing, so an engine that cannot map is refused as a whole.
    if let Support::Unsupported { reason } = engine.maps_regions(strategy) {
        return Err(Refused { status: Status::Unsupported, reason });
    }
    let failed = |error: anyhow::Error| Refused::new(Status::Failed, error);
    let pages = point.bytes.div_ceil(WASM_PAGE) as u32;
    // The host's allocator gives blocks of powers of two, with the message's head in them.
    let room = if point.way == Way::Copied { 2 * pages } else { pages };
    let heap = HeapPages { extra: room + BESIDE, ..HeapPages::default() };
    let guest = lab.guests().module(GUEST, heap).map_err(failed)?;
    let region = match point.way {
        Way::Copied => None,
        Way::Mapped => {
            Some(Arc::new(Region::new(point.bytes).map_err(touchstone_executor::Error::from)?))
        }
    };
    let config = Config { region: region.clone(), ..lab.config().clone() };
    let loaded = lab.load_guest(engine, strategy, &guest, heap, &config)?;
    let (name, mut producer) = match region {
        None => (COPIED, Producer::copying(point.bytes, seed)),
        Some(region) => {
            let size = guest.info().memory.map_or(0, |limits| limits.initial_bytes());
            let address = size.saturating_sub(region.length()) as u32;
            (MAPPED, Producer::mapping(point.bytes, seed, region, address))
        }
    };
    let (instances, calls) = match point.shape {
        Shape::Direct => (1, 1),
        Shape::FanOut => (point.reads, 1),
        Shape::Singleton => (1, point.reads as usize),
    };
    let before = footprint().pss_kib;
    let instances = (0..instances).map(|_| loaded.instances.new_instance());
    let instances = instances.collect::<touchstone_executor::Result<_>>()?;
    let export = loaded.instances.export(name, Abi::Substrate)?;
    let mut readers = Readers { instances, export, calls };
    let used = look(&mut producer, &mut readers, || footprint().pss_kib).map_err(failed)?;
    round(&mut producer, &mut readers).map_err(failed)?;
    let (mut times, started) = (Vec::new(), Instant::now());
    while times.len() < points.rounds as usize || started.elapsed() < points.time {
        times.push(round(&mut producer, &mut readers).map_err(failed)?);
    }
    times.sort_unstable();
    let median = times[times.len() / 2];
    Ok(FanOut {
        shape: point.shape,
        way: point.way,
        bytes: point.bytes as u64,
        reads: point.reads,
        rounds: times.len() as u32,
        round_ns: u64::try_from(median.as_nanos()).unwrap_or(u64::MAX),
        memory_kib: used.saturating_sub(before),
    })
}
