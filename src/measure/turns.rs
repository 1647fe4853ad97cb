//! Sides that are timed in turns. A slow phase of the machine affects all of them, so ratios hold
//! even where times do not: a round counts if the probes of all its sides are alike.

use super::judge::{Judge, Use};
use super::probe::Probes;
use super::{Crew, Round, RoundPlan};
use crate::plan::{Budget, Random, shuffled};
use anyhow::Result;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

pub trait Side {
    fn plan(&mut self, sample: Duration) -> Result<RoundPlan>;

    fn round(&mut self, plan: RoundPlan) -> Result<Round>;
}

impl Side for Crew {
    fn plan(&mut self, sample: Duration) -> Result<RoundPlan> {
        Self::plan(self, sample, 0)
    }

    fn round(&mut self, plan: RoundPlan) -> Result<Round> {
        Self::round(self, plan)
    }
}

/// Times per call of subject and baseline in each round, ns, and the indices of the rounds
/// whose probes are not alike.
type Turns = (Vec<(f64, f64)>, Vec<usize>);

/// Rounds that are made however long they take.
const FEWEST: usize = 3;

/// A side that is of no use any more, by its index.
#[derive(Debug)]
pub struct FailedSide {
    pub side: usize,
    pub error: anyhow::Error,
}

/// Times some sides in turns, in random order within each round, because the first side may be
/// slower. A round of the result has one of each side. Rounds with interference are repeated within
/// the retry budget that each side has. Long calls have fewer rounds.
pub fn in_turns(
    sides: &mut [&mut dyn Side],
    budget: &Budget,
    random: &mut Random,
) -> Result<Vec<Vec<Round>>, FailedSide> {
    let failed = |side| move |error| FailedSide { side, error };
    let order = |random: &mut Random, sides: usize| shuffled((0..sides).collect(), random);
    let mut plans = vec![RoundPlan::ONE_CALL; sides.len()];
    for place in order(random, sides.len()) {
        plans[place] = sides[place].plan(budget.sample).map_err(failed(place))?;
    }
    let longest = budget.cell * u32::try_from(sides.len()).unwrap_or(u32::MAX);
    let (began, mut repeats) = (Instant::now(), Duration::ZERO);
    let judge = |_| Judge::new(budget.rounds, budget.retry);
    let mut judges: Vec<Judge> = (0..sides.len()).map(judge).collect();
    let mut all: Vec<Vec<Round>> = Vec::with_capacity(budget.rounds);
    while all.len() < budget.rounds && (all.len() < FEWEST || began.elapsed() <= longest + repeats)
    {
        let mut round = BTreeMap::new();
        for place in order(random, sides.len()) {
            let side = &mut *sides[place];
            let own = loop {
                let started = Instant::now();
                let mut own = side.round(plans[place]).map_err(failed(place))?;
                let took = started.elapsed();
                match judges[place].judge(&mut own, took) {
                    Use::Again => repeats += took,
                    Use::PlanAgain => {
                        plans[place] = side.plan(budget.sample).map_err(failed(place))?;
                        all.clear();
                    }
                    Use::Sample => break own,
                }
            };
            round.insert(place, own);
        }
        all.push(round.into_values().collect());
    }
    Ok(all)
}

