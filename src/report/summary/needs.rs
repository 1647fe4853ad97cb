//! What to use for which need.

use super::{failed_assertions, own};
use crate::compare::{self, MARGIN};
use crate::pages::Call;
use crate::record::Purpose;
use crate::report::Content;
use crate::report::markdown::{Table, code};
use crate::report::matrix::{Executor, Matrix, Work};
use crate::report::picks::Pick;
use crate::report::units;
use std::collections::BTreeSet;

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
    let mut has_ties = false;
    for Pick { need, work, executor, time, ties } in content.picks {
        has_ties |= *ties > 0;
        let payload = |call: &Call| matrix.time(executor, &Work::from(call), 1);
        let cells = [
            Some(format!(
                "{} ({}){}",
                code(executor),
                executor.strategy.owner(),
                if *ties > 0 { format!(" \\[{ties}\\]") } else { String::new() }
            )),
            Some(units::time_with_reach(time)),
            threads(matrix, executor, work),
            need.payload
                .as_ref()
                .or(content.pages.payload.as_ref())
                .and_then(payload)
                .map(|time| units::time_with_reach(&time)),
            deadline(matrix, executor),
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
    let ties = if has_ties {
        " \\[N\\]: N more candidates tie with the pick. Their intervals overlap, or the medians \
         differ by less than the noise floor."
    } else {
        ""
    };
    format!(
        "## Recommendations\n\nThe pick of a row is the fastest of its candidates on the empty \
         call; executors that leak state are no candidates. \"On all threads\" is the time of a \
         call while every processor makes the same call, and that time over the time alone. \"With a \
         deadline\" is the time of the call with a deadline that it does not reach over the time \
         without, in turns. Memory is the proportional memory of one idle instance among thousands.{ties}\n\n{leaky}{table}{}{}",
        timed_with_deadline(matrix),
        own::cases(content)
    )
}

/// What is not to be used. Empty where nothing leaks.
fn leaky(matrix: &Matrix<'_>) -> String {
    let leaks = matrix.executors.iter().filter_map(|executor| {
        let leaks = matrix.records.checks.leaks(executor);
        (!leaks.is_empty()).then(|| format!("{} ({})", code(executor), leaks.join(", ")))
    });
    let names: Vec<String> = leaks.collect();
    if names.is_empty() {
        return String::new();
    }
    format!(
        "**Do not use**, because a call sees state of the call before it: {}.\n\n",
        names.join("; ")
    )
}

/// The time of a call on the most threads, and its ratio to that on one.
fn threads(matrix: &Matrix<'_>, executor: &Executor, work: &Work) -> Option<String> {
    let most = matrix.most_threads(work).filter(|most| *most > 1)?;
    let (several, alone) = (matrix.time(executor, work, most)?, matrix.time(executor, work, 1)?);
    let ratio = several.over(alone);
    Some(format!("{} ({})", units::median(&several), units::times(&ratio)))
}

/// How many times slower a call is with a deadline that it does not reach, timed in turns: of
/// this executor, or of another strategy on its engine.
fn deadline(matrix: &Matrix<'_>, executor: &Executor) -> Option<String> {
    let limited = matrix.book.comparisons.iter().filter(|(of, _)| of.purpose == Purpose::Deadline);
    let mut own: Vec<_> =
        limited.filter(|(of, _)| of.subject.executor.engine == executor.engine).collect();
    own.sort_by_key(|(of, _)| of.subject.executor != *executor);
    let (_, processes) = own.first()?;
    compare::judge(*processes, MARGIN).map(|judged| units::times(&judged.ratio))
}

/// The calls that were timed with a deadline; nothing where none was.
fn timed_with_deadline(matrix: &Matrix<'_>) -> String {
    let limited = matrix.book.comparisons.keys().filter(|of| of.purpose == Purpose::Deadline);
    let calls: BTreeSet<String> =
        limited.map(|of| format!("{} on {}", code(&of.case), code(&of.guest))).collect();
    if calls.is_empty() {
        return String::new();
    }
    let calls = units::prose_list(&Vec::from_iter(calls));
    format!("The column \"With a deadline\" was timed with {calls}.\n\n")
}

/// The memory of an idle instance, from the largest number of live ones.
fn memory(matrix: &Matrix<'_>, executor: &Executor) -> Option<String> {
    let all = matrix.records.densities.iter().flat_map(|book| &book.densities);
    let own = all.filter(|density| density.executor == *executor);
    let density = own.max_by_key(|density| density.instances)?;
    Some(format!("{:.1} KiB", density.each(&density.idle)[1]))
}
