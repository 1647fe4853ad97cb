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

    /// The open loops at a share of the capacity.
    fn loads(&self, share: u32) -> impl Iterator<Item = &Load> {
        self.rounds.iter().flat_map(move |round| at(&round.loads, share))
    }

    /// The median of a value at a share of the capacity.
    pub(in crate::report) fn at(&self, share: u32, value: fn(&Load) -> f64) -> Option<f64> {
        rank::median(self.loads(share).map(value).collect())
    }

    /// A quantile at a share of the capacity, ns: its median, and whether the upper quartile of the
    /// loops is more than twice the lower one. Then stalls of the machine are in it.
    pub(in crate::report) fn quantile(
        &self,
        share: u32,
        value: fn(&Load) -> f64,
    ) -> Option<(f64, bool)> {
        let mut values: Vec<f64> = self.loads(share).map(value).collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = (values.get(values.len() / 4)?, values.get(values.len() * 3 / 4)?);
        let differs = *high > 2.0 * low;
        Some((rank::median(values)?, differs))
    }

    /// This one's value in some of its loops over the other one's in the same step of the same round,
    /// each at the share at which rows are held against each other.
    pub(in crate::report) fn over(
        &self,
        other: &Self,
        loops: fn(&Requests) -> &[Load],
        value: fn(&Load) -> f64,
    ) -> Option<Estimate> {
        self.ratio(other, |own, other| {
            let pairs = at(loops(own), SHARE).zip(at(&other.loads, SHARE));
            pairs.map(|(own, other)| value(own) / value(other)).collect()
        })
    }

    /// Ratios of the two in the same rounds.
    fn ratio(
        &self,
        other: &Self,
        ratios: impl Fn(&Requests, &Requests) -> Vec<f64>,
    ) -> Option<Estimate> {
        let ratios = self.rounds.iter().filter_map(|round| {
            let beside = other.rounds.iter().find(|beside| beside.round == round.round)?;
            Some(ratios(round, beside))
        });
        of_values(&ratios.flatten().collect::<Vec<_>>())
    }

    /// The loops in which the host did not keep up at a share of the capacity: `3 of 31`.
    fn saturated(&self, share: u32) -> String {
        let saturated = self.loads(share).filter(|load| load.is_saturated()).count();
        format!("{saturated} of {}", self.loads(share).count())
    }
}

/// The open loops at a share of the capacity.
fn at(loads: &[Load], share: u32) -> impl Iterator<Item = &Load> {
    loads.iter().filter(move |load| load.percent == share)
}

/// The loops at shares of the own capacity.
pub(in crate::report) fn own_load(round: &Requests) -> &[Load] {
    &round.loads
}

/// The loops at a share of what the used instances of the executor can do.
pub(in crate::report) fn load_of_used(round: &Requests) -> &[Load] {
    &round.beside
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
            "{heading}\n\nThere are no records of requests under load; `make systems-full` makes \
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
        "p99.9 / used, its load",
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
        let capacity = |own: &Requests, used: &Requests| vec![own.capacity / used.capacity];
        let capacity = used.and_then(|used| own.ratio(used, capacity));
        let over = |value: fn(&Load) -> f64| own.over(used?, own_load, value);
        let beside = used.and_then(|used| own.over(used, load_of_used, p999));
        let cells = [
            Some(own.state.to_string()),
            own.capacity().map(rate),
            capacity.map(percent_of),
            own.at(SHARE, |load| load.completed).map(rate),
            over(|load| load.completed).filter(|_| is_same_executor).map(percent_of),
            quantile(SHARE, p50),
            quantile(SHARE, p99),
            quantile(SHARE, p999),
            over(p999).filter(|_| is_same_executor).map(times),
            beside.map(times),
            quantile(50, p999),
            quantile(95, p999),
            Some(own.saturated(95)),
            own.at(SHARE, |load| load.cpu_ns).map(time),
            own.at(SHARE, |load| load.rss_kib as f64).map(|kib| format!("{:.1} MiB", kib / 1024.0)),
        ];
        table.row(code(own.executor), cells);
    }
    format!(
        "{heading}\n\nA host over HTTP on loopback (`touchstone systems requests`, commit {}); a \
         request makes the call of {} on {}. Requests have planned times, at 50, 80 and 95 % of the \
         row's own capacity. A time counts from the planned time to the answer. A used instance is \
         as the call before left it. `/ used` is against it in the same rounds, each at 80 % of its \
         own capacity; for `its load`, the clean one gets 80 % of what the used one can do. The \
         ratios of p99.9 have the 95 % interval of their median. Values are medians over all loops \
         of {} rounds, in which all rows take turns, those of an engine one after the other. Where \
         the system grants it, client and hosts run before all other threads. † marks quantiles of \
         which the quartiles of the loops differ more than twofold: stalls of the machine are in \
         them. A loop is saturated if the host answers less than 97 % of what is offered.\n\n{}",
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
