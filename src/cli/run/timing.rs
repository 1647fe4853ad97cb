//! `--bench`: the call on each combination, in turns.

use super::chosen::{Answer, Chosen, Loader, Row};
use super::target::Target;
use crate::cli::progress::Progress;
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone::measure::Caller;
use touchstone::session::{Instances, Opened};
use touchstone::stats::{Estimate, estimate};
use touchstone_executor::Module;

/// Each combination is timed once a round. As many samples have an interval
/// that leaves out five on either side, and drift of the machine hits all alike.
const ROUNDS: u32 = 20;
/// Slow calls get fewer rounds, but not fewer than an interval needs.
const FEWEST: usize = 6;
/// A first call as long as this is a sample itself: what an instance sets up
/// once does not show in it.
const LONG: Duration = Duration::from_millis(500);
/// Share of a round that warms up, in parts of the round: instances are made
/// anew in each round, so that no two combinations hold memory at once.
const WARM_UP: u32 = 5;

/// What one combination took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Times {
    /// ns of a call.
    pub(super) call: Estimate,
    /// Calls that were timed.
    pub(super) calls: u64,
}

/// One combination while it is timed.
struct Timed {
    module: Arc<dyn Module>,
    opened: Opened,
    samples: Vec<f64>,
    calls: u64,
    spent: Duration,
    broken: Option<String>,
}

/// Times every row that returned, for about `each`; `None` for the others.
/// Modules are loaded anew, because a deadline costs time on every loop.
pub(super) fn time(
    target: &Target,
    rows: &[Row],
    each: Duration,
) -> Vec<Option<Result<Times, String>>> {
    let mut loader = Loader::new(target, None, false);
    let output = |row: &Row| match &row.answer {
        Answer::Returned(output) => Some(Arc::from(&output[..])),
        _ => None,
    };
    let steps = rows.iter().filter_map(output).count() * (ROUNDS as usize + 1);
    let progress = Progress::new(steps, true);
    let mut timed: Vec<Option<Result<Timed, String>>> = rows
        .iter()
        .map(|row| {
            output(row).map(|expected| {
                progress.next(format!("loading {}", row.chosen.name()));
                open(&mut loader, target, &row.chosen, expected)
            })
        })
        .collect();
    for round in 0..ROUNDS {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        // So that nobody always comes after the same neighbour.
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            if let Some(Ok(one)) = &mut timed[index] {
                progress.next(format!("timing {}", rows[index].chosen.name()));
                if one.wants_more(each) {
                    one.round(each / ROUNDS);
                }
            }
        }
    }
    timed.into_iter().map(|one| one.map(|one| one?.result())).collect()
}

fn open(
    loader: &mut Loader<'_>,
    target: &Target,
    chosen: &Chosen,
    expected: Arc<[u8]>,
) -> Result<Timed, String> {
    let config = loader.config();
    let module: Arc<dyn Module> =
        loader.load(chosen, &config).map_err(|answer| answer.reason().unwrap_or_default())?.into();
    let export = module.export(&target.export, target.abi).map_err(|error| format!("{error:#}"))?;
    let opened = Opened {
        take: None,
        effective: module.effective(),
        instances: Instances::new(Arc::clone(&module)),
        export,
        input: target.input.clone().into(),
        expected,
        support: chosen.support.clone(),
        // Not shown here.
        compile_ns: 0,
        load_ns: 0,
        first_call_ns: 0,
        estimate_ns: 0,
        artifact_bytes: 0,
    };
    Ok(Timed { module, opened, samples: Vec::new(), calls: 0, spent: Duration::ZERO, broken: None })
}

impl Timed {
    fn wants_more(&self, each: Duration) -> bool {
        self.broken.is_none() && (self.spent < each || self.samples.len() < FEWEST)
    }

    fn round(&mut self, time: Duration) {
        if let Err(error) = self.sample(time) {
            self.broken = Some(format!("{error:#}"));
        }
        // Drops the round's instance, which would wait for the next round.
        self.opened.instances = Instances::new(Arc::clone(&self.module));
    }

    /// One sample on a new instance, after a warm-up that also tells how many
    /// calls fill the round.
    fn sample(&mut self, time: Duration) -> anyhow::Result<()> {
        let mut caller = Caller::new(&self.opened)?;
        let (mut calls, mut took) = (1, caller.time(1)?);
        if took < LONG {
            // What is spent counts from here: making an instance may take far
            // longer than the calls on it.
            let started = Instant::now();
            while took < time / WARM_UP / 2 {
                calls *= 2;
                took = caller.time(calls)?;
            }
            let left = time.saturating_sub(time / WARM_UP).as_nanos() as f64;
            let per_call = took.as_nanos() as f64 / calls as f64;
            calls = (left / per_call.max(1.0)).max(1.0) as u64;
            took = caller.time(calls)?;
            self.spent += started.elapsed();
        } else {
            self.spent += took;
        }
        self.samples.push(took.as_nanos() as f64 / calls as f64);
        self.calls += calls;
        Ok(())
    }

    fn result(self) -> Result<Times, String> {
        match (self.broken, estimate(&self.samples)) {
            (None, Some(call)) => Ok(Times { call, calls: self.calls }),
            (broken, _) => Err(broken.unwrap_or_else(|| "nothing was timed".to_owned())),
        }
    }
}
