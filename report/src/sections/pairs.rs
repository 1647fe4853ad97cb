//! Touchstone's picks against every strategy that their runtimes implement themselves.

use crate::Content;
use crate::markdown::{Table, code, details, markdown};
use crate::matrix::{Executor, Matrix};
use crate::races::{CALL, ratio};
use crate::rank::Pick;
use crate::units::{self, count, page_size};
use std::collections::{BTreeMap, BTreeSet};
use touchstone_executor::Owner;
use touchstone_record::Estimate;
use touchstone_record::estimate::median_of;

/// The end of a comparison for the pick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Loss,
    Tie,
    Win,
}

/// A pick and a strategy of its runtime on one call.
#[derive(Debug)]
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
            cells(matrix, pick, own, &mut pairs);
            resets(matrix, pick, own, &mut pairs);
        }
    }
    pairs
}

/// The pairs of cells of the matrix.
fn cells<'a>(
    matrix: &Matrix<'_>,
    pick: &'a Executor,
    own: &'a Executor,
    pairs: &mut Vec<Pair<'a>>,
) {
    for work in &matrix.works {
        for threads in matrix.threads(work) {
            let times = [pick, own].map(|of| matrix.time(of, work, threads));
            let [Some(pick_time), Some(own_time)] = times else { continue };
            let call = format!("{}, {}", work.names(), count(threads, "thread"));
            let (ratio, times) = (pick_time.over(own_time), [pick_time.median, own_time.median]);
            pairs.push(Pair { call, pick, own, times, ratio });
        }
    }
}

/// The pairs of the calls that write so many pages.
fn resets<'a>(
    matrix: &Matrix<'_>,
    pick: &'a Executor,
    own: &'a Executor,
    pairs: &mut Vec<Pair<'a>>,
) {
    let Some((experiment, points)) = matrix.records.experiment("resets") else { return };
    for of_pick in points.measured().filter(|of| of.place.executor().as_ref() == Some(pick)) {
        let place = of_pick.place.without_executor();
        let Some(judged) = ratio(points, &place, CALL, pick, own) else { continue };
        let course = markdown(&experiment.in_words(&place.without(["pages"])));
        let pages = place.number("pages").unwrap_or_default();
        let call = format!("resets: {course}, {}", page_size(pages as f64));
        let times = [judged.subject.median, judged.baseline.median];
        pairs.push(Pair { call, pick, own, times, ratio: judged.ratio });
    }
}

/// A row for each pair.
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
