//! Where a strategy of the runtime's own is faster than the advised one of Touchstone's.

use super::verdict::{compared, of_builds};
use crate::Content;
use crate::markdown::{code, markdown};
use crate::matrix::{Executor, Matrix, Work};
use crate::pages::Part;
use crate::races::{self, CALL, ratio};
use crate::rank::fastest;
use crate::units::{self, median, page_size, prose_list};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use touchstone_record::compare::Verdict;
use touchstone_record::{Experiment, Place, PointBook, Purpose};

/// A list of the cases, each with its numbers; empty where there is none.
pub(super) fn cases(content: &Content<'_>) -> String {
    let matrix = content.matrix;
    let picks = content.picks.iter().map(|pick| &pick.executor);
    let picks: BTreeSet<&Executor> = picks.filter(|pick| !matrix.is_native(pick)).collect();
    let mut lines = Vec::new();
    if let Some((experiment, points)) = matrix.records.experiment("resets") {
        let link = content.link_to_part(&Part::Experiment(experiment.name.clone()));
        for course in courses(experiment, points) {
            let mut faster: BTreeMap<Faster, Vec<String>> = BTreeMap::new();
            for (own, pick) in picks.iter().flat_map(|pick| resets(matrix, points, &course, pick)) {
                faster.entry(own).or_default().push(pick);
            }
            let words = markdown(&experiment.in_words(&course));
            for ((executor, sizes, time), picks) in &faster {
                let (first, more) = sizes.split_at(sizes.len().min(1));
                let more = match prose_list(more) {
                    none if none.is_empty() => none,
                    more => format!("; also faster at {more}"),
                };
                let (own, picks, first) = (code(executor), prose_list(picks), first.concat());
                lines.push(format!("{own} against {picks}: {words}. {time} at {first}{more}."));
            }
        }
        if !lines.is_empty() {
            lines.push(format!("Calls that write pages: {link}"));
        }
    }
    let (faster, undecided): (Vec<_>, Vec<_>) =
        picks.into_iter().map(|pick| works(content, pick)).unzip();
    lines.extend(faster.into_iter().chain(undecided).flatten());
    if lines.is_empty() {
        return String::new();
    }
    let lines: String = lines.into_iter().map(|line| format!("- {}\n", line.trim())).collect();
    format!(
        "The runtime's own strategies are faster than Touchstone's picks here. \"Undecided\": the \
         interval of the ratio, the runtime's time over the pick's, holds 1.\n\n{lines}\n"
    )
}

/// The courses of resets that were measured: those that write the same pages first.
fn courses(experiment: &Experiment, points: &PointBook) -> Vec<Place> {
    let mut courses: Vec<Place> = races::courses(points).into_keys().collect();
    let order =
        |course: &Place, name: &str| Some(experiment.dimension(name)?.order(course.get(name)?));
    courses.sort_by_cached_key(|course| {
        ["drift", "threads", "place", "touch"].map(|name| order(course, name))
    });
    courses
}

/// A strategy of the runtime's own that is faster on a course, the sizes, the smallest first, and
/// its time at that.
type Faster = (Executor, Vec<String>, String);

/// The strategies of the runtime's own that are faster than a pick on a course, by the rounds that
/// both were timed in; each with the pick and its time. The first is faster at the most sizes,
/// the next at the most of those that are left.
fn resets(
    matrix: &Matrix<'_>,
    points: &PointBook,
    course: &Place,
    pick: &Executor,
) -> Vec<(Faster, String)> {
    let all = || points.measured().filter(|own| own.place.has(course));
    let is_own = |other: &Executor| other.engine == pick.engine && matrix.is_native(other);
    let own: BTreeSet<Executor> = all().filter_map(|own| own.place.executor()).collect();
    let own: BTreeSet<Executor> = own.into_iter().filter(is_own).collect();
    let mut left: BTreeSet<u64> = all().filter_map(|own| own.place.number("pages")).collect();
    let at = |pages: u64| course.clone().with("pages", pages);
    let time = |executor: &Executor, pages: u64| points.get(&at(pages).at(executor))?.sampled(CALL);
    let wins = |other: &Executor, left: &BTreeSet<u64>| -> BTreeSet<u64> {
        let is_faster = |pages: &u64| {
            ratio(points, &at(*pages), CALL, other, pick)
                .is_some_and(|judged| judged.verdict == Verdict::Faster)
        };
        left.iter().copied().filter(is_faster).collect()
    };
    let rank = |other: &Executor, wins: &BTreeSet<u64>| {
        let first = wins.first().and_then(|first| time(other, *first));
        (Reverse(wins.len()), first.map_or(u64::MAX, |call| call.median.round() as u64))
    };
    let mut found = Vec::new();
    loop {
        let all = own.iter().map(|other| (other, wins(other, &left)));
        let best = all.min_by_key(|(other, wins)| rank(other, wins));
        let Some((other, wins)) = best else { return found };
        let at_first = |executor| Some(median(&time(executor, *wins.first()?)?));
        let (Some(own), Some(picks)) = (at_first(other), at_first(pick)) else { return found };
        let sizes = wins.iter().map(|pages| page_size(*pages as f64)).collect();
        found.push(((other.clone(), sizes, own), format!("{} ({picks})", code(pick))));
        left.retain(|pages| !wins.contains(pages));
    }
}

/// The calls of the tables of real work that a strategy of the runtime's own is faster at, and
/// those where the interval of the ratio holds 1, a sentence each. Ratios in turns come before
/// those of cells.
fn works(content: &Content<'_>, pick: &Executor) -> (Vec<String>, Vec<String>) {
    let matrix = content.matrix;
    let is_own = |other: &Executor| other.engine == pick.engine && matrix.is_native(other);
    let (mut faster, mut undecided) = (Vec::new(), Vec::new());
    for group in &content.pages.work {
        for row in &group.rows {
            let work = Work::from(row);
            let Some((own, time)) = fastest(matrix, &work, is_own) else { continue };
            let Some(picks) = matrix.time(pick, &work, 1) else { continue };
            let call = format!("{} ({})", markdown(&row.label), markdown(&group.title));
            let of = compared(Purpose::Peers, &work, 1, [pick, own]);
            let in_turns = of_builds(matrix, &of).map(|pair| pair.ratio);
            let ratio = in_turns.unwrap_or_else(|| time.over(picks));
            let (low, high) = ratio.ends();
            let text = units::factor_with_interval(&ratio);
            if high < 1.0 {
                faster.push(format!("{} against {}: {call} {text}.", code(own), code(pick)));
            } else if low <= 1.0 && ratio.interval.is_some() {
                undecided.push(format!("Undecided for {}: {call} {text}.", code(pick)));
            }
        }
    }
    (faster, undecided)
}
