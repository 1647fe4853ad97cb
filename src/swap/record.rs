//! What was found, as it is stored.

use super::{Kind, Measured, Step, UnderLoad};
use crate::provenance;
use crate::record::{Provenance, SWAP, Sampling, SoakPoint, SwapFound, SwapRecord};
use std::time::Duration;
use touchstone_executor::{Engine, Strategy};

/// The name of the rung in records of a load.
const UNDER_LOAD: &str = "under_load";

/// As it stands in a record: the time of a rung.
#[must_use]
pub fn sampling(rung: Duration) -> Sampling {
    Sampling {
        name: SWAP.to_owned(),
        warm_up_ms: 0,
        measurement_ms: u64::try_from(rung.as_millis()).unwrap_or(u64::MAX),
        throughput_ms: 0,
    }
}

/// The record of a rung of a ladder.
#[must_use]
pub fn of_ladder(
    engine: &dyn Engine,
    kinds: &[Kind; 2],
    step: Step,
    measured: &Measured,
    provenance: &Provenance,
) -> SwapRecord {
    SwapRecord {
        rss_before_kib: measured.rss_before_kib,
        rss_after_kib: measured.rss_after_kib,
        found: SwapFound::Ladder {
            messages: measured.messages as u64,
            changes: measured.changes,
            per_message: measured.per_message.into(),
            per_sorted_message: measured.per_sorted_message.into(),
            per_swap: measured.per_swap.into(),
            per_message_with_swap: measured.per_message_with_swap.into(),
            rounds: measured.rounds.clone(),
        },
        ..blank(engine, kinds, step.name(), measured.strategy, provenance)
    }
}

/// The record of a load.
#[must_use]
pub fn of_load(
    engine: &dyn Engine,
    kinds: &[Kind; 2],
    threads: usize,
    seen: &UnderLoad,
    provenance: &Provenance,
) -> SwapRecord {
    SwapRecord {
        rss_before_kib: seen.rss_before_kib,
        rss_after_kib: seen.rss_after_kib,
        found: SwapFound::UnderLoad {
            threads: threads as u64,
            replacements: seen.replacements,
            instances_taken: seen.instances_taken,
            failed: seen.failed,
            wrong: seen.wrong,
            swapping: seen.swapping,
            still: seen.still,
        },
        ..blank(engine, kinds, UNDER_LOAD, seen.strategy, provenance)
    }
}

/// The record of a soak: swaps so far and KiB, as they were seen.
#[must_use]
pub fn of_soak(
    engine: &dyn Engine,
    kinds: &[Kind; 2],
    step: Step,
    (strategy, points): &(Strategy, Vec<(u64, u64)>),
    provenance: &Provenance,
) -> SwapRecord {
    let points: Vec<SoakPoint> =
        points.iter().map(|&(swaps, resident_kib)| SoakPoint { swaps, resident_kib }).collect();
    SwapRecord {
        rss_before_kib: points.first().map_or(0, |point| point.resident_kib),
        rss_after_kib: points.last().map_or(0, |point| point.resident_kib),
        found: SwapFound::Soak { points },
        ..blank(engine, kinds, step.name(), *strategy, provenance)
    }
}

fn blank(
    engine: &dyn Engine,
    kinds: &[Kind; 2],
    rung: &str,
    strategy: Strategy,
    provenance: &Provenance,
) -> SwapRecord {
    SwapRecord {
        engine: engine.id().to_owned(),
        rung: rung.to_owned(),
        strategy: strategy.to_string(),
        runtime_version: engine.version().to_owned(),
        guests: kinds.iter().map(|kind| kind.file.clone()).collect(),
        provenance: Provenance { recorded_at: provenance::now(), ..provenance.clone() },
        rss_before_kib: 0,
        rss_after_kib: 0,
        found: SwapFound::Soak { points: Vec::new() },
    }
}
