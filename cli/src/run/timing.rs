//! Times combinations whose outputs agree, in turns with a baseline.

use super::answer::State;
use super::follow::Workers;
use super::row::Row;
use super::worker::{Loader, Step, Task, engine};
use anyhow::{Context, Result, anyhow};
use std::time::Duration;
use touchstone::compare::{Judged, MARGIN, judge};
use touchstone::measure::{Caller, Crew, Work, turns};
use touchstone::plan::{Budget, Random, near};
use touchstone::record::{Comparison, Contender, Estimate, Executor, Match, Purpose, estimate};
use touchstone::solo::{self, Limits};
use touchstone::terminal::progress::Progress;

/// Processes per combination: each has another address layout.
const PROCESSES: u32 = 3;
/// Longest time of such a process, without compiling: calls have no deadline in it.
const LIMIT: Duration = Duration::from_secs(3600);

/// The time of one combination.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Times {
    /// ns of a call.
    pub(super) call: Estimate,
    /// Judged against the baseline.
    pub(super) judged: Judged,
    /// `true` for the baseline itself.
    pub(super) is_baseline: bool,
}

/// Times every row that returned, for about `each`. Loads modules again without a deadline, which
/// costs time in every loop. Ends early after Ctrl-C. Fails if no row that returned is the
/// baseline.
pub(super) fn time(
    workers: &Workers,
    rows: &mut [Row],
    each: Duration,
    baseline: Option<&str>,
) -> Result<()> {
    let has_returned = |row: &&Row| row.state() == Some(State::Returned);
    let is_meant = |row: &&Row| baseline.is_none_or(|name| row.name() == name);
    let baseline = rows.iter().filter(has_returned).find(is_meant).with_context(|| {
        let names: Vec<String> = rows.iter().filter(has_returned).map(Row::name).collect();
        let wanted = baseline.unwrap_or_default();
        format!("no combination '{wanted}' returned{}", near(wanted, &names))
    })?;
    let baseline = baseline.executor();
    let progress = Progress::new(rows.iter().filter(has_returned).count(), true);
    for row in rows.iter_mut().filter(|row| row.state() == Some(State::Returned)) {
        progress.next(format!("timing {}", row.name()));
        match compare(workers, row.executor(), &baseline, each)? {
            Some(times) => row.times = Some(times.map_err(|error| format!("{error:#}"))),
            None => return Ok(()),
        }
    }
    Ok(())
}

/// The times of a combination; `None` after Ctrl-C.
fn compare(
    workers: &Workers,
    subject: Executor,
    baseline: &Executor,
    each: Duration,
) -> Result<Option<Result<Times>>> {
    let mut all = Vec::new();
    for process in 0..PROCESSES {
        let task = Task::Time {
            subject: subject.clone(),
            baseline: baseline.clone(),
            each: each / PROCESSES,
            process,
        };
        let time = workers.limits.compile.saturating_mul(2).saturating_add(LIMIT).min(2 * LIMIT);
        let limits = Limits { memory: workers.limits.memory, time };
        let (ask, command) = (workers.ask(task), Workers::command());
        match solo::ask::<_, Step, Option<Comparison>>(&ask, command, limits, &workers.stop, drop) {
            Ok(Some(comparison)) => all.extend(comparison),
            Ok(None) => return Ok(None),
            Err(refused) => return Ok(Some(Err(refused.into()))),
        }
    }
    Ok(Some(times(&all, subject == *baseline)))
}

fn times(all: &[Comparison], is_baseline: bool) -> Result<Times> {
    let judged = judge(all, MARGIN).context("no round was made")?;
    let rounds = all.iter().flat_map(Comparison::timed).filter(|(_, is_clean)| *is_clean);
    let clean = rounds.map(|((subject, _), _)| subject);
    let unknown = Estimate { median: judged.subject_ns, interval: None, marked: true };
    let call = estimate::of_values(&clean.collect::<Vec<f64>>()).unwrap_or(unknown);
    let call = Estimate { marked: judged.ratio.marked, ..call };
    Ok(Times { call, judged, is_baseline })
}

/// Times both sides in turns, in the process of a worker, for about `share`. Fails if a side cannot
/// be loaded, or does not return the same twice.
pub(super) fn turn(
    loader: &mut Loader,
    subject: &Executor,
    baseline: &Executor,
    share: Duration,
    process: u32,
) -> Result<Comparison> {
    let contender = |executor: &Executor| Contender::new(executor.clone(), 1);
    let of = Match {
        purpose: Purpose::Asked,
        case: loader.call.export.clone(),
        guest: loader.call.name.clone(),
        second: None,
        subject: contender(subject),
        baseline: contender(baseline),
    };
    let quick = Budget { retry: share, cell: share, ..Budget::quick(1) };
    let fit = share.as_micros() / (quick.sample.as_micros() * 2).max(1);
    let budget =
        Budget { rounds: usize::try_from(fit).unwrap_or(usize::MAX).clamp(3, 40), ..quick };
    let (mut subject, mut reference) = (side(loader, subject)?, side(loader, baseline)?);
    let mut random = Random::new(u64::from(process) + 1);
    let (rounds, noisy) = turns(&mut subject, &mut reference, &budget, &mut random)?;
    Ok(Comparison { of, process, rounds, noisy })
}

fn side(loader: &mut Loader, executor: &Executor) -> Result<Crew> {
    let engine = engine(&executor.engine)?;
    let loaded = loader.load(&*engine, executor.strategy, &mut |_| {});
    let loaded = loaded.map_err(|answer| anyhow!(answer.reason.unwrap_or_default()))?;
    let mut instance = loaded.instances.take()?;
    let export = loaded.instances.export(&loader.call.export, loader.call.abi)?;
    // The expected output of every call, compared before.
    let mut expected = Vec::new();
    if let Some(trap) = instance.call(export, &loader.input, &mut expected)?.trap() {
        return Err(anyhow!("the guest trapped: {trap}"));
    }
    loaded.instances.give_back(instance);
    let input = loader.input.as_slice().into();
    let (export, abi) = (&loader.call.export, loader.call.abi);
    let opened = loaded.open_call(export, abi, input, expected.into(), None)?;
    Crew::start(1, move || Ok(Box::new(Caller::new(&opened)?) as Box<dyn Work>))
}
