//! The summary of a run: a line for each group of equal results, then the exceptions.

use super::answer::State;
use super::follow::Row;
use super::print::Shown;
use std::collections::BTreeSet;
use touchstone::case::init::{Constructed, Means};
use touchstone_executor::Abi;
use touchstone_executor::guest::text::{abridged, plural};

/// Most reasons of a kind that are listed.
const REASONS: usize = 12;
/// Longest list of members, characters.
const MEMBERS: usize = 400;

impl Shown<'_> {
    /// Agreement of the rows, and the reasons of rows without a result.
    pub(super) fn outcome(&self) -> String {
        let Self { rows, groups, style, difference, .. } = self;
        let mut text = String::new();
        if let [group] = &groups.all[..] {
            let all = if group.members.len() == 1 { "" } else { "all " };
            let words = format!("{all}{}", combinations(rows, &group.members));
            let is_good = groups.agree(false) && !groups.failed;
            let words = if is_good { style.good(&words) } else { style.bad(&words) };
            text += &format!("{words}: {}\n", self.full(group.answer, "  "));
        } else if !groups.all.is_empty() {
            let count = groups.all.len();
            let words = match difference.and_then(|own| own.in_words()) {
                Some(words) => format!("{count} results {words}"),
                None => format!("{count} different results:"),
            };
            let is_allowed = difference.is_some_and(|own| own.is_allowed);
            text += &format!("{}\n", if is_allowed { words } else { style.bad(&words) });
            for (place, (_, group)) in groups.largest_first().into_iter().enumerate() {
                let words = combinations(rows, &group.members);
                let full = self.full(group.answer, "     ");
                let members = members_in_words(rows, &group.members);
                text += &format!("  {}. {words}: {full}\n     {members}\n", place + 1);
            }
        }
        text += &self.effects();
        // Of others, a group says so.
        if groups.all.iter().all(|group| group.answer.state != State::Stopped) {
            text +=
                &exceptions(rows, State::Stopped, "stopped by the timeout, so without a result");
        }
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
            text += "--timeout SECONDS gives calls longer\n";
        }
        let answers = || rows.iter().filter_map(|row| row.answer.as_ref());
        if answers().any(|answer| answer.lacks_import) {
            text += "--link NAME=FILE answers imports with the exports of another module, \
                     --imports zero with zeros\n";
        }
        if answers().any(|answer| answer.start_wrote) {
            text += match self.target.call.abi {
                Abi::Wasi => "the start function wrote to the standard error: --log shows it\n",
                _ => {
                    "the start function wrote to the standard output or error: --abi wasi shows \
                     the output, --log the error\n"
                }
            };
        }
        let constructed = &self.target.constructed;
        let is_started =
            matches!(constructed, Some(Constructed { means: Means::Started { .. }, .. }));
        if is_started && rows.iter().any(|row| row.state() == Some(State::Trapped)) {
            text += "--no-constructors calls the export without the module's constructors\n";
        }
        text
    }

    /// The compared parts of the memory.
    fn effects(&self) -> String {
        let Self { rows, groups, .. } = self;
        let mut text = String::new();
        if !self.target.call.effects.are_wanted() {
            return text;
        }
        for (number, group) in groups.largest_first() {
            let Some(memory) = group.memory else { continue };
            let is_alone = groups.all.len() == 1;
            let number = if is_alone { String::new() } else { format!("result {number}: ") };
            text += &format!("{number}{}\n", self.memory(memory));
        }
        let count = |is_meant: fn(&Row) -> bool| rows.iter().filter(|row| is_meant(row)).count();
        let returned = count(|row| row.state() == Some(State::Returned));
        let seen = count(|row| row.answer.as_ref().is_some_and(|own| own.memory.is_some()));
        if seen < returned {
            text += &format!(
                "the memory of {} of {returned} combinations cannot be seen and is not compared\n",
                returned - seen
            );
        }
        text
    }
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

fn combinations(rows: &[Row], members: &[usize]) -> String {
    let engines: BTreeSet<&str> = members.iter().map(|place| rows[*place].engine.id()).collect();
    let (members, engines) = (members.len(), engines.len());
    let nouns = (plural("combination", members), plural("engine", engines));
    format!("{members} {} on {engines} {}", nouns.0, nouns.1)
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
