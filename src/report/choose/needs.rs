//! The table of needs: for each, the fastest strategy and what ties with it.

use super::words::{
    ANY, BASELINE, COMPILED, INTERPRETED, NATIVE, NEW, Need, PLAIN, heading, several,
};
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

/// A table for each guest of the overview, the first with the payloads, and one of all
/// other works. `all` has the baseline beside what there is to choose from.
pub(super) fn section(all: &Matrix<'_>, matrix: &Matrix<'_>, noise: &Noise) -> String {
    let mut text = String::from(
        "The fastest strategy for each need: its median on its best engine, and what ties with \
         it. Empty calls and calls that write memory run almost no guest code: they show the cost \
         of a clean instance, not the speed of code. Nobody can choose the baseline: it runs no \
         modules and isolates nothing.\n\n",
    );
    let mut payloads: Vec<Column<'_>> =
        matrix.works_of(Role::Payload).map(|work| Column { work, threads: 1 }).collect();
    for guest in matrix.guests() {
        let mut columns = columns(matrix, guest);
        if !columns.is_empty() {
            columns.append(&mut payloads);
            let table = table(all, matrix, &columns, noise);
            let _ = write!(text, "On {}:\n\n{table}", code(guest));
        }
    }
    text.push_str(&other_works(matrix, noise));
    text
}

fn table(all: &Matrix<'_>, matrix: &Matrix<'_>, columns: &[Column<'_>], noise: &Noise) -> String {
    let mut headings = vec!["Need".to_owned()];
    headings.extend(columns.iter().map(|column| column.heading(matrix)));
    let mut table = Table::of_words(&headings);
    let rows = NEEDS.into_iter().map(|need| (matrix, need)).chain([(all, &BASELINE)]);
    for (matrix, need) in rows {
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

/// The fastest strategy, its time on its best engine, and what ties.
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
        let mut row = vec![format!("{} on {}", heading(matrix, work), code(&work.guest))];
        let cells = needs.iter().map(|need| cell(&fastest(matrix, &column, noise, need)));
        row.extend(cells);
        table.row(&row);
    }
    table.finish()
}
