//! What to choose, and why: the numbers in sentences.
//!
//! Every sentence comes from a rule over the records; where the numbers do not
//! carry a statement, the sentence says that instead.

use super::facts;
use super::markdown::{Table, code};
use super::matrix::{Executor, Matrix, Work};
use super::order::{self, PRECOMPILED};
use super::rank::{Podium, Timing, podium};
use super::units::{self, count, times};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The part of the page.
pub(super) fn section(matrix: &Matrix, believable: Option<f64>) -> String {
    let rows = rows(matrix, believable);
    let mut text = String::from("## What to choose, and why\n\n");
    let mut lines = Vec::new();
    if rows.is_empty() {
        lines.push("Nothing was timed, so there is nothing to choose by.".to_owned());
    } else {
        let _ = write!(text, "{}\n\n{}", in_short(&rows), fastest(matrix, &rows));
        lines.extend(interpreter(matrix, believable));
        lines.extend(facts::making(matrix));
        lines.extend(facts::precompiled(matrix, believable));
        lines.push(facts::scaling(matrix));
        lines.push(trust(believable));
    }
    lines.extend(facts::cautions(matrix));
    for line in lines {
        let _ = writeln!(text, "- {line}");
    }
    text.push('\n');
    text
}

/// A row that is decided here: a work on a number of threads.
struct Row<'a> {
    work: &'a Work,
    threads: usize,
    podium: Podium,
}

/// The well-known cases on every guest, on one thread and on the most; and all
/// cases of the guests that have none of those, on one thread.
fn rows(matrix: &Matrix, believable: Option<f64>) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let overview = matrix.overview();
    for work in overview.iter().copied() {
        let most = matrix.most_threads(work).filter(|most| *most > 1);
        for threads in std::iter::once(1).chain(most) {
            let podium = podium(matrix, work, threads, believable, |_| true);
            rows.extend(podium.map(|podium| Row { work, threads, podium }));
        }
    }
    let rest = matrix.works.iter().filter(|work| overview.iter().all(|o| o.guest != work.guest));
    for work in rest {
        let podium = podium(matrix, work, 1, believable, |_| true);
        rows.extend(podium.map(|podium| Row { work, threads: 1, podium }));
    }
    rows
}

/// How a case is called at the start of a sentence.
fn words(case: &str) -> String {
    match case {
        order::EMPTY => "Empty call".to_owned(),
        order::DIRTY => "Dirty 1 MiB".to_owned(),
        other => code(other),
    }
}

