//! A host over HTTP under load.

use crate::record::estimate::of_values;
use crate::record::{Book, Estimate, Executor, InstanceState, Load, Requests, System, SystemFound};
use crate::report::markdown::{Table, code};
use crate::report::rank;
use crate::report::units::{marked, percent, ratio_with_interval, time};
use std::collections::BTreeMap;

/// The share of the capacity at which rows are held against each other, percent.
pub(in crate::report) const SHARE: u32 = 80;

/// The rounds of an executor with instances in one state.
pub(in crate::report) struct Own<'a> {
    pub(in crate::report) executor: &'a Executor,
    pub(in crate::report) state: InstanceState,
    rounds: Vec<&'a Requests>,
}

impl<'a> Own<'a> {
    /// All of a run: by engine and strategy, a used instance first.
    pub(in crate::report) fn all(book: &'a Book) -> Vec<Self> {
        let mut all: BTreeMap<_, Self> = BTreeMap::new();
        for System { executor, found } in &book.systems {
            let SystemFound::Requests(requests) = found else { continue };
            let key = (&executor.engine, executor.strategy, requests.state);
            let own = || Self { executor, state: requests.state, rounds: Vec::new() };
            all.entry(key).or_insert_with(own).rounds.push(requests);
        }
        all.into_values().collect()
    }

    /// The median over the rounds.
    fn median(&self, value: impl Fn(&Requests) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.rounds.iter().filter_map(|round| value(round)).collect();
        rank::median(values)
    }

    pub(in crate::report) fn capacity(&self) -> Option<f64> {
        self.median(|round| Some(round.capacity))
    }

    /// The median over the rounds of a value at a share of the capacity.
    pub(in crate::report) fn at(&self, share: u32, value: fn(&Load) -> f64) -> Option<f64> {
        self.median(|round| load(round, share).map(value))
    }

    /// A quantile at a share of the capacity, ns: the median over the rounds, and whether the
    /// upper quartile of the rounds is more than twice the lower one. Then stalls of the machine are
    /// in it.
    pub(in crate::report) fn quantile(
        &self,
        share: u32,
        value: fn(&Load) -> f64,
    ) -> Option<(f64, bool)> {
        let values = self.rounds.iter().filter_map(|round| load(round, share).map(value));
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = (values.get(values.len() / 4)?, values.get(values.len() * 3 / 4)?);
        let differs = *high > 2.0 * low;
        Some((rank::median(values)?, differs))
    }

    /// This one's value over that of another one in the same round.
    pub(in crate::report) fn ratio(
        &self,
        other: &Self,
        value: impl Fn(&Requests) -> Option<f64>,
    ) -> Option<Estimate> {
        let ratios = self.rounds.iter().filter_map(|round| {
            let beside = other.rounds.iter().find(|beside| beside.round == round.round)?;
            Some(value(round)? / value(beside)?)
        });
        of_values(&ratios.collect::<Vec<_>>())
    }

    /// Rounds in which the host did not keep up at a share of the capacity.
    fn saturated(&self, share: u32) -> usize {
        let is_saturated = |round: &&&Requests| load(round, share).is_some_and(Load::is_saturated);
        self.rounds.iter().filter(is_saturated).count()
    }
}

/// The open loop of a round at a share of the capacity.
pub(in crate::report) fn load(round: &Requests, share: u32) -> Option<&Load> {
    round.loads.iter().find(|load| load.percent == share)
}

pub(in crate::report) fn p50(load: &Load) -> f64 {
    load.latency.p50_ns as f64
}

pub(in crate::report) fn p99(load: &Load) -> f64 {
    load.latency.p99_ns as f64
}

pub(in crate::report) fn p999(load: &Load) -> f64 {
    load.latency.p999_ns as f64
}

/// Requests a second: `17,300 /s`.
pub(in crate::report) fn rate(rate: f64) -> String {
    format!("{} /s", crate::report::units::grouped(rate.round() as u64))
}

