//! The summary of a run: a line for each group of equal results, then the exceptions.

use super::answer::{Answer, Groups, State};
use super::difference::Difference;
use super::print::Shown;
use super::row::Row;
use std::collections::BTreeSet;
use touchstone::case::init::{Constructed, Means};
use touchstone_executor::abi::Abi;
use touchstone_executor::text::abridged;

/// Most reasons of a kind that are listed.
const REASONS: usize = 12;
/// Longest list of members, characters.
const MEMBERS: usize = 400;

/// Agreement of the rows, and the reasons of rows without a result.
pub(super) fn outcome(
    shown: &Shown<'_>,
    rows: &[Row],
    groups: &Groups,
    difference: Option<Difference>,
) -> String {
    let style = shown.style;
    let sorted = groups.largest_first();
    let with_result: usize = sorted.iter().map(|(.., members)| members.len()).sum();
    let mut text = String::new();
    if let [(_, answer, members)] = &sorted[..] {
        let all = if with_result == 1 { "" } else { "all " };
        let words = format!("{all}{}", combinations(rows, members));
        let words = match groups.returned_alike() && !groups.failed {
            true => style.good(&words),
            false => style.bad(&words),
        };
        text += &format!("{words}: {}\n", shown.full(answer, "  "));
    } else if !sorted.is_empty() {
        let count = sorted.len();
        let words = match difference.and_then(Difference::in_words) {
            Some(words) => format!("{count} results {words}"),
            None => format!("{count} different results:"),
        };
        let is_allowed = difference.is_some_and(Difference::is_allowed);
        let words = if is_allowed { words } else { style.bad(&words) };
        text += &format!("{words}\n");
        for (index, (_, answer, members)) in sorted.iter().enumerate() {
            let words = combinations(rows, members);
            text += &format!("  {}. {words}: {}\n", index + 1, shown.full(answer, "     "));
            text += &format!("     {}\n", members_in_words(rows, members));
        }
    }
    text += &effects(shown, rows, groups);
    for (state, words) in [
        (State::Crashed, "crashed"),
        (State::OverLimit, "over a limit"),
        (State::Failed, "failed on the host's side"),
        (State::Unstable, "did not agree with themselves"),
        (State::Unsupported, "unsupported"),
        (State::NotRun, "left out"),
    ] {
        text += &exceptions(rows, state, words);
    }
    let missing = rows.iter().filter(|row| row.answer.is_none()).count();
    if missing > 0 {
        text += &format!("stopped before {missing} of {} combinations\n", rows.len());
    }
    if rows.iter().any(|row| row.state() == Some(State::Stopped)) {
        text += "--timeout SECONDS gives calls longer, --no-timeout as long as they like\n";
    }
    text += &lost(shown, rows);
    let started =
        matches!(&shown.target.constructed, Some(Constructed { means: Means::Started { .. }, .. }));
    if started && rows.iter().any(|row| row.state() == Some(State::Trapped)) {
        text += "--no-constructors calls the export without the module's constructors\n";
    }
    text
}

/// The options that show hidden streams.
fn lost(shown: &Shown<'_>, rows: &[Row]) -> String {
    let answers = || rows.iter().filter_map(|row| row.answer.as_ref());
    let mut text = String::new();
    if answers().any(|answer: &Answer| answer.start_wrote) {
        text += match shown.target.abi {
            Abi::Wasi => "the start function wrote to the standard error: --log shows it\n",
            _ => {
                "the start function wrote to the standard output or error: --abi wasi shows the \
                 output, --log the error\n"
            }
        };
    }
    text
}

/// The compared parts of the memory.
fn effects(shown: &Shown<'_>, rows: &[Row], groups: &Groups) -> String {
    let effects = shown.target.effects;
    if !effects.digest && effects.dump.is_none() {
        return String::new();
    }
    let mut text = String::new();
    let returned = rows.iter().filter(|row| row.state() == Some(State::Returned)).count();
    let seen = |row: &&Row| row.answer.as_ref().is_some_and(|answer| answer.memory.is_some());
    let seen = rows.iter().filter(seen).count();
    for (number, answer, _) in groups.largest_first() {
        let Some(memory) = &answer.memory else { continue };
        let number = match groups.members.len() {
            1 => String::new(),
            _ => format!("result {number}: "),
        };
        text += &format!("{number}{}\n", shown.memory(memory));
    }
    if returned > 0 && seen < returned {
        text += &format!(
            "the memory of {} of {returned} combinations cannot be seen and is not compared\n",
            returned - seen
        );
    }
    text
}

/// Rows without a result by reason.
fn exceptions(rows: &[Row], state: State, words: &str) -> String {
    let mut reasons: Vec<(&str, Vec<usize>)> = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let Some(answer) = row.answer.as_ref().filter(|answer| answer.state == state) else {
            continue;
        };
        let reason = answer.reason.as_deref().unwrap_or_default();
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, members)) => members.push(place),
            None => reasons.push((reason, vec![place])),
        }
    }
    let mut text = String::new();
    let left = reasons.len().saturating_sub(REASONS);
    for (reason, members) in reasons.iter().take(REASONS) {
        text += &format!("{words}: {}: {reason}\n", combinations(rows, members));
        text += &format!("    {}\n", members_in_words(rows, members));
    }
    if left > 0 {
        text += &format!("{words}: {left} more reasons (--all shows every combination)\n");
    }
    text
}

/// The number of combinations, and of their engines.
fn combinations(rows: &[Row], members: &[usize]) -> String {
    let engines: BTreeSet<&str> = members.iter().map(|place| rows[*place].engine.id()).collect();
    let noun = |count: usize, noun: &str| match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    };
    format!("{} on {}", noun(members.len(), "combination"), noun(engines.len(), "engine"))
}

/// The members: the engine alone if it has all of its combinations in the group.
fn members_in_words(rows: &[Row], members: &[usize]) -> String {
    let engine = |place: &usize| rows[*place].engine.id();
    let parts = members.chunk_by(|a, b| engine(a) == engine(b)).map(|of_engine| {
        let id = engine(&of_engine[0]);
        let all = rows.iter().filter(|row| row.engine.id() == id).count();
        if all == of_engine.len() {
            return id.to_owned();
        }
        let names = of_engine.iter().map(|place| rows[*place].strategy.to_string());
        format!("{id} ({})", names.collect::<Vec<_>>().join(", "))
    });
    abridged(&parts.collect::<Vec<_>>().join(", "), MEMBERS)
}
