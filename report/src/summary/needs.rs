//! The pick for each need.

use super::{failed_assertions, own};
use crate::Content;
use crate::experiment::Row;
use crate::markdown::{Table, below, code, markdown};
use crate::matrix::{Executor, Matrix, Work};
use crate::pages::Need;
use crate::rank::Pick;
use crate::units::{self, joined};
use std::collections::BTreeSet;
use touchstone_executor::{Execution, Owner};
use touchstone_record::compare::{self, Judged, MARGIN};
use touchstone_record::{Contender, Purpose};

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
        let judged = payload.and_then(|work| with_deadline(matrix, executor, work));
        let call = payload.filter(|_| judged.is_some());
        limited.extend(call.map(|own| format!("{} on {}", code(&own.case), code(&own.guest))));
        let cells = [
            Some(format!(
                "{} ({}){}",
                code(executor),
                executor.strategy.owner(),
                if *ties > 0 { format!(" \\[{ties}\\]") } else { String::new() }
            )),
            Some(units::brief(time)),
            threads(matrix, executor, &need.call),
            payload.and_then(|work| on_payload(matrix, executor, work, &mut has_turns)),
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
    let ties = " \\[N\\]: N more candidates tie with the pick. Their intervals overlap, or the \
                medians differ by less than the noise floor.";
    let (turns, ties) = (if has_turns { turns } else { "" }, if has_ties { ties } else { "" });
    format!(
        "## Recommendations\n\nThe pick of a row is the fastest of its candidates on the empty \
         call; executors that leak state are no candidates. \"On all threads\" is the time of a \
         call while every processor makes the same call. In parentheses is how many times longer the \
         call takes than alone: the number of threads over the throughput's ratio. \"With a deadline\" \
         is the time of the call with JSON with a deadline that it does not reach over the time \
         without, in turns, with its 95 % interval.{turns} Memory is the proportional memory of one idle \
         instance among thousands.{ties}\n\n{leaky}{table}{}{}{}",
        timed_with_deadline(content, limited),
        candidates(content),
        own::cases(content)
    )
}

/// The candidates of each pick; empty without picks.
fn candidates(content: &Content<'_>) -> String {
    let needs = content.picks.iter().map(|pick| pick.need);
    let lines = needs.map(|need| format!("- *{}*: {}\n", need.need, candidates_of(need)));
    let lines: String = lines.chain((!content.picks.is_empty()).then(|| "\n".to_owned())).collect();
    below("The candidates are, without variants with precompiled code:", &lines)
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

/// The time of the call that stands for real work: of the cell or, where that was not timed, of
/// the same call in turns with itself under a deadline.
fn on_payload(
    matrix: &Matrix<'_>,
    executor: &Executor,
    work: &Work,
    has_turns: &mut bool,
) -> Option<String> {
    if let Some(time) = matrix.time(executor, work, 1) {
        return Some(units::brief(&time));
    }
    let judged = with_deadline(matrix, executor, work)?;
    *has_turns = true;
    Some(format!("{} (in turns)", units::brief(&judged.baseline)))
}

/// A call with a deadline against the same call without, timed in turns.
fn with_deadline(matrix: &Matrix<'_>, executor: &Executor, work: &Work) -> Option<Judged> {
    let plain = Contender::new(executor.clone(), 1);
    let (_, processes) = matrix.book.comparisons.iter().find(|(of, _)| {
        of.purpose == Purpose::Deadline
            && of.case == work.case
            && of.guest == work.guest
            && of.baseline == plain
    })?;
    compare::judge(processes, MARGIN)
}

/// The calls of a column that were timed with a deadline, and whether that has changed since;
/// nothing where none was.
fn timed_with_deadline(content: &Content<'_>, calls: BTreeSet<String>) -> String {
    let calls = units::prose_list(&Vec::from_iter(calls));
    if calls.is_empty() {
        return calls;
    }
    let commit = &content.matrix.book.header.tools.commit;
    let since = content.pages.since.iter().filter(|since| commit.starts_with(&since.commit));
    let since: String = since.map(|since| format!(" {}", since.text)).collect();
    format!("The column \"With a deadline\" was timed with {calls}.{since}\n\n")
}

/// The memory of an idle instance, from the largest number of live ones.
fn memory(matrix: &Matrix<'_>, executor: &Executor) -> Option<String> {
    let (experiment, points) = matrix.records.experiment("density")?;
    let own = points.measured().filter(|own| own.place.executor().as_ref() == Some(executor));
    let most = own.max_by_key(|own| own.place.number("instances"))?;
    let column =
        experiment.tables.first()?.columns.iter().find(|own| own.heading == "PSS, idle")?;
    Row::of(experiment, most).text(&column.value, column.shown)
}
