//! `--bench`: the call on each combination, in turns with the baseline.

use super::row::{Loader, Row};
use super::target::Target;
use anyhow::{Context, Result, anyhow};
use std::time::Duration;
use touchstone::compare::{Judged, MARGIN, judge};
use touchstone::measure::{Caller, Crew, Work, turns};
use touchstone::plan::{Budget, Random};
use touchstone::record::{
    Comparison, Contender, Estimate, Executor, Match, Means, Purpose, estimate,
};
use touchstone::terminal::progress::Progress;

/// Number of times that both sides are loaded anew: each has another address layout.
const SET_UPS: u32 = 3;

/// The time of one combination.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Times {
    /// ns of a call.
    pub(super) call: Estimate,
    /// Against the baseline.
    pub(super) judged: Judged,
    /// Whether this is the baseline itself.
    pub(super) is_baseline: bool,
}

/// Times every row that returned, for about `each`; `None` for the others. Modules are
/// loaded anew, because a deadline costs time in every loop.
///
/// # Errors
///
/// When no row that returned has the baseline's name.
pub(super) fn time(
    target: &Target,
    rows: &[Row],
    each: Duration,
    baseline: Option<&str>,
) -> Result<Vec<Option<Result<Times, String>>>> {
    let returned = || rows.iter().filter(|row| row.has_returned());
    let is_meant = |row: &&Row| baseline.is_none_or(|name| row.name() == name);
    let baseline = returned().find(is_meant).with_context(|| {
        let names: Vec<String> = returned().map(Row::name).collect();
        format!("the baseline is one of: {}", names.join(", "))
    })?;
    let mut loader = Loader::new(target, None, false);
    let mut random = Random::new(1);
    let progress = Progress::new(returned().count(), true);
    let mut time = |row: &Row| {
        progress.next(format!("timing {}", row.name()));
        let times = compare(&mut loader, row, baseline, each, &mut random);
        times.map_err(|error| format!("{error:#}"))
    };
    Ok(rows.iter().map(|row| row.has_returned().then(|| time(row))).collect())
}

fn compare(
    loader: &mut Loader<'_>,
    row: &Row,
    baseline: &Row,
    each: Duration,
    random: &mut Random,
) -> Result<Times> {
    let contender = |row: &Row| Contender {
        executor: Executor { engine: row.engine.id().to_owned(), strategy: row.strategy },
        threads: 1,
        means: Means::Contract,
    };
    let of = Match {
        purpose: Purpose::Asked,
        case: loader.target.export.clone(),
        guest: loader.target.file.display().to_string(),
        subject: contender(row),
        baseline: contender(baseline),
    };
    let share = each / SET_UPS;
    let quick = Budget { patience: share, cell: share, ..Budget::quick(1) };
    let fit = share.as_micros() / (quick.sample.as_micros() * 2).max(1);
    let budget =
        Budget { rounds: usize::try_from(fit).unwrap_or(usize::MAX).clamp(3, 40), ..quick };
    let mut all = Vec::new();
    for process in 0..SET_UPS {
        let (mut subject, mut reference) = (side(loader, row)?, side(loader, baseline)?);
        let (rounds, noisy) = turns(&mut subject, &mut reference, &budget, random)?;
        all.push(Comparison { of: of.clone(), process, rounds, noisy });
    }
    let judged = judge(&all, MARGIN).context("no round was made")?;
    let clean = all.iter().flat_map(|comparison| {
        let is_clean = |place: &usize| !comparison.noisy.contains(place);
        let places = (0..comparison.rounds.len()).filter(is_clean);
        places.map(|place| comparison.rounds[place].0).collect::<Vec<f64>>()
    });
    let unknown = Estimate { median: judged.subject_ns, interval: None, marked: true };
    let call = estimate::of_values(&clean.collect::<Vec<f64>>()).unwrap_or(unknown);
    let call = Estimate { marked: judged.ratio.marked, ..call };
    Ok(Times { call, judged, is_baseline: std::ptr::eq(row, baseline) })
}

fn side(loader: &mut Loader<'_>, row: &Row) -> Result<Crew> {
    let expected = row.answer.output.as_deref().context("it did not return")?;
    let loaded = loader.load(row);
    let loaded = loaded.map_err(|answer| anyhow!(answer.reason.unwrap_or_default()))?;
    let Target { export, abi, input, .. } = loader.target;
    let opened = loaded.open_call(export, *abi, (&**input).into(), expected.into(), None)?;
    Crew::start(1, move || Ok(Box::new(Caller::new(&opened)?) as Box<dyn Work>))
}
