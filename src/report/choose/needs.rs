//! The table of needs: for each, the fastest strategy and what ties with it.

use super::words::{self, ANY, COMPILED, INTERPRETED, NATIVE, NEW, Need, PLAIN, heading, several};
use crate::record::Role;
use crate::report::markdown::{Table, code};
use crate::report::matrix::{Matrix, Work};
use crate::report::rank::{Leaders, Noise, leaders};
use crate::report::units::{count, median};
use std::fmt::Write;

/// The rows, from above.
static NEEDS: [&Need; 6] = [&ANY, &NEW, &NATIVE, &INTERPRETED, &COMPILED, &PLAIN];

/// A column: a work on a number of threads.
#[derive(Clone, Copy)]
pub(super) struct Column<'a> {
    /// What is called.
    pub work: &'a Work,
    /// On so many threads.
    pub threads: usize,
}

impl Column<'_> {
    fn heading(&self, matrix: &Matrix<'_>) -> String {
        format!("{}, {}", heading(matrix, self.work), count(self.threads, "thread"))
    }
}

/// The works of the overview on a guest: on one thread, and on the most.
pub(super) fn columns<'a>(matrix: &'a Matrix<'_>, guest: &str) -> Vec<Column<'a>> {
    let works = matrix.overview().into_iter().filter(|work| work.guest == guest);
    works
        .flat_map(|work| {
            let threads = matrix.threads(work);
            let least = threads.first().copied();
            let most = threads.last().copied().filter(|most| Some(*most) != least);
            least.into_iter().chain(most).map(move |threads| Column { work, threads })
        })
        .collect()
}

/// The fastest that meet a need.
pub(super) fn fastest<'a>(
    matrix: &'a Matrix<'_>,
    column: &Column<'_>,
    noise: &Noise,
    need: &Need,
) -> Option<Leaders<'a>> {
    let met = |executor: &_| (need.met)(matrix, executor);
    leaders(matrix, column.work, column.threads, noise, met)
}

/// The table of the main guest with the payloads, what other guests say to it, and all
/// other works.
pub(super) fn section(matrix: &Matrix<'_>, noise: &Noise) -> String {
    let mut text = String::new();
    let main = matrix.main_guest().map(|guest| (guest, columns(matrix, guest)));
    if let Some((guest, columns)) = &main
        && !columns.is_empty()
    {
        let _ = write!(
            text,
            "On {}, the fastest strategy for each need: its median on its best engine, and what \
             ties with it.\n\n",
            code(guest)
        );
        let payloads = matrix.works_of(Role::Payload).map(|work| Column { work, threads: 1 });
        let all: Vec<Column<'_>> = columns.iter().copied().chain(payloads).collect();
        text.push_str(&table(matrix, &all, noise));
        for other in matrix.guests().into_iter().filter(|other| other != guest) {
            text.push_str(&other_guest(matrix, columns, other, noise));
        }
    }
    text.push_str(&other_works(matrix, noise));
    text
}

fn table(matrix: &Matrix<'_>, columns: &[Column<'_>], noise: &Noise) -> String {
    let mut headings = vec!["Need".to_owned()];
    headings.extend(columns.iter().map(|column| column.heading(matrix)));
    let mut table = Table::of_words(&headings);
    for need in NEEDS {
        let row: Vec<Option<Leaders<'_>>> =
            columns.iter().map(|column| fastest(matrix, column, noise, need)).collect();
        // A need that nobody meets is not a choice.
        if row.iter().any(Option::is_some) {
            let cells = row.iter().map(cell);
            table.row(&std::iter::once(need.name.to_owned()).chain(cells).collect::<Vec<_>>());
        }
    }
    table.finish()
}

/// The fastest strategy, its time on its best backend, and what ties.
fn cell(leaders: &Option<Leaders<'_>>) -> String {
    let Some(leaders) = leaders else { return "–".to_owned() };
    let (best, time) = leaders.best;
    let same = match leaders.same.len() {
        0 => String::new(),
        1 => ", 1 more engine ties".to_owned(),
        more => format!(", {more} more engines tie"),
    };
    let (strategy, engine) = (code(&best.strategy.to_string()), code(&best.engine));
    let mut text = format!("{strategy} {} ({engine}{same})", median(&time));
    if !leaders.others.is_empty() {
        let _ = write!(text, "<br>tie: {}", several(&leaders.others, 2));
    }
    if time.interval.is_none() {
        text.push_str("<br>no interval: nothing is slower for certain");
    } else if leaders.unknown > 0 {
        let _ = write!(text, "<br>{} without an interval not ranked", leaders.unknown);
    }
    text
}

/// Another guest: a table of its own if other strategies lead there, else its
/// numbers in a sentence.
fn other_guest(matrix: &Matrix<'_>, main: &[Column<'_>], guest: &str, noise: &Noise) -> String {
    let own = columns(matrix, guest);
    if own.is_empty() {
        return String::new();
    }
    let same = own.iter().all(|column| {
        let beside = main
            .iter()
            .find(|other| other.work.case == column.work.case && other.threads == column.threads);
        beside.is_none_or(|beside| agree(matrix, column, beside, noise))
    });
    if !same {
        return format!(
            "On {} other strategies lead:\n\n{}",
            code(guest),
            table(matrix, &own, noise)
        );
    }
    let mut works: Vec<(&Work, Vec<String>)> = Vec::new();
    for column in &own {
        let best = |need| Some(median(&fastest(matrix, column, noise, need)?.best.1));
        let Some(any) = best(&ANY) else { continue };
        let plain = best(&PLAIN).map_or_else(String::new, |plain| format!(" and {plain}"));
        let text = format!("{any}{plain} on {}", count(column.threads, "thread"));
        match works.last_mut() {
            Some((work, texts)) if *work == column.work => texts.push(text),
            _ => works.push((column.work, vec![text])),
        }
    }
    let works: Vec<String> = works
        .into_iter()
        .map(|(work, texts)| format!("{} {}", words::call(matrix, work), texts.join(", ")))
        .collect();
    format!(
        "On {} the same strategies lead. Times of the fastest executor and of the plain new \
         instance: {}.\n\n",
        code(guest),
        works.join("; ")
    )
}

/// Whether, for every need, two columns have a leading strategy in common.
fn agree(matrix: &Matrix<'_>, a: &Column<'_>, b: &Column<'_>, noise: &Noise) -> bool {
    NEEDS.into_iter().all(|need| {
        let (a, b) = (fastest(matrix, a, noise, need), fastest(matrix, b, noise, need));
        match (a, b) {
            (Some(a), Some(b)) => a.has(b.best.0.strategy) || b.has(a.best.0.strategy),
            _ => true,
        }
    })
}

/// All works without a role, on one thread.
fn other_works(matrix: &Matrix<'_>, noise: &Noise) -> String {
    let known = matrix.overview();
    let is_other = |work: &&Work| !known.contains(work) && matrix.role(work) != Some(Role::Payload);
    let works: Vec<&Work> = matrix.works.iter().filter(is_other).collect();
    if works.is_empty() {
        return String::new();
    }
    let needs = [&ANY, &COMPILED, &INTERPRETED];
    let mut headings = vec!["Other calls, 1 thread"];
    headings.extend(needs.iter().map(|need| need.name));
    let mut table = Table::of_words(&headings);
    for work in works {
        let column = Column { work, threads: 1 };
        let mut row = vec![format!("{} on {}", words::heading(matrix, work), code(&work.guest))];
        let cells = needs.iter().map(|need| cell(&fastest(matrix, &column, noise, need)));
        row.extend(cells);
        table.row(&row);
    }
    table.finish()
}