pub fn turns(
    subject: &mut dyn Side,
    baseline: &mut dyn Side,
    budget: &Budget,
    random: &mut Random,
) -> Result<Turns> {
    let rounds = in_turns(&mut [subject, baseline], budget, random);
    let rounds = rounds.map_err(|failed| failed.error)?;
    let is_noisy = |(place, round): (usize, &Vec<Round>)| {
        let probes = round.iter().fold(Probes::NONE, |all, own| all.and(own.probes));
        (!probes.are_alike()).then_some(place)
    };
    let noisy = rounds.iter().enumerate().filter_map(is_noisy).collect();
    let times = rounds.iter().map(|round| (round[0].per_call(), round[1].per_call()));
    Ok((times.collect(), noisy))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A side with a list of rounds; the last one repeats. It fails where the list is empty.
    struct Listed {
        rounds: Vec<Round>,
        made: usize,
        planned: usize,
    }

    fn round(ns: u64, clean: bool) -> Round {
        let probes = if clean { Probes::of(100) } else { Probes::of(160) };
        Round { threads: vec![(10, ns)], clean, probes }
    }

    fn listed(rounds: &[Round]) -> Listed {
        Listed { rounds: rounds.to_vec(), made: 0, planned: 0 }
    }

    impl Side for Listed {
        fn plan(&mut self, sample: Duration) -> Result<RoundPlan> {
            self.planned += 1;
            Ok(RoundPlan::new(sample, 1000, 1, 1))
        }

        fn round(&mut self, _: RoundPlan) -> Result<Round> {
            let round = self.rounds.get(self.made).or(self.rounds.last());
            self.made += 1;
            round.cloned().ok_or_else(|| anyhow::anyhow!("no round is listed"))
        }
    }

    fn budget(retry: Duration) -> Budget {
        Budget { rounds: 4, retry, cell: Duration::from_secs(600), ..Budget::full(1) }
    }

    #[test]
    fn each_round_has_one_of_every_side_in_their_order() {
        let mut sides = [100_000, 200_000, 300_000].map(|ns| listed(&[round(ns, true)]));
        let [a, b, c] = &mut sides;
        let mut sides: [&mut dyn Side; 3] = [a, b, c];
        let rounds = in_turns(&mut sides, &budget(Duration::ZERO), &mut Random::new(7)).unwrap();
        assert_eq!(rounds.len(), 4);
        for round in rounds {
            let times: Vec<f64> = round.iter().map(Round::per_call).collect();
            assert_eq!(times, [10_000.0, 20_000.0, 30_000.0]);
        }
    }

    #[test]
    fn only_the_side_with_interference_is_repeated_and_only_within_the_retry_budget() {
        let (bad, good) = (round(900_000, false), round(100_000, true));
        let mut a = listed(&[bad.clone(), good.clone()]);
        let mut b = listed(&[good]);
        let (times, noisy) =
            turns(&mut a, &mut b, &budget(Duration::MAX), &mut Random::new(1)).unwrap();
        assert_eq!((times, noisy), (vec![(10_000.0, 10_000.0); 4], vec![]));
        assert_eq!((a.made, b.made), (5, 4));
        let mut a = listed(&[bad]);
        let (times, noisy) =
            turns(&mut a, &mut b, &budget(Duration::ZERO), &mut Random::new(1)).unwrap();
        assert_eq!((times.len(), noisy), (4, vec![0, 1, 2, 3]));
    }

    #[test]
    fn every_side_has_a_retry_budget_of_its_own() {
        let (bad, good) = (round(900_000, false), round(100_000, true));
        let mut sides = [0; 3].map(|_| listed(&[bad.clone(), good.clone()]));
        let [a, b, c] = &mut sides;
        let budget = budget(Duration::from_nanos(1));
        in_turns(&mut [a, b, c], &budget, &mut Random::new(1)).unwrap();
        assert_eq!(sides.map(|side| side.made), [5; 3]);
    }

    #[test]
    fn the_side_that_fails_is_named() {
        let (mut a, mut b) = (listed(&[round(100_000, true)]), listed(&[]));
        let budget = budget(Duration::ZERO);
        let failed = in_turns(&mut [&mut a, &mut b], &budget, &mut Random::new(1)).unwrap_err();
        assert_eq!((failed.side, failed.error.to_string().as_str()), (1, "no round is listed"));
    }

    /// A machine in a state that stays, which is not the one of the calibration, and one that
    /// changes its state in every other round.
    #[test]
    fn a_steady_state_gives_ratios_without_a_mark_and_a_changing_one_does_not() {
        let busy = |ns| round(ns, false);
        let (mut a, mut b) = (listed(&[busy(300_000)]), listed(&[busy(150_000)]));
        let budget = budget(Duration::ZERO);
        let (times, noisy) = turns(&mut a, &mut b, &budget, &mut Random::new(1)).unwrap();
        assert_eq!((times, noisy), (vec![(30_000.0, 15_000.0); 4], vec![]));
        let changing = [busy(300_000), round(200_000, true), busy(300_000), round(200_000, true)];
        let (mut a, mut b) = (listed(&changing), listed(&[busy(150_000)]));
        let (_, noisy) = turns(&mut a, &mut b, &budget, &mut Random::new(1)).unwrap();
        assert_eq!(noisy, [1, 3]);
    }

    #[test]
    fn a_side_whose_calls_became_shorter_is_planned_again_and_all_rounds_are_repeated() {
        let good = round(100_000, true);
        let mut a = listed(&[good.clone(), round(10, true), good.clone()]);
        let mut b = listed(&[good]);
        let (times, _) =
            turns(&mut a, &mut b, &budget(Duration::ZERO), &mut Random::new(1)).unwrap();
        assert_eq!((times.len(), a.planned, b.planned), (4, 2, 1));
    }

    /// Other programs never make a side fail.
    #[test]
    fn sides_that_never_run_side_by_side_are_timed_with_interference() {
        let apart = Round { threads: vec![(10, 100_000), (1, 100_000)], ..round(1, true) };
        for never in [round(10, true), apart] {
            let (mut a, mut b) = (listed(&[never]), listed(&[round(100_000, true)]));
            let mut random = Random::new(1);
            let made = turns(&mut a, &mut b, &budget(Duration::ZERO), &mut random).unwrap();
            assert_eq!((made.0.len(), made.1), (4, vec![0, 1, 2, 3]));
        }
    }
}