pub(in crate::report) fn section(book: Option<&Book>) -> String {
    let heading = "## Requests under load";
    let all = book.map(Own::all).unwrap_or_default();
    let (Some(book), Some(first)) = (book, all.first()) else {
        return format!(
            "{heading}\n\nThere are no records of requests under load; `make systems` makes \
             them.\n\n"
        );
    };
    let Some(Requests { case, guest, .. }) = first.rounds.first() else { return String::new() };
    let headings = [
        "instance",
        "capacity",
        "capacity / used",
        "answered, 80 %",
        "answered / used",
        "p50, 80 %",
        "p99, 80 %",
        "p99.9, 80 %",
        "p99.9 / used",
        "p99.9, 50 %",
        "p99.9, 95 %",
        "saturated, 95 %",
        "CPU per request",
        "resident",
    ];
    let mut table = Table::new("Executor", headings);
    for own in &all {
        let used = all.iter().find(|other| {
            other.state == InstanceState::Used
                && own.state == InstanceState::Clean
                && other.executor.engine == own.executor.engine
        });
        // Of another executor, the load is another one.
        let is_same_executor = used.is_some_and(|used| used.executor == own.executor);
        let quantile = |share, value| {
            own.quantile(share, value).map(|(ns, differs)| marked(time(ns), differs))
        };
        let differs = |own: &Own<'_>| own.quantile(SHARE, p999).is_some_and(|(_, differs)| differs);
        let is_marked = differs(own) || used.is_some_and(differs);
        let times = |ratio: Estimate| ratio_with_interval(&Estimate { marked: is_marked, ..ratio });
        let capacity = used.and_then(|used| own.ratio(used, |round| Some(round.capacity)));
        let answered = |round: &Requests| load(round, SHARE).map(|load| load.completed);
        let answered = used.and_then(|used| own.ratio(used, answered));
        let tail = used.and_then(|used| own.ratio(used, |round| load(round, SHARE).map(p999)));
        let cells = [
            Some(own.state.to_string()),
            own.capacity().map(rate),
            capacity.map(percent_of),
            own.at(SHARE, |load| load.completed).map(rate),
            answered.filter(|_| is_same_executor).map(percent_of),
            quantile(SHARE, p50),
            quantile(SHARE, p99),
            quantile(SHARE, p999),
            tail.filter(|_| is_same_executor).map(times),
            quantile(50, p999),
            quantile(95, p999),
            Some(format!("{} of {} rounds", own.saturated(95), own.rounds.len())),
            own.at(SHARE, |load| load.cpu_ns).map(time),
            own.at(SHARE, |load| load.rss_kib as f64).map(|kib| format!("{:.1} MiB", kib / 1024.0)),
        ];
        table.row(code(own.executor), cells);
    }
    format!(
        "{heading}\n\nA host over HTTP on loopback (`touchstone systems requests`, commit {}); a \
         request makes the call of {} on {}. Requests have planned times, at 50, 80 and 95 % of \
         the executor's capacity with clean instances. A time counts from the planned time to the \
         answer. A used instance is as the call before left it, and gets the load of the clean \
         ones; `/ used` is against it in the same rounds. The ratio of p99.9 has the 95 % interval \
         of its median. Values are medians over {} rounds, in which all rows take turns, those of \
         an engine one after the other. Where the system grants it, client and hosts run before \
         all other threads. † marks quantiles of which the quartiles of the rounds differ more than \
         twofold: stalls of the machine are in them. A loop is saturated if the host answers less \
         than 97 % of what is offered.\n\n{}",
        code(&book.header.tools.commit),
        code(case),
        code(guest),
        first.rounds.len(),
        table.finish()
    )
}

/// A share as a percentage in whole numbers and a digit: `97.3 %`.
fn percent_of(share: Estimate) -> String {
    let share = share.median;
    if share < 0.1 { percent(share) } else { format!("{:.1} %", share * 100.0) }
}
