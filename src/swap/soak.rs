//! A rung that swaps for long: does it leave memory behind?

use super::{Artifacts, Kind, Problem, Rung, Step, resident_kib};
use std::sync::Arc;
use touchstone_executor::{Config, Engine, Strategy};

/// Swaps after which a process has what it needs: allocators have taken their arenas.
const WARM: u64 = 1000;

/// Times that the memory is looked at, after the first.
const LOOKS: u64 = 10;

/// Makes so many swaps, each of them a message of the other kind, and gives the
/// strategy and the resident memory on the way: swaps so far, and KiB. The first point
/// is after 1000 swaps, or a tenth of fewer than ten times as many.
///
/// # Errors
///
/// [`Problem`], also for an answer other than the expected one.
pub fn soak(
    step: Step,
    engine: &Arc<dyn Engine>,
    kinds: &[Kind; 2],
    config: &Config,
    swaps: u64,
    mut progress: impl FnMut(u64, u64),
) -> Result<(Strategy, Vec<(u64, u64)>), Problem> {
    let mut rung = Rung::new(step, engine, kinds, &mut Artifacts::default(), config)?;
    let mut looks: Vec<u64> = (1..=LOOKS).map(|part| swaps * part / LOOKS).collect();
    looks.insert(0, WARM.min(swaps / LOOKS));
    looks.dedup();
    let mut points = Vec::new();
    let mut made = 0;
    for look in looks {
        while made < look {
            rung.send(1 - rung.last())?;
            made += 1;
        }
        let resident = resident_kib();
        progress(made, resident);
        points.push((made, resident));
    }
    Ok((rung.strategy(), points))
}
