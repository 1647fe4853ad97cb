//! What to choose, and why: the numbers in sentences, and a table by needs.
//!
//! Every sentence comes from a rule over the records; where the numbers do not
//! carry a statement, it is not made.

mod needs;
mod words;

use super::checks::Checks;
use super::facts;
use super::markdown::code;
use super::matrix::{Executor, Matrix, quotient};
use super::rank::{Leaders, Noise};
use super::units::{median, times};
use needs::{Column, columns, fastest};
use std::fmt::Write;
use touchstone_executor::Strategy;
use words::{ANY, NATIVE, NEW, Need};

/// The part of the page.
pub(super) fn section(all: &Matrix<'_>, noise: &Noise, checks: &Checks) -> String {
    // A baseline runs no modules, and an executor whose calls leak is no choice either.
    let candidates = &all.only(|cell| !all.is_baseline(&cell.engine));
    let matrix = &candidates.only(|cell| checks.leaks(&cell.executor()).is_empty());
    let mut text = String::from("## What to choose, and why\n\n");
    if let Some(leaky) = leaky(candidates, checks) {
        let _ = write!(text, "{leaky}\n\n");
    }
    if matrix.works.is_empty() {
        text.push_str("Nothing that can be chosen was timed.\n\n");
        return text;
    }
    if let Some(lead) = lead(matrix, noise) {
        let _ = write!(text, "{lead}\n\n");
    }
    text.push_str(&needs::section(all, matrix, noise));
    let bullets = [
        facts::making(matrix),
        facts::scaling(matrix),
        facts::precompiled(matrix, noise),
        Some(facts::ties(noise)),
        facts::caution(matrix),
    ];
    for bullet in bullets.into_iter().flatten() {
        let _ = writeln!(text, "- {bullet}");
    }
    text.push('\n');
    text
}

/// What is not to be chosen. `None` where nothing leaks.
fn leaky(candidates: &Matrix<'_>, checks: &Checks) -> Option<String> {
    let name = |executor: &Executor| {
        let leaks = checks.leaks(executor);
        (!leaks.is_empty())
            .then(|| format!("{} ({})", code(&executor.to_string()), leaks.join(", ")))
    };
    let names: Vec<String> = candidates.executors.iter().filter_map(name).collect();
    (!names.is_empty()).then(|| {
        format!(
            "Not to be chosen, because a call sees state that the call before left: {}.",
            names.join("; ")
        )
    })
}

/// The advice in short: what is fastest, and what to take instead if that will
/// not do. `None` if the overview has no time on one thread.
fn lead(matrix: &Matrix<'_>, noise: &Noise) -> Option<String> {
    let columns = columns(matrix, matrix.main_guest()?);
    let alone: Vec<&Column<'_>> = columns.iter().filter(|column| column.threads == 1).collect();
    let (first, rest) = alone.split_first()?;
    let all = fastest(matrix, first, noise, &ANY)?;
    let strategy = all.best.0.strategy;
    let mut text = format!(
        "**{}** ({}): {} for {} on a clean instance, with {}.",
        strategy.advice(),
        code(&strategy.to_string()),
        median(&all.best.1),
        words::call(matrix, first.work),
        code(&all.best.0.engine),
    );
    if !all.others.is_empty() {
        let _ = write!(text, " It ties with {}.", words::several(&all.others, 2));
    }
    for column in rest {
        if let Some(other) = fastest(matrix, column, noise, &ANY) {
            text.push_str(&also(strategy, &other, &words::call(matrix, column.work)));
        }
    }
    text.push_str(&instead(matrix, first, noise, &all));
    Some(text)
}

/// Whether the first choice is the fastest for another case too.
fn also(strategy: Strategy, other: &Leaders<'_>, call: &str) -> String {
    let (best, time) = &other.best;
    let (name, took) = (code(&best.strategy.to_string()), median(time));
    if best.strategy == strategy {
        format!(" It is the fastest for {call} too ({took}).")
    } else if other.has(strategy) {
        format!(" It ties with the fastest for {call} ({name}, {took}).")
    } else {
        format!(" For {call} {name} is the fastest ({took}).")
    }
}

/// What to take where the first choice is none, and what that costs.
fn instead(matrix: &Matrix<'_>, column: &Column<'_>, noise: &Noise, first: &Leaders<'_>) -> String {
    let needs = [
        (&NATIVE, "only what the runtime itself offers will do"),
        (&NEW, "every call must have a new instance"),
    ];
    let instead = |(need, when): (&Need, &str)| {
        let leaders = fastest(matrix, column, noise, need)?;
        // The first choice may meet the need already, or tie with what does.
        let (executor, time) = (!leaders.has(first.best.0.strategy)).then_some(leaders.best)?;
        Some(format!(
            " If {when}: {}, {}, {} as long.",
            code(&executor.to_string()),
            median(&time),
            times(&quotient(time, first.best.1))
        ))
    };
    needs.into_iter().filter_map(instead).collect()
}
