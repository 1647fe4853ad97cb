//! `--bench`: the call on each combination, in turns with the baseline.

use super::row::{Answer, Loader, Row};
use super::target::Target;
use anyhow::{Context, Result, anyhow, bail};
use std::sync::Arc;
use std::time::Duration;
use touchstone::compare::{Judged, MARGIN, judge};
use touchstone::lab::{Instances, Opened};
use touchstone::measure::{Caller, Crew, Work, turns};
use touchstone::plan::{Budget, Random};
use touchstone::record::{
    Comparison, Contender, Estimate, Executor, Match, Means, Purpose, estimate,
};
use touchstone::terminal::progress::Progress;
use touchstone_executor::Module;

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
    let loader = Loader::new(target, None, false);
    let mut contest = Contest { target, loader, random: Random::new(1), each };
    let progress = Progress::new(returned().count(), true);
    let time = |row: &Row| {
        row.has_returned().then(|| {
            progress.next(format!("timing {}", row.name()));
            let times = contest.time(row, baseline).map_err(|error| format!("{error:#}"));
            times.map(|times| Times { is_baseline: std::ptr::eq(row, baseline), ..times })
        })
    };
    Ok(rows.iter().map(time).collect())
}

struct Contest<'a> {
    target: &'a Target,
    loader: Loader<'a>,
    random: Random,
    each: Duration,
}

impl Contest<'_> {
    fn time(&mut self, row: &Row, baseline: &Row) -> Result<Times> {
        let contender = |row: &Row| Contender {
            executor: Executor { engine: row.engine.id().to_owned(), strategy: row.strategy },
            threads: 1,
            means: Means::Contract,
        };
        let of = Match {
            purpose: Purpose::Asked,
            case: self.target.export.clone(),
            guest: self.target.file.display().to_string(),
            subject: contender(row),
            baseline: contender(baseline),
        };
        let budget = Budget::quick(1);
        let mut all = Vec::new();
        for process in 0..SET_UPS {
            let mut subject = self.side(row)?;
            let mut reference = self.side(baseline)?;
            let share = self.each / SET_UPS;
            let fit = share.as_micros() / (budget.sample.as_micros() * 2).max(1);
            let rounds = usize::try_from(fit).unwrap_or(usize::MAX).clamp(3, 40);
            let budget = Budget { rounds, patience: share, cell: share, ..budget.clone() };
            let (rounds, noisy) = turns(&mut subject, &mut reference, &budget, &mut self.random)?;
            all.push(Comparison { of: of.clone(), process, rounds, noisy });
        }
        let judged = judge(&all, MARGIN).context("no round was made")?;
        let clean = all.iter().flat_map(|comparison| {
            let is_clean = |place: &usize| !comparison.noisy.contains(place);
            let places = (0..comparison.rounds.len()).filter(is_clean);
            places.map(|place| comparison.rounds[place].0).collect::<Vec<f64>>()
        });
        let call = estimate::of_values(&clean.collect::<Vec<f64>>());
        let call =
            call.unwrap_or(Estimate { median: judged.subject_ns, interval: None, marked: true });
        Ok(Times {
            call: Estimate { marked: judged.ratio.marked, ..call },
            judged,
            is_baseline: false,
        })
    }

    fn side(&mut self, row: &Row) -> Result<Crew> {
        let Answer::Returned(expected) = &row.answer else { bail!("it did not return") };
        let config = self.loader.config.clone();
        let module = self.loader.load(row, &config);
        let module = module.map_err(|answer| anyhow!(answer.reason().unwrap_or_default()))?;
        let module: Arc<dyn Module> = module.into();
        let opened = Opened {
            take: None,
            effective: module.effective(),
            export: module.export(&self.target.export, self.target.abi)?,
            instances: Instances::new(module),
            input: self.target.input.clone().into(),
            expected: expected.as_slice().into(),
            support: row.support.clone(),
            // Not shown here.
            compile_ns: None,
            load_ns: 0,
            first_call_ns: 0,
            estimate_ns: 0,
            artifact_bytes: 0,
        };
        Crew::start(1, move || Ok(Box::new(Caller::new(&opened)?) as Box<dyn Work>))
    }
}
