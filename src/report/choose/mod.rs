//! What to choose, and why: the numbers in sentences, and a table by needs.
//!
//! Every sentence comes from a rule over the records; where the numbers do not
//! carry a statement, it is not made.

mod floor;
mod needs;
mod words;

use super::facts;
use super::markdown::code;
use super::matrix::{Executor, Matrix, Work};
use super::rank::{Believable, Leaders, Timing, tied};
use super::trust::Trust;
use super::units::{factor, time};
use needs::{Column, columns, fastest};
use std::fmt::Write;
use words::{ANY, COMPILED, INTERPRETED, NATIVE, NEW, PLAIN_WAYS};

/// The part of the page.
pub(super) fn section(all: &Matrix, believable: &Believable, trust: &Trust) -> String {
    // A baseline runs no modules: it is nothing to choose, and statements about
    // executors are not about it. An executor whose calls leak is none to choose either.
    let candidates = &all.candidates();
    let matrix = &candidates.without(|executor| !trust.leaks(executor).is_empty());
    let mut text = String::from("## What to choose, and why\n\n");
    if candidates.timed().next().is_none() && all.timed().next().is_some() {
        text.push_str("Nothing but a baseline was timed, so there is nothing to choose by.\n\n");
        return text;
    }
    if let Some(leaky) = leaky(candidates, trust) {
        let _ = write!(text, "{leaky}\n\n");
    }
    if matrix.timed().next().is_none() {
        text.push_str("Nothing was timed, so there is nothing to choose by.\n\n");
        return text;
    }
    if let Some(lead) = lead(matrix, believable) {
        let _ = write!(text, "{lead}\n\n");
    }
    text.push_str(&needs::section(matrix, believable));
    let bullets = [
        facts::making(matrix),
        facts::scaling(matrix),
        facts::precompiled(matrix, believable),
        kinds(matrix, believable),
        floor::floor(all, matrix, believable),
        Some(facts::ties(believable)),
        facts::caution(matrix),
    ];
    for bullet in bullets.into_iter().flatten() {
        let _ = writeln!(text, "- {bullet}");
    }
    text.push('\n');
    text
}

/// What is not looked at here. `None` where nothing leaks.
fn leaky(candidates: &Matrix, trust: &Trust) -> Option<String> {
    let leaks = |executor: &&Executor| !trust.leaks(executor).is_empty();
    let names: Vec<String> = candidates
        .executors
        .iter()
        .filter(leaks)
        .map(|executor| format!("{}{}", code(&executor.name()), trust.label(executor)))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "Not to be chosen, because a call sees what the one before left: {}.",
            names.join("; ")
        )
    })
}

/// The advice in short: what is fastest, and what to take instead if that will
/// not do. `None` if the overview has no time on one thread.
fn lead(matrix: &Matrix, believable: &Believable) -> Option<String> {
    let columns = columns(matrix, matrix.main_guest()?);
    let alone: Vec<&Column<'_>> = columns.iter().filter(|column| column.threads == 1).collect();
    let (first, rest) = alone.split_first()?;
    let all = fastest(matrix, first, believable, &ANY)?;
    let strategy = all.best.0.strategy.as_str();
    let mut text = format!(
        "{}: {} for {} on a clean instance, with {}{}",
        way(strategy),
        time(all.best.1.median),
        words::call(&first.work.case),
        code(&all.best.0.backend),
        against(matrix, first.work, all.best)
    );
    if !all.others.is_empty() {
        let _ = write!(text, " It cannot be told from {}.", words::several(&all.others, 2));
    }
    for column in rest {
        if let Some(other) = fastest(matrix, column, believable, &ANY) {
            let case = words::call(&column.work.case);
            text.push_str(&also(strategy, &other, &case));
        }
    }
    text.push_str(&instead(matrix, first, believable, strategy));
    Some(text)
}

/// A strategy as advice, with its name.
fn way(strategy: &str) -> String {
    match words::advice(strategy) {
        Some(advice) => format!("**{advice}** ({})", code(strategy)),
        None => format!("**Take** {}", code(strategy)),
    }
}

