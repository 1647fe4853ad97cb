//! Many samples, on all cores, for as long as one says.

use super::compare::{Failure, compare, plain};
use super::sample::{Id, Sample};
use super::tally::Tally;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::{CodeFrom, Strategy};

/// Engines that compile with LLVM, slowly.
const SLOW: [&str; 2] = ["wasmedge_aot", "wasmedge_jit"];
/// One module in so many goes to the slow engines.
const SLOW_EVERY: u64 = 10;
/// One module in so many has its code loaded from files too: the rest of those
/// strategies is what the others have.
const FILES_EVERY: u64 = 8;
/// Modules between two lines of progress.
const BATCH: u64 = 200;

/// How much of what there is each module goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    /// Every strategy of every engine.
    All,
    /// The same, but for slow compilers and code from files, which take their
    /// turns.
    Most,
    /// Of the engines of one runtime each module goes to one under every
    /// strategy, in turns, and to the others under the plain one.
    Turns,
}

impl Share {
    fn has(
        self,
        index: u64,
        engines: &[Arc<dyn MeasuredEngine>],
        id: &str,
        strategy: Strategy,
    ) -> bool {
        if self == Self::All {
            return true;
        }
        let slow = SLOW.contains(&id) && !index.is_multiple_of(SLOW_EVERY);
        let file = strategy.code == CodeFrom::Precompiled && !index.is_multiple_of(FILES_EVERY);
        if slow || file {
            return false;
        }
        self == Self::Most || plain().contains(&strategy) || {
            let runtime = |id: &str| id.split('_').next().unwrap_or_default().to_owned();
            let family = engines.iter().map(|engine| engine.id());
            let family: Vec<_> = family
                .filter(|other| runtime(other) == runtime(id) && !SLOW.contains(other))
                .collect();
            SLOW.contains(&id) || family[index as usize % family.len()] == id
        }
    }
}

/// All cores, and the engines they compare.
pub(crate) struct Workers {
    engines: Vec<Arc<dyn MeasuredEngine>>,
    share: Share,
}

impl Workers {
    pub(crate) fn new(engines: Vec<Arc<dyn MeasuredEngine>>, share: Share) -> Self {
        Self { engines, share }
    }

    /// The samples of a seed. `going` is asked before each of them.
    ///
    /// # Errors
    ///
    /// What is needed to see the first difference again.
    pub(crate) fn run(
        &self,
        seed: u64,
        indices: Range<u64>,
        going: impl Fn(u64) -> bool + Sync,
    ) -> Result<Tally, String> {
        indices
            .into_par_iter()
            .filter(|index| going(*index))
            .map(|index| self.one(Id { seed, index }))
            .try_reduce(Tally::default, |mut one, other| {
                one.add(other);
                Ok(one)
            })
    }

    fn one(&self, id: Id) -> Result<Tally, String> {
        let mut tally = Tally::default();
        let sample = match Sample::new(id) {
            Ok(sample) => sample,
            Err(reason) => {
                tally.refuse("no engine", &reason);
                return Ok(tally);
            }
        };
        if std::env::var_os("FUZZ_TRACE").is_some() {
            // For what ends the process without a word, or never ends.
            let calls = sample.steps.iter().map(|step| format!("  {step}\n"));
            eprint!("seed {} index {}\n{}", id.seed, id.index, calls.collect::<String>());
        }
        let chosen = |engine: &dyn MeasuredEngine, strategy: Strategy| {
            self.share.has(id.index, &self.engines, engine.id(), strategy)
        };
        // A panic is a failure of this sample, and has to name it.
        let compared =
            catch_unwind(AssertUnwindSafe(|| compare(&sample, &self.engines, &chosen, &mut tally)));
        match compared {
            Ok(Ok(())) => Ok(tally),
            Ok(Err(failure)) => Err(failure.describe(&sample)),
            Err(_) => Err(Failure::panic().describe(&sample)),
        }
    }

    fn go_on(&self, seed: u64) -> Result<Tally, String> {
        let seconds = number("FUZZ_SECONDS")?.unwrap_or(600);
        let started = Instant::now();
        let going = |_| started.elapsed() < Duration::from_secs(seconds);
        let mut tally = Tally::default();
        for batch in 0.. {
            tally.add(self.run(seed, batch * BATCH..(batch + 1) * BATCH, going)?);
            println!("{:>5} s: {tally}", started.elapsed().as_secs());
            if !going(0) {
                break;
            }
        }
        Ok(tally)
    }
}

/// Runs as the environment says: `FUZZ_SEED`, and `FUZZ_SECONDS` or the one `FUZZ_INDEX`.
///
/// # Errors
///
/// The command that reproduces the first difference.
pub(crate) fn run_as_told(engines: Vec<Arc<dyn MeasuredEngine>>) -> Result<Tally, String> {
    let seed = number("FUZZ_SEED")?.unwrap_or(1);
    match number("FUZZ_INDEX")? {
        Some(index) => Workers::new(engines, Share::All).run(seed, index..index + 1, |_| true),
        None => Workers::new(engines, Share::Turns).go_on(seed),
    }
}

fn number(name: &str) -> Result<Option<u64>, String> {
    match std::env::var(name) {
        Ok(text) if !text.is_empty() => {
            text.parse().map(Some).map_err(|_| format!("{name} is not a number: '{text}'"))
        }
        _ => Ok(None),
    }
}

/// Omitted modules by reason, most frequent first.
pub(crate) fn reasons(tally: &Tally) -> String {
    let mut refused: Vec<_> = tally.refused.iter().collect();
    refused.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let lines = refused.into_iter().map(|(reason, count)| format!("{count:>8} left out: {reason}"));
    lines.collect::<Vec<_>>().join("\n")
}
