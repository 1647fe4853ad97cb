//! Touchstone's picks against every strategy that their runtimes implement themselves.

use crate::Content;
use crate::markdown::{Table, code, details, markdown};
use crate::matrix::{Executor, Matrix, Work};
use crate::races::{CALL, ratio};
use crate::rank::Pick;
use crate::units::{self, count, page_size};
use std::collections::{BTreeMap, BTreeSet};
use touchstone_executor::Owner;
use touchstone_record::estimate::median_of;
use touchstone_record::{Estimate, Points};

/// The end of a comparison for the pick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Loss,
    Tie,
    Win,
}

/// A pick and a strategy of its runtime on one call.
struct Pair<'a> {
    /// Case, guest and threads, or the place of an experiment. Markdown.
    call: String,
    pick: &'a Executor,
    own: &'a Executor,
    /// The pick's time and the other one's, ns.
    times: [f64; 2],
    /// The pick's time over the other one's.
    ratio: Estimate,
}

impl Pair<'_> {
    fn end(&self) -> End {
        match self.ratio.interval {
            Some((low, _)) if low > 1.0 => End::Loss,
            Some((_, high)) if high < 1.0 => End::Win,
            _ => End::Tie,
        }
    }
}

pub(crate) fn section(content: &Content<'_>) -> String {
    let pairs = pairs(content.matrix, content.picks);
    let of = |end| {
        let mut own: Vec<&Pair<'_>> = pairs.iter().filter(|pair| pair.end() == end).collect();
        own.sort_by(|a, b| b.ratio.median.total_cmp(&a.ratio.median));
        own
    };
    let [losses, ties, wins] = [End::Loss, End::Tie, End::Win].map(of);
    if pairs.is_empty() {
        return String::new();
    }
    let listed = match losses.len() {
        0 => {
            "No pick is slower than a strategy of its runtime beyond the intervals.\n\n".to_owned()
        }
        _ => format!("### Losses\n\n{}", list(&losses)),
    };
    format!(
        "## Picks against their runtimes' own strategies\n\nEach recommended strategy of \
         Touchstone against every strategy that its runtime implements itself: on all calls of the \
         matrix, and on those of [resets](resets.md), which were timed in turns. Ratios are the \
         pick's time over the other one's. A pair is a win or a loss if the interval of the ratio \
         excludes 1; without turns, this means that the intervals of both times do not overlap. \
         Other pairs are ties. **{} lost, {} tied, {} \
         won.**\n\n{listed}### Totals\n\n{}{}",
        losses.len(),
        ties.len(),
        wins.len(),
        totals(&pairs),
        details("Ties, by ratio", &list(&ties)),
    )
}

/// All pairs, picks in the order of the needs.
fn pairs<'a>(matrix: &'a Matrix<'_>, picks: &'a [Pick<'a>]) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    let mut seen = BTreeSet::new();
    for pick in picks.iter().filter(|pick| pick.need.owner == Some(Owner::Touchstone)) {
        let pick = &pick.executor;
        let own = matrix.executors.iter().filter(|own| {
            own.engine == pick.engine && !own.strategy.is_precompiled() && matrix.is_native(own)
        });
        for own in own.filter(|own| *own != pick && seen.insert((pick, *own))) {
            pairs.extend(cells(matrix, pick, own));
            pairs.extend(resets(matrix, pick, own).into_iter().flatten());
        }
    }
    pairs
}

fn cells<'a>(matrix: &Matrix<'_>, pick: &'a Executor, own: &'a Executor) -> Vec<Pair<'a>> {
    let pair = |work: &Work, threads: usize| {
        let time = |of| matrix.time(of, work, threads);
        let (of_pick, of_own) = (time(pick)?, time(own)?);
        let call = format!("{}, {}", work.names(), count(threads, "thread"));
        let times = [of_pick.median, of_own.median];
        Some(Pair { call, pick, own, times, ratio: of_pick.over(of_own) })
    };
    let calls = matrix.works.iter().map(|work| (work, matrix.threads(work)));
    calls.flat_map(|(work, all)| all.into_iter().filter_map(move |n| pair(work, n))).collect()
}

/// The pairs of the calls that write so many pages.
fn resets<'a>(matrix: &Matrix<'_>, pick: &'a Executor, own: &'a Executor) -> Option<Vec<Pair<'a>>> {
    let (experiment, points) = matrix.records.experiment("resets")?;
    let pair = |of_pick: &Points| {
        let place = of_pick.place.without_executor();
        let judged = ratio(points, &place, CALL, pick, own)?;
        let course = markdown(&experiment.in_words(&place.without(["pages"])));
        let pages = place.number("pages").unwrap_or_default();
        let call = format!("resets: {course}, {}", page_size(pages as f64));
        let times = [judged.subject.median, judged.baseline.median];
        Some(Pair { call, pick, own, times, ratio: judged.ratio })
    };
    let of_pick = points.measured().filter(|of| of.place.executor().as_ref() == Some(pick));
    Some(of_pick.filter_map(pair).collect())
}

fn list(pairs: &[&Pair<'_>]) -> String {
    let headings = ["Pick", "The runtime's own", "Its time", "The own's time", "Ratio"];
    let mut table = Table::of_words("Call", headings);
    for Pair { call, pick, own, times, ratio } in pairs {
        let [pick_time, own_time] = times.map(units::time);
        let ratio = units::ratio_with_interval(ratio);
        table.row(call, [code(pick), code(own), pick_time, own_time, ratio]);
    }
    table.finish()
}

/// A row for each pick and strategy of its runtime.
fn totals(pairs: &[Pair<'_>]) -> String {
    let mut groups: BTreeMap<[&Executor; 2], Vec<&Pair<'_>>> = BTreeMap::new();
    for pair in pairs {
        groups.entry([pair.pick, pair.own]).or_default().push(pair);
    }
    let headings = ["The runtime's own", "Losses", "Ties", "Wins", "Median ratio"];
    let mut table = Table::new("Pick", headings);
    for ([pick, own], pairs) in groups {
        let number = |end| pairs.iter().filter(|pair| pair.end() == end).count().to_string();
        let ratios: Vec<f64> = pairs.iter().map(|pair| pair.ratio.median).collect();
        let median = median_of(&ratios).map(units::factor);
        let [losses, ties, wins] = [End::Loss, End::Tie, End::Win].map(|end| Some(number(end)));
        table.row(code(pick), [Some(code(own)), losses, ties, wins, median]);
    }
    table.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_ends_by_its_interval() {
        let executor = Executor { engine: "some".to_owned(), strategy: "pooling".parse().unwrap() };
        let end = |interval| {
            let ratio = Estimate { interval, ..Estimate::exact(2.0) };
            let (pick, own, call) = (&executor, &executor, String::new());
            Pair { call, pick, own, times: [2.0, 1.0], ratio }.end()
        };
        assert_eq!(end(Some((1.01, 3.0))), End::Loss);
        assert_eq!(end(Some((0.5, 0.99))), End::Win);
        assert_eq!(end(Some((1.0, 1.0))), End::Tie);
        assert_eq!(end(Some((0.9, 3.0))), End::Tie);
        assert_eq!(end(None), End::Tie);
    }
}
