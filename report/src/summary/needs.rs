//! The pick for each need, and where a strategy of the runtime's own is faster than a pick of
//! Touchstone's.

use super::failed_assertions;
use super::verdict::{compared, of_builds, with_deadline};
use crate::Content;
use crate::experiment::Row;
use crate::markdown::{Table, below, code, markdown};
use crate::matrix::{Executor, Matrix, Work};
use crate::pages::{Need, Part};
use crate::races::{self, CALL, Measured, ratio};
use crate::rank::{Pick, fastest};
use crate::units::{self, joined, median, page_size, percent, prose_list};
use std::collections::{BTreeMap, BTreeSet};
use touchstone_executor::{Execution, Owner};
use touchstone_record::compare::{MARGIN, Verdict};
use touchstone_record::{Place, PointBook, Purpose};

pub(super) fn section(content: &Content<'_>) -> String {
    let matrix = content.matrix;
    let headings = [
        "Pick",
        "Clean empty call",
        "On all threads",
        "Clean call with JSON",
        "With a deadline",
        "Memory each",
        "Failed assertions",
        "How to adopt it",
        "Do not use it if",
    ];
    let mut table = Table::of_words("Need", headings);
    let (mut has_ties, mut has_turns) = (false, false);
    let mut limited = BTreeSet::new();
    for Pick { need, executor, time, ties } in content.picks {
        has_ties |= *ties > 0;
        let payload = need.payload.as_ref().or(content.pages.payload.as_ref());
        let judged = payload.and_then(|work| with_deadline(matrix, executor, work, 1));
        limited.extend(payload.filter(|_| judged.is_some()).map(Work::names));
        let timed = payload.and_then(|work| matrix.time(executor, work, 1));
        // The same call without a deadline, in turns with itself under one.
        let in_turns = judged.filter(|_| timed.is_none()).map(|judged| judged.baseline);
        has_turns |= in_turns.is_some();
        let cells = [
            Some(format!(
                "{} ({}){}",
                code(executor),
                executor.strategy.owner(),
                if *ties > 0 { format!(" \\[{ties}\\]") } else { String::new() }
            )),
            Some(units::brief(time)),
            threads(matrix, executor, &need.call),
            timed
                .map(|time| units::brief(&time))
                .or(in_turns.map(|time| units::brief(&time) + " (in turns)")),
            judged.map(|judged| units::ratio_with_interval(&judged.ratio)),
            memory(matrix, executor),
            failed_assertions(matrix, &executor.engine),
            Some(need.adopt.trim().to_owned()),
            Some(need.avoid.trim().replace('\n', " ")),
        ];
        table.row(&need.need, cells);
    }
    let table = table.finish();
    let leaky = leaky(matrix);
    if table.is_empty() && leaky.is_empty() {
        return table;
    }
    let turns = " \"In turns\": the cell was not timed, and the time is that of the same call in \
                 the comparison with a deadline.";
    let ties = " \\[N\\]: N more candidates tie with the fastest. Their intervals overlap, or the \
                medians differ by less than the noise floor. The first in the [order of \
                strategies](METHODOLOGY.md#strategies-of-a-case) is the pick.";
    let (turns, ties) = (if has_turns { turns } else { "" }, if has_ties { ties } else { "" });
    format!(
        "## Recommendations\n\nThe pick of a row is the fastest of its candidates on the empty \
         call, or one that ties with it; executors that leak state are no candidates. \"On all threads\" is the time of a \
         call while every processor makes the same call. In parentheses is how many times longer the \
         call takes than alone: the number of threads over the throughput's ratio. \"With a deadline\" \
         is the time of the call with JSON with a deadline that it does not reach over the time \
         without, in turns, with its 95 % interval.{turns} Memory is the proportional memory of one idle \
         instance among thousands. –: not measured.{ties}\n\n{leaky}{table}{}{}{}",
        timed_with_deadline(limited),
        candidates(content),
        of_runtimes(content)
    )
}

/// The candidates of each pick; empty without picks.
fn candidates(content: &Content<'_>) -> String {
    let needs = content.picks.iter().map(|pick| pick.need);
    let lines = needs.map(|need| format!("- *{}*: {}\n", need.need, candidates_of(need)));
    match below(
        "The candidates are, without variants with precompiled code:",
        &lines.collect::<String>(),
    ) {
        none if none.is_empty() => none,
        list => list + "\n",
    }
}

/// The strategies and engines that come into question for a need.
fn candidates_of(need: &Need) -> String {
    let list = |names: Vec<String>| units::prose_list(&names);
    let strategies = match need.owner {
        _ if !need.strategies.is_empty() => list(need.strategies.iter().map(code).collect()),
        Some(Owner::Touchstone) => "Touchstone's strategies".to_owned(),
        Some(Owner::Runtime) => "the runtime's own strategies".to_owned(),
        None => "all strategies".to_owned(),
    };
    let engines = match need.execution {
        _ if !need.engines.is_empty() => list(need.engines.iter().map(code).collect()),
        Some(Execution::Compiled) => "all engines that compile".to_owned(),
        Some(Execution::Interpreted) => "all interpreters".to_owned(),
        _ => "all engines".to_owned(),
    };
    format!("{strategies} on {engines}.")
}