/// Which strategies and which backends lead how many of the rows.
fn in_short(rows: &[Row<'_>]) -> String {
    let (mut strategies, mut backends) = (BTreeMap::new(), BTreeMap::new());
    for row in rows {
        let leaders = std::iter::once(&row.podium.best).chain(&row.podium.tied);
        let leaders: Vec<&Executor> = leaders.map(|(executor, _)| executor).collect();
        // Once for each row, however many twins tie.
        let own: BTreeSet<String> =
            leaders.iter().map(|executor| executor.base().strategy).collect();
        own.into_iter().for_each(|name| *strategies.entry(name).or_insert(0) += 1);
        let own: BTreeSet<String> = leaders.iter().map(|e| e.backend.clone()).collect();
        own.into_iter().for_each(|name| *backends.entry(name).or_insert(0) += 1);
    }
    format!(
        "**In short**: fastest, or tied with the fastest, in the {} below: of the strategies {}; of \
         the backends {}.",
        count(rows.len(), "row"),
        tally(strategies),
        tally(backends)
    )
}

/// Names with their counts, the highest first.
fn tally(counts: BTreeMap<String, usize>) -> String {
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    // Stable: equal counts stay in the order of their names.
    counts.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    let texts: Vec<String> =
        counts.iter().map(|(name, number)| format!("{} {number} times", code(name))).collect();
    texts.join(", ").replace(" 1 times", " once").replace(" 2 times", " twice")
}

/// The rows as a table: the fastest with what it is tied with, and how far
/// behind the plain new instance and the next one are.
fn fastest(matrix: &Matrix, rows: &[Row<'_>]) -> String {
    let mut table = Table::of_words(&[
        "Call",
        "Threads",
        "Fastest",
        "Median",
        "Times faster than a plain new instance",
        "Times faster than the next",
    ]);
    for row in rows {
        let (best, timing) = &row.podium.best;
        let against = |executor: &Executor, other: Timing| {
            format!("{} ({})", times(other.median / timing.median), code(&executor.name()))
        };
        let plain = best.with("recreate_instance");
        let plain = match matrix.time(&plain, row.work, row.threads) {
            _ if plain == *best => "it is one".to_owned(),
            Some(other) => against(&plain, other),
            None => format!("– ({} has no time)", code(&plain.name())),
        };
        let next = match &row.podium.runner_up {
            Some((next, other)) => against(next, *other),
            None => "– (none is slower for certain)".to_owned(),
        };
        let call = format!("{} on {}", words(&row.work.case), code(&row.work.guest));
        let (threads, time) = (row.threads.to_string(), units::time(timing.median));
        table.row(&[call, threads, leaders(&row.podium), time, plain, next]);
    }
    table.finish()
}

/// The fastest and everything that cannot be told from it.
fn leaders(podium: &Podium) -> String {
    let (best, timing) = &podium.best;
    if timing.interval.is_none() {
        return format!(
            "{} has the lowest median but no interval, so nothing is known to be slower",
            code(&best.name())
        );
    }
    let names = |those: &[(Executor, Timing)]| -> Vec<Executor> {
        those.iter().map(|(executor, _)| executor.clone()).collect()
    };
    let mut text = if podium.tied.is_empty() {
        code(&best.name())
    } else {
        let mut group = vec![best.clone()];
        group.extend(names(&podium.tied));
        format!("tie: {}", folded(&group))
    };
    if !podium.unknown.is_empty() {
        let unknown = folded(&names(&podium.unknown));
        let _ = write!(text, " (not ranked for want of an interval: {unknown})");
    }
    text
}

/// How many times longer, by medians.
fn ahead(faster: Timing, slower: Timing) -> String {
    times(slower.median / faster.median)
}

/// Names in code style; an executor and its precompiled twin share an entry.
fn folded(executors: &[Executor]) -> String {
    let is_there = |executor: &Executor| executors.contains(executor);
    let names: Vec<String> = executors
        .iter()
        .filter_map(|executor| {
            let base = executor.base();
            if base != *executor && is_there(&base) {
                return None;
            }
            let twin = executor.with(&format!("{}{PRECOMPILED}", executor.strategy));
            let also = if is_there(&twin) { " (also precompiled)" } else { "" };
            Some(format!("{}{also}", code(&executor.name())))
        })
        .collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    }
}

/// The best interpreter, on the main guest and one thread.
fn interpreter(matrix: &Matrix, believable: Option<f64>) -> Option<String> {
    let guest = matrix.main_guest()?;
    let interprets = |executor: &Executor| matrix.interprets(executor);
    let parts: Vec<String> = [order::EMPTY, order::DIRTY]
        .into_iter()
        .filter_map(|case| {
            let work = matrix.main_work(case)?;
            let best = podium(matrix, work, 1, believable, interprets)?;
            let all = podium(matrix, work, 1, believable, |_| true)?;
            let what = if case == order::EMPTY { "empty call" } else { "1 MiB dirtied" };
            let time = units::time(best.best.1.median);
            let mut text = format!("{what} {time}, {}", leaders(&best));
            if !interprets(&all.best.0) {
                let longer = ahead(all.best.1, best.best.1);
                text.push_str(&format!(", {longer} the time of the fastest of all"));
            }
            Some(text)
        })
        .collect();
    if parts.is_empty() {
        return Some("**Interpreters**: none was timed.".to_owned());
    }
    Some(format!("**Best interpreter** ({}, 1 thread): {}.", code(guest), parts.join("; ")))
}

/// What a tie means here.
fn trust(believable: Option<f64>) -> String {
    let rule = "A tie is named where the 95 % intervals of two medians overlap";
    match believable {
        Some(share) => format!(
            "{rule} or the medians differ by less than {}, which is how far the same cell against \
             itself strays here.",
            units::percent(share)
        ),
        None => format!(
            "{rule}; there are no null rows, so nothing is known about the smallest difference to \
             believe."
        ),
    }
}
