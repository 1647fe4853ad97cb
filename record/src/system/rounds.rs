//! All rounds of a host under load.

use super::{InstanceState, Load, Requests, System, SystemFound};
use crate::estimate::{median_of, of_values};
use crate::{Book, Estimate, Executor};
use std::collections::BTreeMap;

/// The rounds of an executor with instances in one state.
pub struct Rounds<'a> {
    /// The executor.
    pub executor: &'a Executor,
    /// How calls find their instance.
    pub state: InstanceState,
    rounds: Vec<&'a Requests>,
}

impl<'a> Rounds<'a> {
    /// All of a run: by engine and strategy, a used instance first.
    #[must_use]
    pub fn all(book: &'a Book) -> Vec<Self> {
        let mut all: BTreeMap<_, Self> = BTreeMap::new();
        for System { executor, found } in &book.systems {
            let SystemFound::Requests(requests) = found else { continue };
            let key = (&executor.engine, executor.strategy, requests.state);
            let own = || Self { executor, state: requests.state, rounds: Vec::new() };
            all.entry(key).or_insert_with(own).rounds.push(requests);
        }
        all.into_values().collect()
    }

    /// All of them, in their order.
    #[must_use]
    pub fn rounds(&self) -> &[&'a Requests] {
        &self.rounds
    }

    /// Requests a second in closed loops.
    #[must_use]
    pub fn capacity(&self) -> Option<f64> {
        median_of(&self.rounds.iter().map(|round| round.capacity).collect::<Vec<_>>())
    }

    /// The open loops at a share of the capacity.
    fn loads(&self, share: u32) -> impl Iterator<Item = &Load> {
        self.rounds.iter().flat_map(move |round| at(&round.loads, share))
    }

    /// The median of a value at a share of the capacity.
    #[must_use]
    pub fn at(&self, share: u32, value: fn(&Load) -> f64) -> Option<f64> {
        median_of(&self.loads(share).map(value).collect::<Vec<_>>())
    }

    /// A quantile at a share of the capacity, ns: its median, and whether the upper quartile of the
    /// loops is more than twice the lower one. Then stalls of the machine are in it.
    #[must_use]
    pub fn quantile(&self, share: u32, value: fn(&Load) -> f64) -> Option<(f64, bool)> {
        let mut values: Vec<f64> = self.loads(share).map(value).collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = (values.get(values.len() / 4)?, values.get(values.len() * 3 / 4)?);
        let differs = *high > 2.0 * low;
        Some((median_of(&values)?, differs))
    }

    /// This one's value in some of its loops over the other one's in the same step of the same round,
    /// each at the share at which rows are held against each other.
    #[must_use]
    pub fn over(
        &self,
        other: &Self,
        loops: fn(&Requests) -> &[Load],
        value: fn(&Load) -> f64,
    ) -> Option<Estimate> {
        self.ratio(other, |own, other| {
            let pairs = at(loops(own), Load::COMPARED).zip(at(&other.loads, Load::COMPARED));
            pairs.map(|(own, other)| value(own) / value(other)).collect()
        })
    }

    /// Ratios of the two in the same rounds.
    #[must_use]
    pub fn ratio(
        &self,
        other: &Self,
        ratios: impl Fn(&Requests, &Requests) -> Vec<f64>,
    ) -> Option<Estimate> {
        // Of two with one number the first counts.
        let others = other.rounds.iter().rev().map(|beside| (beside.round, *beside));
        let others: BTreeMap<u32, &Requests> = others.collect();
        let ratios =
            self.rounds.iter().filter_map(|round| Some(ratios(round, others.get(&round.round)?)));
        of_values(&ratios.flatten().collect::<Vec<_>>())
    }

    /// The loops in which the host did not keep up at a share of the capacity: `3 of 21`.
    #[must_use]
    pub fn saturated(&self, share: u32) -> String {
        let saturated = self.loads(share).filter(|load| load.is_saturated()).count();
        format!("{saturated} of {}", self.loads(share).count())
    }
}

/// The open loops at a share of the capacity.
fn at(loads: &[Load], share: u32) -> impl Iterator<Item = &Load> {
    loads.iter().filter(move |load| load.percent == share)
}