/// Executors to avoid, because calls leak state; empty if none does.
fn leaky(matrix: &Matrix<'_>) -> String {
    let leaks = matrix.executors.iter().map(|own| (own, matrix.records.checks.leaks(own)));
    let leaks = leaks.filter(|(_, leaks)| !leaks.is_empty());
    let names = leaks.map(|(own, leaks)| format!("{} ({})", code(own), markdown(&leaks)));
    match joined(names, "; ") {
        none if none.is_empty() => none,
        names => {
            format!("**Do not use**, because a call sees state of the call before it: {names}.\n\n")
        }
    }
}

/// The time of a call on the most threads, and how many times longer than alone it takes.
fn threads(matrix: &Matrix<'_>, executor: &Executor, work: &Work) -> Option<String> {
    let most = matrix.most_threads(work).filter(|most| *most > 1)?;
    let several = matrix.time(executor, work, most)?;
    let ratio = matrix.slow_down(executor, work, most)?;
    Some(format!("{} ({})", units::median(&several), units::times(&ratio)))
}

/// The calls of a column that were timed with a deadline; nothing where none was.
fn timed_with_deadline(calls: BTreeSet<String>) -> String {
    let calls = units::prose_list(&Vec::from_iter(calls));
    if calls.is_empty() {
        return calls;
    }
    format!("The column \"With a deadline\" was timed with {calls}.\n\n")
}

/// The memory of an idle instance, from the largest number of live ones.
fn memory(matrix: &Matrix<'_>, executor: &Executor) -> Option<String> {
    let (experiment, points) = matrix.records.experiment("density")?;
    let own = points.measured().filter(|own| own.place.executor().as_ref() == Some(executor));
    let most = own.max_by_key(|own| own.place.number("instances"))?;
    let mut columns = experiment.tables.first()?.columns.iter();
    let column = columns.find(|own| own.heading == "PSS, idle")?;
    Row::of(experiment, most).text(&column.value, column.shown)
}

/// Where the runtime's own strategies are faster, each with its numbers; empty where none is.
fn of_runtimes(content: &Content<'_>) -> String {
    let matrix = content.matrix;
    let picks = content.picks.iter().map(|pick| &pick.executor);
    let picks: BTreeSet<&Executor> = picks.filter(|pick| !matrix.is_native(pick)).collect();
    let mut table = String::new();
    if let Some((experiment, points)) = matrix.records.experiment("resets") {
        let headings = ["Size", "The runtime's own", "Touchstone's picks, times longer"];
        let mut rows = Table::of_words("Calls that write pages", headings);
        let mut courses: Vec<(Place, Measured)> = races::courses(points).into_iter().collect();
        // Those that write the same pages first.
        courses.sort_by_cached_key(|(course, _)| {
            let order = |name| Some(experiment.dimension(name)?.order(course.get(name)?));
            ["drift", "threads", "place", "touch"].map(order)
        });
        for (course, measured) in courses {
            let mut faster: BTreeMap<(u64, String), Vec<String>> = BTreeMap::new();
            for pick in &picks {
                for (pages, own, pick) in resets(matrix, points, &course, &measured, pick) {
                    faster.entry((pages, own)).or_default().push(pick);
                }
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
    let lines: String = lines.map(|line| format!("- {line}\n")).collect();
    if lines.is_empty() && table.is_empty() {
        return lines;
    }
    format!(
        "The runtime's own strategies are faster than Touchstone's picks here. \"Undecided\": the \
         interval of the ratio, the runtime's time over the pick's, holds 1. Calls that write pages \
         are listed where the whole interval lies beyond {}. All pairs: {}\n\n{table}{lines}\n",
        percent(MARGIN),
        content.link_to_part(&Part::Pairs)
    )
}

/// The sizes of a course at which strategies of the runtime's own are faster than a pick, by the
/// rounds that both were timed in: pages, the fastest of them with its time, and the pick with its
/// own and how many times longer it takes.
fn resets(
    matrix: &Matrix<'_>,
    points: &PointBook,
    course: &Place,
    (sizes, executors): &Measured,
    pick: &Executor,
) -> Vec<(u64, String, String)> {
    let is_own = |other: &&Executor| other.engine == pick.engine && matrix.is_native(other);
    let own: Vec<&Executor> = executors.iter().filter(is_own).collect();
    let lost = |&pages: &u64| {
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
    sizes.iter().filter_map(lost).collect()
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
