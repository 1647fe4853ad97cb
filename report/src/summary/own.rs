//! Where a strategy of the runtime's own is faster than the advised one of Touchstone's.

use super::verdict::{compared, of_builds};
use crate::Content;
use crate::markdown::{Table, code, markdown};
use crate::matrix::{Executor, Matrix, Work};
use crate::pages::Part;
use crate::races::{self, CALL, ratio};
use crate::rank::fastest;
use crate::units::{self, median, page_size, prose_list};
use std::collections::{BTreeMap, BTreeSet};
use touchstone_record::compare::Verdict;
use touchstone_record::{Experiment, Place, PointBook, Purpose};

/// A list of the cases, each with its numbers; empty where there is none.
pub(super) fn cases(content: &Content<'_>) -> String {
    let matrix = content.matrix;
    let picks = content.picks.iter().map(|pick| &pick.executor);
    let picks: BTreeSet<&Executor> = picks.filter(|pick| !matrix.is_native(pick)).collect();
    let mut table = String::new();
    if let Some((experiment, points)) = matrix.records.experiment("resets") {
        let headings = ["Size", "The runtime's own", "Touchstone's picks, times longer"];
        let mut rows = Table::of_words("Calls that write pages", headings);
        for course in courses(experiment, points) {
            let mut faster: BTreeMap<(u64, String), Vec<String>> = BTreeMap::new();
            for (pages, own, pick) in
                picks.iter().flat_map(|pick| resets(matrix, points, &course, pick))
            {
                faster.entry((pages, own)).or_default().push(pick);
            }
            let words = markdown(&experiment.in_words(&course));
            for ((pages, own), picks) in faster {
                rows.row(&words, [page_size(pages as f64), own, prose_list(&picks)]);
            }
        }
        table = rows.finish();
        if !table.is_empty() {
            let link = content.link_to_part(&Part::Experiment(experiment.name.clone()));
            table += &format!("All sizes: {link}\n\n");
        }
    }
    let (faster, undecided): (Vec<_>, Vec<_>) =
        picks.into_iter().map(|pick| works(content, pick)).unzip();
    let lines = faster.into_iter().flatten().chain(undecided.into_iter().flatten());
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() && table.is_empty() {
        return String::new();
    }
    let lines: String = lines.into_iter().map(|line| format!("- {}\n", line.trim())).collect();
    format!(
        "The runtime's own strategies are faster than Touchstone's picks here. \"Undecided\": the \
         interval of the ratio, the runtime's time over the pick's, holds 1.\n\n{table}{lines}\n"
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

/// The sizes of a course at which strategies of the runtime's own are faster than a pick, by the
/// rounds that both were timed in: pages, the fastest of them with its time, and the pick with its
/// own and how many times longer it takes.
fn resets(
    matrix: &Matrix<'_>,
    points: &PointBook,
    course: &Place,
    pick: &Executor,
) -> Vec<(u64, String, String)> {
    let all = || points.measured().filter(|own| own.place.has(course));
    let is_own = |other: &Executor| other.engine == pick.engine && matrix.is_native(other);
    let own: BTreeSet<Executor> = all().filter_map(|own| own.place.executor()).collect();
    let own: Vec<Executor> = own.into_iter().filter(is_own).collect();
    let sizes: BTreeSet<u64> = all().filter_map(|own| own.place.number("pages")).collect();
    let lost = |pages: u64| {
        let at = course.clone().with("pages", pages);
        let time = |executor: &Executor| points.get(&at.at(executor))?.sampled(CALL);
        let faster = own.iter().filter_map(|other| {
            let judged = ratio(points, &at, CALL, other, pick)?;
            (judged.verdict == Verdict::Faster).then_some((other, time(other)?, judged))
        });
        let (other, times, judged) =
            faster.min_by(|(_, a, _), (_, b, _)| a.median.total_cmp(&b.median))?;
        let own = format!("{} {}", code(other), median(&times));
        let longer = units::factor(1.0 / judged.ratio.median);
        Some((pages, own, format!("{} {} ({longer} ×)", code(pick), median(&time(pick)?))))
    };
    sizes.into_iter().filter_map(lost).collect()
}

/// The calls of the tables of real work that a strategy of the runtime's own is faster at, and
/// those where the interval of the ratio holds 1, in one sentence. Ratios in turns come before
/// those of cells.
fn works(content: &Content<'_>, pick: &Executor) -> (Vec<String>, Option<String>) {
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
                undecided.push(format!("{call} {text}"));
            }
        }
    }
    let sentence = || format!("Undecided for {}: {}.", code(pick), undecided.join(". "));
    (faster, (!undecided.is_empty()).then(sentence))
}