/// Whether the first choice is the fastest for another case too.
fn also(strategy: &str, other: &Leaders<'_>, case: &str) -> String {
    let (best, timing) = &other.best;
    let took = time(timing.median);
    if best.strategy == strategy {
        format!(" It is the fastest for {case} too ({took}).")
    } else if other.has(strategy) {
        format!(
            " It cannot be told from the fastest for {case} ({}, {took}).",
            code(&best.strategy)
        )
    } else {
        format!(" For {case} {} is the fastest ({took}).", code(&best.strategy))
    }
}

/// What to take where the first choice is none.
fn instead(
    matrix: &Matrix,
    column: &Column<'_>,
    believable: &Believable,
    strategy: &str,
) -> String {
    let best = |need| {
        let leaders = fastest(matrix, column, believable, need)?;
        // The first choice already meets the need, or cannot be told from it.
        (!leaders.has(strategy)).then_some(leaders.best)
    };
    let print = |(executor, timing): (&Executor, Timing)| {
        format!("{} ({})", code(&executor.strategy), time(timing.median))
    };
    match (best(&NEW), best(&NATIVE)) {
        (Some(new), Some(native)) if new.0.strategy == native.0.strategy => format!(
            " If every call must have a new instance, or only what the runtime itself offers will \
             do: {}.",
            print(new)
        ),
        (new, native) => {
            let new =
                new.map(|new| format!("if every call must have a new instance: {}", print(new)));
            let native = native.map(|native| {
                format!("if only what the runtime itself offers will do: {}", print(native))
            });
            let parts: Vec<String> = new.into_iter().chain(native).collect();
            let text = parts.join("; ");
            if text.is_empty() { text } else { format!(" I{}.", &text[1..]) }
        }
    }
}

/// How much faster the best is than a plain new instance: of its own backend,
/// and of the backend that is fastest at that.
fn against(matrix: &Matrix, work: &Work, (best, timing): (&Executor, Timing)) -> String {
    if PLAIN_WAYS.contains(&best.strategy.as_str()) {
        return "; it is a plain new instance.".to_owned();
    }
    let timed = |executor: &Executor| matrix.time(executor, work, 1).map(|t| t.median);
    let own = PLAIN_WAYS.iter().find_map(|way| {
        let plain = best.with(way);
        timed(&plain).map(|median| (plain, median))
    });
    let all = matrix.executors.iter().filter(|e| (words::PLAIN.met)(matrix, e));
    let all = all.filter_map(|executor| Some((executor.clone(), timed(executor)?)));
    let all = all.min_by(|a, b| a.1.total_cmp(&b.1));
    let times = |(plain, median): &(Executor, f64)| {
        (factor(median / timing.median), code(&plain.name()), time(*median))
    };
    match (own, all) {
        (Some(own), Some(all)) if own.0 != all.0 => {
            let (of_all, all_name, all_time) = times(&all);
            let (of_own, own_name, own_time) = times(&own);
            format!(
                ", {of_all} times faster than the fastest plain new instance ({all_name}, \
                 {all_time}). The plain new instance of the same backend ({own_name}, {own_time}) takes {of_own} times as \
                 long."
            )
        }
        (_, Some(all)) => {
            let (factor, name, took) = times(&all);
            format!(", {factor} times faster than a plain new instance ({name}, {took}).")
        }
        _ => ".".to_owned(),
    }
}

/// The best interpreter beside the best compiler.
fn kinds(matrix: &Matrix, believable: &Believable) -> Option<String> {
    let columns = columns(matrix, matrix.main_guest()?);
    let parts: Vec<String> = columns
        .iter()
        .filter(|column| column.threads == 1)
        .filter_map(|column| {
            let interpreter = fastest(matrix, column, believable, &INTERPRETED)?;
            let compiler = fastest(matrix, column, believable, &COMPILED)?;
            let (a, b) = (interpreter.best.1, compiler.best.1);
            let tie = tied(a, b, believable.least(&column.work.case));
            Some(format!(
                "{} against {}{} for {}",
                time(a.median),
                time(b.median),
                if tie { " (a tie)" } else { "" },
                words::call(&column.work.case)
            ))
        })
        .collect();
    (!parts.is_empty()).then(|| {
        format!(
            "**Interpreted or compiled**: the best interpreter against the best compiled executor \
             takes {}. These calls run next to no code of the guest: they say what a clean instance costs, not how \
             fast code runs.",
            parts.join(", ")
        )
    })
}
