//! The table of needs: for each, the fastest strategy and what ties with it.

use super::words::{self, ANY, COMPILED, INTERPRETED, NATIVE, NEW, Need, PLAIN, heading, several};
use crate::report::markdown::{Table, code};
use crate::report::matrix::{Matrix, Work};
use crate::report::rank::{Believable, Leaders, leaders};
use crate::report::units::{count, time};
use std::fmt::Write;

/// The rows, from above.
static NEEDS: [&Need; 6] = [&ANY, &NEW, &NATIVE, &INTERPRETED, &COMPILED, &PLAIN];

/// A column: a work on a number of threads.
pub(super) struct Column<'a> {
    /// What is called.
    pub work: &'a Work,
    /// On so many threads.
    pub threads: usize,
}

impl Column<'_> {
    fn heading(&self) -> String {
        format!("{}, {}", heading(&self.work.case), count(self.threads, "thread"))
    }
}

/// The well-known cases on a guest: on one thread, and on the most.
pub(super) fn columns<'a>(matrix: &'a Matrix, guest: &str) -> Vec<Column<'a>> {
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
    matrix: &'a Matrix,
    column: &Column<'_>,
    believable: &Believable,
    need: &Need,
) -> Option<Leaders<'a>> {
    let met = |executor: &_| (need.met)(matrix, executor);
    leaders(matrix, column.work, column.threads, believable, met)
}

/// The table of the main guest, what other guests say to it, and all other works.
pub(super) fn section(matrix: &Matrix, believable: &Believable) -> String {
    let mut text = String::new();
    let main = matrix.main_guest().map(|guest| (guest, columns(matrix, guest)));
    if let Some((guest, columns)) = &main
        && !columns.is_empty()
    {
        let _ = write!(
            text,
            "On {}, the fastest strategy for each need: its median on its best backend, and what \
             ties with it.\n\n{}",
            code(guest),
            table(matrix, columns, believable)
        );
        for other in matrix.guests().into_iter().filter(|other| other != guest) {
            text.push_str(&other_guest(matrix, columns, other, believable));
        }
    }
    text.push_str(&other_works(matrix, believable));
    text
}

fn table(matrix: &Matrix, columns: &[Column<'_>], believable: &Believable) -> String {
    let mut headings = vec!["Need".to_owned()];
    headings.extend(columns.iter().map(Column::heading));
    let mut table = Table::of_words(&headings);
    for need in NEEDS {
        let row: Vec<Option<Leaders<'_>>> =
            columns.iter().map(|column| fastest(matrix, column, believable, need)).collect();
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
    let (best, timing) = leaders.best;
    let same = match leaders.same.len() {
        0 => String::new(),
        1 => ", 1 more backend ties".to_owned(),
        more => format!(", {more} more backends tie"),
    };
    let (strategy, backend) = (code(&best.strategy), code(&best.backend));
    let mut text = format!("{strategy} {} ({backend}{same})", time(timing.median));
    if !leaders.others.is_empty() {
        let _ = write!(text, "<br>tie: {}", several(&leaders.others, 2));
    }
    if timing.interval.is_none() {
        text.push_str("<br>no interval: nothing is slower for certain");
    } else if leaders.unknown > 0 {
        let _ = write!(text, "<br>{} without an interval not ranked", leaders.unknown);
    }
    text
}

/// Another guest: a table of its own if other strategies lead there, else its
/// numbers in a sentence.
fn other_guest(
    matrix: &Matrix,
    main: &[Column<'_>],
    guest: &str,
    believable: &Believable,
) -> String {
    let own = columns(matrix, guest);
    if own.is_empty() {
        return String::new();
    }
    let same = own.iter().all(|column| {
        let beside = main
            .iter()
            .find(|other| other.work.case == column.work.case && other.threads == column.threads);
        beside.is_none_or(|beside| agree(matrix, column, beside, believable))
    });
    if !same {
        return format!(
            "On {} other strategies lead:\n\n{}",
            code(guest),
            table(matrix, &own, believable)
        );
    }
    let mut cases: Vec<(&str, Vec<String>)> = Vec::new();
    for column in &own {
        let median = |need| {
            let best = fastest(matrix, column, believable, need)?.best;
            Some(time(best.1.median))
        };
        let Some(best) = median(&ANY) else { continue };
        let plain = median(&PLAIN).map_or_else(String::new, |plain| format!(" and {plain}"));
        let text = format!("{best}{plain} on {}", count(column.threads, "thread"));
        match cases.last_mut() {
            Some((case, texts)) if *case == column.work.case => texts.push(text),
            _ => cases.push((&column.work.case, vec![text])),
        }
    }
    let cases: Vec<String> = cases
        .into_iter()
        .map(|(case, texts)| format!("{} {}", words::call(case), texts.join(", ")))
        .collect();
    format!(
        "On {} the same strategies lead. The fastest and the plain new instance take for {}.\n\n",
        code(guest),
        cases.join("; for ")
    )
}

/// Whether, for every need, two columns have a leading strategy in common.
fn agree(matrix: &Matrix, a: &Column<'_>, b: &Column<'_>, believable: &Believable) -> bool {
    NEEDS.into_iter().all(|need| {
        let (a, b) = (fastest(matrix, a, believable, need), fastest(matrix, b, believable, need));
        match (a, b) {
            (Some(a), Some(b)) => a.has(&b.best.0.strategy) || b.has(&a.best.0.strategy),
            _ => true,
        }
    })
}

/// All works that are not among the well-known ones, on one thread.
fn other_works(matrix: &Matrix, believable: &Believable) -> String {
    let known = matrix.overview();
    let works: Vec<&Work> =
        matrix.timed_works().into_iter().filter(|work| !known.contains(work)).collect();
    if works.is_empty() {
        return String::new();
    }
    let needs = [&ANY, &COMPILED, &INTERPRETED];
    let mut headings = vec!["Other calls, 1 thread"];
    headings.extend(needs.iter().map(|need| need.name));
    let mut table = Table::of_words(&headings);
    for work in works {
        let column = Column { work, threads: 1 };
        let mut row = vec![format!("{} on {}", words::heading(&work.case), code(&work.guest))];
        let cells = needs.iter().map(|need| cell(&fastest(matrix, &column, believable, need)));
        row.extend(cells);
        table.row(&row);
    }
    table.finish()
}
